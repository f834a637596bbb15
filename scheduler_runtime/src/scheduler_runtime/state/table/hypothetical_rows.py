"""Many nodes, each with other pods on it, for as long as filters are asked what they would say then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.state.objects import Container, Pod, Requests
from scheduler_runtime.state.table.columns import Column, Ints
from scheduler_runtime.state.table.hypothetical_row import UndoLog, may_bind_ports
from scheduler_runtime.state.table.ports import Ports
from scheduler_runtime.state.table.requested import Requested, requests_of


class _Kind(NamedTuple):
    """Pods that ask for the same, of one template as a rule: what is the same for all of them.

    One object of requests stands for one shape of the whole pod, init containers included: they need no look.
    """

    number: int
    requests: Requests
    containers: Sequence[Container]
    may_bind_ports: bool


class HypotheticalNodes:
    """As :class:`TriedRow` for several rows at once: what concerns all of them is added up and written once."""

    __slots__ = (
        "_before",
        "_counts",
        "_kinds",
        "_pods",
        "_requested",
        "_rows",
        "_saved",
        "_traces",
    )

    def __init__(
        self,
        rows: NDArray[np.intp],
        pods: list[dict[str, Pod]],
        counts: Column,
        requested: Requested,
        ports: Ports,
    ) -> None:
        """``rows`` are different ones."""
        self._rows = rows
        self._pods = pods
        self._counts = counts
        self._requested = requested
        self._traces = UndoLog(requested, ports)
        self._kinds: dict[int, _Kind] = {}
        self._before = {row: pods[row] for row in rows.tolist()}
        self._saved: dict[str, Ints] = {name: column.all[rows] for name, column in requested.columns.items()}
        for row, before in self._before.items():
            pods[row] = before.copy()

    def change(self, changed: Sequence[Sequence[Pod]], sign: int) -> None:
        """Put pods on the nodes (1) or take them off (-1): some for each row."""
        kinds, places, asked = self._kinds, list[int](), list[int]()
        for place, (row, some) in enumerate(zip(self._before, changed, strict=True)):
            there = self._pods[row]
            for pod in some:
                if sign > 0:
                    there[pod.metadata.uid] = pod
                else:
                    del there[pod.metadata.uid]
                requests = pod.derived or requests_of(pod)
                kind = kinds.get(id(requests))
                if kind is None:
                    kind = kinds[id(requests)] = _Kind(len(kinds), requests, pod.spec.containers, may_bind_ports(pod))
                places.append(place)
                asked.append(kind.number)
                if kind.may_bind_ports or (kind.containers is not pod.spec.containers and may_bind_ports(pod)):
                    self._traces.bind(row, pod, sign)
        if places:
            self._add_up(self._rows[places], asked, sign)

    def _add_up(self, rows: NDArray[np.intp], asked: list[int], sign: int) -> None:
        """Count a pod more or less in each of ``rows``, some of them several times; ``asked`` says of which kind."""
        np.add.at(self._counts.all, rows, sign)
        kinds = [kind.requests.amounts for kind in self._kinds.values()]
        for resource in dict.fromkeys(name for amounts in kinds for name, amount in amounts.items() if amount):
            each = np.array([amounts.get(resource, 0) for amounts in kinds], np.int64)
            np.add.at(self._traces.column(resource).all, rows, sign * each[asked])

    def restore(self) -> None:
        """Put everything back."""
        for row, before in self._before.items():
            self._pods[row] = before
        self._counts.all[self._rows] = [len(before) for before in self._before.values()]
        self._traces.remove()
        for name, column in self._requested.columns.items():
            column.all[self._rows] = self._saved.get(name, 0)
