"""Which ports of the nodes themselves the pods on them bind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table.columns import Column, Ints

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - what pods ask for, not what is listened on


class HostPort(NamedTuple):
    """A port of its node that a pod binds, on one of the node's addresses or on all of them."""

    address: str
    protocol: str
    number: int

    def conflicts(self, other: HostPort) -> bool:
        """Whether one node cannot offer both."""
        return self[1:] == other[1:] and (self.address == other.address or EVERY_ADDRESS in (self[0], other[0]))


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The ports that ``pod`` binds for as long as it runs: those of its containers and of its sidecars."""
    containers = pod.spec.containers
    if pod.spec.init_containers:
        sidecars = (each for each in pod.spec.init_containers if each.restart_policy == "Always")
        containers = (*sidecars, *containers)
    found: tuple[HostPort, ...] = ()
    for container in containers:
        if container.ports:
            found += tuple(
                HostPort(port.host_ip or EVERY_ADDRESS, port.protocol or "TCP", port.host_port)
                for port in container.ports
                if port.host_port > 0
            )
    return found


class Ports:
    """How many pods on each node bind each port, as far as some pod binds it."""

    def __init__(self, new_column: Callable[[], Column]) -> None:
        self._new_column = new_column
        self._columns: dict[tuple[str, int], dict[str, Column]] = {}
        self._uses: Counter[HostPort] = Counter()

    def __iter__(self) -> Iterator[Column]:
        for columns in self._columns.values():
            yield from columns.values()

    def users(self, wanted: HostPort) -> Sequence[Ints]:
        """How many pods on each node bind ``wanted``, or what conflicts with it; an array for each address."""
        columns = self._columns.get((wanted.protocol, wanted.number))
        if columns is None:
            return ()
        everywhere = wanted.address == EVERY_ADDRESS
        addresses = columns if everywhere else (EVERY_ADDRESS, wanted.address)
        return [columns[address].shown for address in addresses if address in columns]

    def count(self, row: int, ports: Iterable[HostPort], sign: int) -> None:
        """A pod that binds ``ports`` came to the node in ``row``, or went."""
        for port in ports:
            columns = self._columns.setdefault((port.protocol, port.number), {})
            column = columns.get(port.address)
            if column is None:
                column = columns[port.address] = self._new_column()
            column.all[row] += sign
            self._uses[port] += sign
            if not self._uses[port]:
                self._forget(port)

    def _forget(self, port: HostPort) -> None:
        del self._uses[port]
        columns = self._columns[port.protocol, port.number]
        del columns[port.address]
        if not columns:
            del self._columns[port.protocol, port.number]
