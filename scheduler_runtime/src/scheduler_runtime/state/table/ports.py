"""Host ports: the ports of the nodes themselves that the pods on them bind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table.columns import Column, Ints

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - an address that pods ask for, not one that we listen on


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
