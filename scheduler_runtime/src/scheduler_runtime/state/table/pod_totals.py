"""Totals over the pods of each node: requested resources, the lowest priority, and the ports of the node in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from scheduler_runtime.state.objects import Pod, QuantityError, Requests
from scheduler_runtime.state.objects.pod_requests import Amounts
from scheduler_runtime.state.table.columns import ChangeLog, Column, Ints

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


class RequestedResources:
    """A column for each resource that some pod on a node requests."""

    __slots__ = ("_new_column", "_pods_by_resource", "columns")

    def __init__(self, new_column: Callable[[], Column]) -> None:
        self._new_column = new_column
        self._pods_by_resource: dict[str, int] = {}
        self.columns: dict[str, Column] = {}

    def column(self, resource: str) -> Column:
        """The column of ``resource``; a new one when no pod on a node requests it so far."""
        column = self.columns.get(resource)
        if column is None:
            column = self.columns[resource] = self._new_column()
        return column

    def add(self, row: int, amounts: Amounts) -> None:
        """Count a pod that requests ``amounts`` in a row."""
        columns, pods_by_resource = self.columns, self._pods_by_resource
        for resource, amount in amounts.items():
            if amount:
                pods_by_resource[resource] = pods_by_resource.get(resource, 0) + 1
                column = columns[resource] if resource in columns else self.column(resource)
                column.add(row, amount)

    def remove(self, row: int, amounts: Amounts) -> None:
        """Take back what :meth:`add` counted in a row, and drop the columns that nobody needs any more."""
        columns, pods_by_resource = self.columns, self._pods_by_resource
        for resource, amount in amounts.items():
            if amount:
                columns[resource].add(row, -amount)
                pods_by_resource[resource] -= 1
                if not pods_by_resource[resource]:
                    del pods_by_resource[resource], columns[resource]

    def drop_unused(self, *resources: str) -> None:
        """Drop the columns of those ``resources`` that no pod on a node requests."""
        for resource in resources:
            if resource not in self._pods_by_resource:
                del self.columns[resource]


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
    ports: tuple[HostPort, ...] = ()
    for container in containers:
        if container.ports:
            ports += tuple(
                HostPort(port.host_ip or EVERY_ADDRESS, port.protocol or "TCP", port.host_port)
                for port in container.ports
                if port.host_port > 0
            )
    return ports


class PortCounts:
    """The number of pods on each node that bind a port; a column for each port that some pod binds."""

    def __init__(self, new_column: Callable[[], Column]) -> None:
        self._new_column = new_column
        self._columns: dict[tuple[str, int], dict[str, Column]] = {}
        """By protocol and number, then by address."""
        self._total: Counter[HostPort] = Counter()

    def __iter__(self) -> Iterator[Column]:
        for columns in self._columns.values():
            yield from columns.values()

    def users(self, port: HostPort) -> Sequence[Ints]:
        """The number of pods on each node that bind ``port`` or a port in conflict with it; an array per address."""
        columns = self._columns.get((port.protocol, port.number))
        if columns is None:
            return ()
        addresses = columns if port.address == EVERY_ADDRESS else (EVERY_ADDRESS, port.address)
        return [columns[address].values for address in addresses if address in columns]

    def count(self, row: int, ports: Iterable[HostPort], sign: int) -> None:
        """Count a pod that binds ``ports`` in a row (1), or take it back (-1)."""
        for port in ports:
            columns = self._columns.setdefault((port.protocol, port.number), {})
            column = columns.get(port.address)
            if column is None:
                column = columns[port.address] = self._new_column()
            column.writable[row] += sign
            self._total[port] += sign
            if not self._total[port]:
                del self._total[port], columns[port.address]
                if not columns:
                    del self._columns[port.protocol, port.number]
