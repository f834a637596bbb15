"""Columns of the table: growable arrays with one value per node, and a log of their changes.

First the forms: plain numbers, one of a few distinct values, labels as numbers. A condition on a label or a taint is
looked up once per distinct value and not once per node. Then the totals over the pods of each node: requested
resources, the lowest priority, and the ports of the node in use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.catalog.syntax import parse_int64
from scheduler_runtime.state.objects import Pod, QuantityError, Requests
from scheduler_runtime.state.objects.pod_requests import Amounts
from scheduler_runtime.state.objects.quantity import INT64, wrap_int64

Mask = NDArray[np.bool_]
"""A truth value per node, in the table's order."""
Ints = NDArray[np.int64]
"""A whole number per node, in the table's order."""


_MAX_LENGTH = 2048
"""Of a change log."""
T = TypeVar("T")


class Column:
    """One value per row, with room to grow. The table writes ``writable``; readers get the read-only ``values``."""

    __slots__ = ("values", "writable")

    def __init__(self, dtype: type, rows: int = 0, capacity: int = 0) -> None:
        self.writable: NDArray[Any] = np.zeros(capacity, dtype)
        self.values: NDArray[Any] = self.writable
        self.resize(rows, capacity)

    def add(self, row: int, amount: int) -> None:
        """Add ``amount`` to the whole number in a row; beyond 64 bits it wraps around, as upstream's does."""
        total = self.writable.item(row) + amount
        self.writable[row] = total if total in INT64 else wrap_int64(total)

    def resize(self, rows: int, capacity: int) -> None:
        """Have ``rows`` rows, with room for ``capacity``. Arrays that readers got before stay as they are."""
        if capacity > len(self.writable):
            grown = np.zeros(capacity, self.writable.dtype)
            grown[: len(self.writable)] = self.writable
            self.writable = grown
        # A view of the same memory: the flag forbids writing through the view only.
        self.values = self.writable[:rows]
        self.values.flags.writeable = False


_ROWS_PER_ARRAY = 16
_FEW_ROWS = 2
_Name = TypeVar("_Name", bound=Hashable)


