"""A node with other pods on it, for as long as filters are asked what they would say then."""

from __future__ import annotations

from collections.abc import Callable

from ..wire import Pod, QuantityError
from .columns import Column
from .ports import Ports, host_ports


class TriedRow:
    """The pods of a row, what they ask for and the ports they bind, to be changed and put back exactly as it was.

    Who keeps verdicts does not see the change: no clock moves, and neither what scores nor what censuses count.
    """

    __slots__ = ("_before", "_changes", "_counts", "_new_column", "_pods", "_ports", "_requested", "_row", "_values")

    def __init__(
        self,
        row: int,
        pods: list[dict[str, Pod]],
        counts: Column,
        requested: dict[str, Column],
        ports: Ports,
        new_column: Callable[[], Column],
    ) -> None:
        self._row = row
        self._pods = pods
        self._counts = counts
        self._requested = requested
        self._ports = ports
        self._new_column = new_column
        self._before = pods[row]
        self._values = [(column.all, column.all.item(row)) for column in requested.values()]
        self._changes: list[tuple[Pod, int]] = []
        pods[row] = self._before.copy()

    def add(self, pod: Pod) -> None:
        """Put ``pod`` on the node. Raises ValueError when it is there already."""
        pods = self._pods[self._row]
        if pod.uid in pods:
            raise ValueError(f"pod {pod.key} ({pod.uid}) is on the node already")
        pods[pod.uid] = pod
        self._count(pod, 1)

    def remove(self, pod: Pod) -> None:
        """Take the pod of this uid off the node. Raises KeyError when it is not there."""
        self._count(self._pods[self._row].pop(pod.uid), -1)

    def restore(self) -> None:
        """Put everything back."""
        row = self._row
        self._pods[row] = self._before
        self._counts.all[row] = len(self._before)
        for column in self._requested.values():
            column.all[row] = 0
        for values, value in self._values:
            values[row] = value
        for pod, sign in self._changes:
            self._ports.count(row, host_ports(pod), -sign)

    def _count(self, pod: Pod, sign: int) -> None:
        row, requested = self._row, self._requested
        self._counts.all[row] += sign
        if any(container.ports for container in (*pod.spec.containers, *pod.spec.init_containers)):
            self._ports.count(row, host_ports(pod), sign)
            self._changes.append((pod, sign))
        try:
            amounts = pod.requests.amounts
        except QuantityError:
            return  # As in the table itself: what cannot be read takes nothing.
        for resource, amount in amounts.items():
            column = requested.get(resource)
            if column is None:
                column = requested[resource] = self._new_column()
            column.all[row] += sign * amount
