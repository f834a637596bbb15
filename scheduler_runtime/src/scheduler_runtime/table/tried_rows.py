"""Many nodes, each with other pods on it, for as long as filters are asked what they would say then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..wire import Pod
from .columns import Column, Ints, wrapped
from .ports import Ports
from .requested import Requested, requests_of
from .tried_row import Traces, may_bind_ports


class TriedRows:
    """As :class:`TriedRow` for several rows at once: what concerns all of them is added up and written once."""

    __slots__ = (
        "_before",
        "_counts",
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
        self._traces = Traces(requested, ports)
        self._before = {row: pods[row] for row in rows.tolist()}
        self._saved: dict[str, Ints] = {name: column.all[rows] for name, column in requested.columns.items()}
        for row, before in self._before.items():
            pods[row] = before.copy()

    def change(self, changed: Sequence[Sequence[Pod]], sign: int) -> None:
        """Put pods on the nodes (1) or take them off (-1): some for each row."""
        sums: dict[str, list[int]] = {}
        places = range(len(self._rows))
        for place, row, some in zip(places, self._before, changed, strict=True):
            if not some:
                continue
            there = self._pods[row]
            for pod in some:
                if sign > 0:
                    there[pod.metadata.uid] = pod
                else:
                    del there[pod.metadata.uid]
                for resource, amount in requests_of(pod).amounts.items():
                    if resource not in sums:
                        sums[resource] = [0] * len(places)
                    sums[resource][place] = wrapped(sums[resource][place] + amount)
                if may_bind_ports(pod):
                    self._traces.bind(row, pod, sign)
        for resource, amounts in sums.items():
            if any(amounts):
                self._traces.column(resource).all[self._rows] += sign * np.array(amounts, np.int64)
        self._counts.all[self._rows] += sign * np.array([len(some) for some in changed], np.int64)

    def restore(self) -> None:
        """Put everything back."""
        for row, before in self._before.items():
            self._pods[row] = before
        self._counts.all[self._rows] = [len(before) for before in self._before.values()]
        self._traces.remove()
        for name, column in self._requested.columns.items():
            column.all[self._rows] = self._saved.get(name, 0)
