"""A node with other pods on it, for as long as filters are asked what they would say then."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table.columns import Column, wrapped
from scheduler_runtime.state.table.ports import Ports, host_ports
from scheduler_runtime.state.table.requested import Requested, requests_of


class HypotheticalNode:
    """The pods of a row, what they ask for and the ports they bind, to be changed and put back exactly as it was.

    Who keeps verdicts does not see the change: no clock moves, and neither what scores nor what censuses count.
    """

    __slots__ = (
        "_before",
        "_before_values",
        "_columns",
        "_counts",
        "_pods",
        "_row",
        "_traces",
        "_values",
    )

    def __init__(
        self,
        row: int,
        pods: list[dict[str, Pod]],
        counts: Column,
        requested: Requested,
        ports: Ports,
    ) -> None:
        self._row = row
        self._pods = pods
        self._counts = counts
        self._traces = UndoLog(requested, ports)
        self._before = pods[row]
        self._columns: dict[str, NDArray[Any]] = {}
        self._values = {resource: column.all.item(row) for resource, column in requested.columns.items()}
        self._before_values = self._values.copy()

    def add(self, pod: Pod) -> None:
        """Put ``pod`` on the node. Raises ValueError when it is there already."""
        pods, uid = self._there(), pod.metadata.uid
        if uid in pods:
            raise ValueError(f"pod {pod.key} is on the node already")
        pods[uid] = pod
        self._count(pod, 1)

    def remove(self, *gone: Pod) -> None:
        """Take the pods of these uids off the node. Raises KeyError when one is not there."""
        pods = self._there()
        for pod in gone:
            self._count(pods.pop(pod.metadata.uid), -1)

    def restore(self) -> None:
        """Put everything back."""
        row = self._row
        self._pods[row] = self._before
        self._counts.all[row] = len(self._before)
        for resource, column in self._columns.items():
            column[row] = self._before_values.get(resource, 0)
        self._traces.remove()

    def _there(self) -> dict[str, Pod]:
        """The pods to be changed: a copy, made when the first one is, as most nodes are asked about as they are."""
        if self._pods[self._row] is self._before:
            self._pods[self._row] = self._before.copy()
        return self._pods[self._row]

    def _count(self, pod: Pod, sign: int) -> None:
        row, values, columns = self._row, self._values, self._columns
        for resource, amount in requests_of(pod).amounts.items():
            if not amount:
                continue
            value = values[resource] = wrapped(values.get(resource, 0) + sign * amount)
            column = columns.get(resource)
            if column is None:
                column = columns[resource] = self._traces.column(resource).all
            column[row] = value
        self._counts.all[row] = len(self._pods[row])
        if may_bind_ports(pod):
            self._traces.bind(row, pod, sign)


class UndoLog:
    """What trying leaves in the table beside the pods and their numbers: columns that were not there, and ports."""

    __slots__ = ("_bound", "_made", "_ports", "_requested")

    def __init__(self, requested: Requested, ports: Ports) -> None:
        self._requested = requested
        self._ports = ports
        self._made: list[str] = []
        self._bound: list[tuple[int, Pod, int]] = []

    def column(self, resource: str) -> Column:
        """What was asked of ``resource``, a column that is made if need be."""
        if resource not in self._requested.columns:
            self._made.append(resource)
        return self._requested.column(resource)

    def bind(self, row: int, pod: Pod, sign: int) -> None:
        """Let ``pod`` bind its ports in ``row`` (1), or give them up (-1)."""
        self._ports.count(row, host_ports(pod), sign)
        self._bound.append((row, pod, sign))

    def remove(self) -> None:
        """Leave none of them."""
        self._requested.drop(*self._made)
        for row, pod, sign in reversed(self._bound):  # In between, no port that is in use may seem unused.
            self._ports.count(row, host_ports(pod), -sign)


def may_bind_ports(pod: Pod) -> bool:
    """Whether it is worth asking which ports of its node ``pod`` binds."""
    for container in pod.spec.containers:
        for port in container.ports:
            if port.host_port:
                return True
    return bool(pod.spec.init_containers)