class ColumnsByName(Generic[_Name]):
    """Whole numbers by name and row, such as the amount of each resource: 0 unless something else was written.

    A name that many rows have is an array. One pod, or one node, may bring thousands of names that no other has, and
    an array for each of these would take memory and time for all nodes: their numbers are with their row.
    """

    __slots__ = ("_at_once", "_by_row", "_new_column", "_row_names", "_rows", "arrays")

    def __init__(
        self, new_column: Callable[[], Column], row_names: Sequence[str], at_once: Iterable[_Name] = ()
    ) -> None:
        """``row_names`` has an entry for each row. Names ``at_once`` are arrays from their first row on."""
        self._new_column = new_column
        self._row_names = row_names
        self._at_once = frozenset(at_once)
        self.arrays: dict[_Name, Column] = {}
        self._by_row: dict[int, dict[_Name, int]] = {}
        """The numbers of all names without an array."""
        self._rows: dict[_Name, set[int]] = {}
        """The rows where they are."""

    def __len__(self) -> int:
        """Number of names."""
        return len(self.arrays) + len(self._rows)

    def __iter__(self) -> Iterator[_Name]:
        yield from self.arrays
        yield from self._rows

    def column(self, name: _Name) -> Column | None:
        """The number in each row, to be read; None for a name that nothing was written for, which is 0 everywhere."""
        column = self.arrays.get(name)
        if column is None and name in self._rows:
            column = self._filled(name, self._rows[name])
        return column

    def item(self, name: _Name, row: int) -> int:
        """The number in one row."""
        column = self.arrays.get(name)
        if column is not None:
            number: int = column.values.item(row)
            return number
        numbers = self._by_row.get(row)
        return numbers.get(name, 0) if numbers else 0

    def add(self, name: _Name, row: int, amount: int) -> None:
        """Add ``amount`` in a row; beyond 64 bits it wraps around, as upstream's does."""
        column = self.arrays.get(name)
        if column is not None:
            column.add(row, amount)
            return
        total = self.item(name, row) + amount
        self.write(name, row, total if total in INT64 else wrap_int64(total))

    def write(self, name: _Name, row: int, number: int) -> None:
        """Write the number in one row."""
        column = self.arrays.get(name)
        if column is not None:
            column.writable[row] = number
            return
        rows = self._rows.get(name)
        if rows is None:
            if name in self._at_once:
                self.arrays[name] = column = self._new_column()
                column.writable[row] = number
                return
            rows = self._rows[name] = set()
        if number:
            rows.add(row)
            self._by_row.setdefault(row, {})[name] = number
            if len(rows) > max(_FEW_ROWS, len(self._row_names) // _ROWS_PER_ARRAY):
                self.arrays[name] = self._filled(name, rows)
                self.drop_few(name)
        elif row in rows:
            rows.remove(row)
            self._forget(name, row)

    def write_row(self, row: int, numbers: Mapping[_Name, int]) -> None:
        """Write all names in one row: 0 for those that are not in ``numbers``."""
        for name, column in self.arrays.items():
            if name not in numbers:
                column.writable[row] = 0
        for name in self._by_row.get(row, {}).keys() - numbers.keys():
            self.write(name, row, 0)
        for name, number in numbers.items():
            self.write(name, row, number)

    def drop(self, name: _Name) -> None:
        """Forget a name, if it is known."""
        if self.arrays.pop(name, None) is None:
            self.drop_few(name)

    def drop_few(self, name: _Name) -> None:
        """Forget the numbers of a name that are not in an array."""
        for row in self._rows.pop(name, ()):
            self._forget(name, row)

    def move(self, source: int, target: int) -> None:
        """Let the numbers without an array in row ``source`` be in ``target``, instead of those there."""
        for row, instead in ((target, None), (source, target)):
            numbers = self._by_row.pop(row, {})
            for name in numbers:
                self._rows[name].remove(row)
                if instead is not None:
                    self._rows[name].add(instead)
            if instead is not None and numbers:
                self._by_row[instead] = numbers

    def _filled(self, name: _Name, rows: Iterable[int]) -> Column:
        column = self._new_column()
        for row in rows:
            column.writable[row] = self._by_row[row][name]
        return column

    def _forget(self, name: _Name, row: int) -> None:
        numbers = self._by_row[row]
        del numbers[name]
        if not numbers:
            del self._by_row[row]


_Value = TypeVar("_Value", bound=Hashable)


class InternedColumn(Generic[_Value]):
    """One of a few distinct values per row: ``column`` has the index of each row's value in ``distinct``."""

    __slots__ = ("_indexes", "column", "distinct")

    def __init__(self, column: Column) -> None:
        """``column`` is empty."""
        self.column = column
        self.distinct: list[_Value] = []
        self._indexes: dict[_Value, int] = {}

    def set(self, row: int, value: _Value) -> None:
        """Write one row."""
        index = self._indexes.setdefault(value, len(self.distinct))
        if index == len(self.distinct):
            self.distinct.append(value)
        self.column.writable[row] = index

    def rewrite(self, values: Iterable[_Value]) -> None:
        """Write all rows, and forget the values that no row has any more."""
        self.distinct, self._indexes = [], {}
        for row, value in enumerate(values):
            self.set(row, value)

    @property
    def is_stale(self) -> bool:
        """True if most of the distinct values belong to no row any more, so that rewriting pays."""
        return len(self.distinct) > 2 * len(self.column.values) + 64


class LabelColumn:
    """One label of every node, for conditions over all nodes at once.

    ``ids`` has a number per node: 0 where the label is absent, otherwise one more than the value's index in ``values``.
    """

    __slots__ = ("_ids_by_value", "_integers", "ids", "values")

    def __init__(self) -> None:
        self.values: list[str] = []
        self.ids: NDArray[np.int32] = np.zeros(0, np.int32)
        self._ids_by_value: dict[str, int] = {}
        self._integers: dict[int, int | None] = {}

    def equals(self, value: str) -> Mask:
        """The nodes that have the label with this ``value``."""
        number = self._ids_by_value.get(value)
        return np.zeros(len(self.ids), np.bool_) if number is None else self.ids == number

    def isin(self, values: Iterable[str]) -> Mask:
        """The nodes that have the label with one of these ``values``."""
        return self._rows_with([self._ids_by_value[value] for value in values if value in self._ids_by_value])

    def exists(self) -> Mask:
        """The nodes that have the label at all."""
        return self.ids > 0

    def above(self, number: int) -> Mask:
        """The nodes whose label is a whole number greater than ``number``."""
        return self._rows_with(self._ids_where(lambda value: value > number))

    def below(self, number: int) -> Mask:
        """The nodes whose label is a whole number less than ``number``."""
        return self._rows_with(self._ids_where(lambda value: value < number))

    def map(self, mapping: Mapping[str, Any], missing: float) -> NDArray[np.float64]:
        """Look each node's value up in ``mapping``; ``missing`` where the label or the entry is absent."""
        numbers = [float(mapping.get(value, missing)) for value in self.values]
        return np.array([missing, *numbers], dtype=np.float64)[self.ids]

    def _rows_with(self, ids: Sequence[int]) -> Mask:
        matches = np.zeros(len(self.values) + 1, np.bool_)
        matches[ids] = True
        rows: Mask = matches[self.ids]
        return rows

    def _ids_where(self, holds: Callable[[int], bool]) -> list[int]:
        for index in range(len(self._integers), len(self.values)):
            self._integers[index + 1] = parse_int64(self.values[index])
        return [number for number, value in self._integers.items() if value is not None and holds(value)]


class WritableLabels(LabelColumn):
    """The label column as the table writes it."""

    __slots__ = ("_column",)

    def __init__(self, labels: Iterable[tuple[int, str | None]], rows: int, capacity: int) -> None:
        """``labels`` are the values by row, at least those of the nodes that have the label."""
        super().__init__()
        self._column = Column(np.int32, rows, capacity)
        self.ids = self._column.values
        for row, value in labels:
            if value is not None:
                self.set(row, value)

    def set(self, row: int, value: str | None) -> None:
        """Write one node's value; None when it does not have the label."""
        number = 0
        if value is not None:
            number = self._ids_by_value.setdefault(value, len(self.values) + 1)
            if number > len(self.values):
                self.values.append(value)
        self._column.writable[row] = number

    def move(self, source: int, target: int) -> None:
        """Copy one row over another."""
        self._column.writable[target] = self._column.writable[source]

    def resize(self, rows: int, capacity: int) -> None:
        """Have ``rows`` rows, with room for ``capacity``."""
        self._column.resize(rows, capacity)
        self.ids = self._column.values

    @property
    def is_stale(self) -> bool:
        """True if most of the values belong to no node any more, so that building the column anew pays."""
        return len(self.values) > 2 * len(self.ids) + 64


_FEW_NODES = 8


class ReferenceCounts:
    """Names in use, with the number of users, so that a column can be dropped with the last user of its name."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._counts

    def common(self, names: Mapping[str, object]) -> AbstractSet[str]:
        """Those of ``names`` that are in use. The time depends on the smaller number of the two."""
        return self._counts.keys() & names.keys()

    def add(self, names: Iterable[str]) -> None:
        """Count one more user of ``names``, which are distinct."""
        counts = self._counts
        for name in names:
            counts[name] = counts.get(name, 0) + 1

    def remove(self, names: Iterable[str]) -> list[str]:
        """Count one user of ``names`` less. Return the names that nobody uses any more."""
        counts = self._counts
        unused: list[str] = []
        for name in names:
            counts[name] -= 1
            if not counts[name]:
                del counts[name]
                unused.append(name)
        return unused


class LabelKeys(ReferenceCounts):
    """The label keys that nodes have, and the names of the nodes that have one which few have.

    A node may have thousands of labels that no other has: to find the nodes with one of them, not all are looked at.
    """

    __slots__ = ("_few",)

    def __init__(self) -> None:
        super().__init__()
        self._few: dict[str, dict[str, int]] = {}
        """The number of times that each node was counted, by its name: while it is replaced, twice."""

    def nodes(self, key: str) -> Iterable[str] | None:
        """The nodes that have the label ``key``; None when they may be many."""
        return self._few.get(key)

    def add_node(self, name: str, keys: Iterable[str]) -> None:
        """Count a node that has these labels."""
        counts = self._counts
        for key in keys:
            if key not in counts:
                self._few[key] = {name: 1}
            elif key in self._few:
                few = self._few[key]
                few[name] = few.get(name, 0) + 1
                if len(few) > _FEW_NODES:
                    del self._few[key]
        self.add(keys)

    def remove_node(self, name: str, keys: Iterable[str]) -> list[str]:
        """Count a node less that has these labels. Return the keys that no node has any more."""
        for key in keys:
            few = self._few.get(key)
            if few is not None:
                few[name] -= 1
                if not few[name]:
                    del few[name]
                if not few:
                    del self._few[key]
        return self.remove(keys)


class ChangeLog(Generic[T]):
    """The latest changes, oldest first. Each reader remembers the ``position`` up to which it has read."""

    __slots__ = ("_changes", "position")

    def __init__(self) -> None:
        self.position = 0
        """The end of the log, as of now."""
        self._changes: list[T] = []

    def __len__(self) -> int:
        """Number of changes in memory."""
        return len(self._changes)

    def since(self, position: int) -> Sequence[T] | None:
        """Return the changes after ``position``; None when they are dropped already: the reader has to start over."""
        first = self.position - len(self._changes)
        return self._changes[position - first :] if position >= first else None

    def add(self, change: T) -> None:
        """Append a change."""
        self.position += 1
        self._changes.append(change)
        if len(self._changes) > _MAX_LENGTH:
            # Half of them at once: dropping the oldest one each time would move all others each time.
            del self._changes[: _MAX_LENGTH // 2]

    def start_over(self) -> None:
        """Make every reader start over, also one that is at the end: everything may have changed."""
        self.position += 1
        self._changes.clear()


_NOTHING = Requests(amounts={}, scored_cpu=0, scored_memory=0, pending={})
NO_POD: Final = 2**31
"""Above any priority: the lowest priority on a node without pods."""
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - an address that pods ask for, not one that we listen on


def requests_or_nothing(pod: Pod) -> Requests:
    """The requests of ``pod``; nothing at all when they cannot be read."""
    try:
        return pod.requests
    except QuantityError:
        return _NOTHING


COMMON_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
"""Nearly every node offers these, and nearly every pod requests them."""


class RequestedResources:
    """The amount of each resource that the pods on each node request."""

    __slots__ = ("_pods_by_resource", "columns")

    def __init__(self, columns: ColumnsByName[str]) -> None:
        """``columns`` are empty."""
        self.columns = columns
        self._pods_by_resource: dict[str, int] = {}

    def add(self, row: int, amounts: Amounts) -> None:
        """Count a pod that requests ``amounts`` in a row."""
        columns, pods_by_resource = self.columns, self._pods_by_resource
        arrays = columns.arrays
        for resource, amount in amounts.items():
            if amount:
                pods_by_resource[resource] = pods_by_resource.get(resource, 0) + 1
                if resource in arrays:
                    arrays[resource].add(row, amount)
                else:
                    columns.add(resource, row, amount)

    def remove(self, row: int, amounts: Amounts) -> None:
        """Take back what :meth:`add` counted in a row, and drop the columns that nobody needs any more."""
        columns, pods_by_resource = self.columns, self._pods_by_resource
        arrays = columns.arrays
        for resource, amount in amounts.items():
            if amount:
                if resource in arrays:
                    arrays[resource].add(row, -amount)
                else:
                    columns.add(resource, row, -amount)
                pods_by_resource[resource] -= 1
                if not pods_by_resource[resource]:
                    del pods_by_resource[resource]
                    columns.drop(resource)

    def drop_unused(self, resources: Iterable[str]) -> None:
        """Drop the columns of those ``resources`` that no pod on a node requests."""
        for resource in resources:
            if resource not in self._pods_by_resource:
                self.columns.drop(resource)


class LowestPriorities:
    """The lowest priority on each node. It is computed only when read, and then only for rows that changed."""

    def __init__(
        self, pods: Sequence[dict[str, Pod]], changes: ChangeLog[int], new_column: Callable[[], Column]
    ) -> None:
        self._pods = pods
        self._changes = changes
        self._new_column = new_column
        self._column = new_column()
        self._position = -1

    def read(self) -> Ints:
        """For each node, as of now; ``NO_POD`` where there is no pod."""
        rows: Iterable[int] | None = self._changes.since(self._position)
        if rows is None:
            self._column, rows = self._new_column(), range(len(self._pods))
        values = self._column.writable
        for row in set(rows):
            values[row] = min((pod.spec.priority for pod in self._pods[row].values()), default=NO_POD)
        self._position = self._changes.position
        return self._column.values


class HostPort(NamedTuple):
    """A port of its node that a pod binds, on one of the node's addresses or on all of them."""

    address: str
    protocol: str
    number: int

    def conflicts(self, other: HostPort) -> bool:
        """True if one node cannot offer both. Upstream: HostPortInfo.CheckConflict."""
        return self[1:] == other[1:] and (self.address == other.address or EVERY_ADDRESS in (self[0], other[0]))


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The ports that ``pod`` binds for as long as it runs: those of its containers and of its sidecars.

    As GetHostPorts in pkg/scheduler/util/utils.go: other init containers give their ports back before the pod runs.
    """
    containers = pod.spec.containers
    if pod.spec.init_containers:
        sidecars = (container for container in pod.spec.init_containers if container.restart_policy == "Always")
        containers = (*sidecars, *containers)
    ports: list[HostPort] = []
    for container in containers:
        if container.ports:
            ports += [
                HostPort(port.host_ip or EVERY_ADDRESS, port.protocol or "TCP", port.host_port)
                for port in container.ports
                if port.host_port > 0
            ]
    return tuple(ports)


class PortCounts:
    """The number of pods on each node that bind a port."""

    def __init__(self, columns: ColumnsByName[HostPort]) -> None:
        """``columns`` are empty."""
        self.columns = columns
        self._ports: dict[tuple[str, int], dict[str, HostPort]] = {}
        """Those that some pod binds, by protocol and number, then by address."""
        self._total: Counter[HostPort] = Counter()

    def __iter__(self) -> Iterator[HostPort]:
        return iter(self.columns)

    def conflicting(self, port: HostPort) -> Sequence[HostPort]:
        """The ports in conflict with ``port`` that some pod binds, itself among them."""
        by_address = self._ports.get((port.protocol, port.number))
        if by_address is None:
            return ()
        addresses = by_address if port.address == EVERY_ADDRESS else (EVERY_ADDRESS, port.address)
        return [by_address[address] for address in addresses if address in by_address]

    def count(self, row: int, ports: Iterable[HostPort], sign: int) -> None:
        """Count a pod that binds ``ports`` in a row (1), or take it back (-1)."""
        for port in ports:
            self._ports.setdefault((port.protocol, port.number), {})[port.address] = port
            self.columns.add(port, row, sign)
            self._total[port] += sign
            if not self._total[port]:
                del self._total[port]
                self.columns.drop(port)
                by_address = self._ports[port.protocol, port.number]
                del by_address[port.address]
                if not by_address:
                    del self._ports[port.protocol, port.number]
