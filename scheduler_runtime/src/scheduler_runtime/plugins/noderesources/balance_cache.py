"""How evenly two resources are used on every node, kept as far as it does not depend on the pod."""

from __future__ import annotations

import numpy as np

from scheduler_runtime.api import MAX_SCORE, Ints, NodeTable
from scheduler_runtime.plugins.noderesources import row_scores as one_row
from scheduler_runtime.plugins.noderesources.utilization_cache import Floats, IncrementalUpdate, Shares

_OFFSET = MAX_SCORE // 2 + MAX_SCORE
"""50 + (50 + with - without) / 2 is (with - (without - 150)) / 2."""
_EXACT_BELOW = 2**52
"""Up to here fractions of 64 bits hold every whole number, and the sum of two of them."""


class BalanceScores(IncrementalUpdate):
    """What of two resources is offered and taken, and how even that is without another pod.

    Only for tables on which every node offers both: the formula is another one where just one of them counts.
    """

    def __init__(self, first: str, second: str, *, by_improvement: bool) -> None:
        super().__init__()
        self._resources = (first, second)
        self._by_improvement = by_improvement
        self._whole: list[Floats] = []
        self._taken: list[Floats] = []
        self._ones: Floats = np.zeros(0)
        self._without: Shares = np.zeros(0, np.int32)
        """How even each node is without the pod, less the offset."""
        self._largest = 0
        self._is_offered_everywhere = True

    def write(self, nodes: NodeTable) -> None:
        whole = [nodes.allocatable(resource) for resource in self._resources]
        taken = [nodes.requested(resource) for resource in self._resources]
        self._largest = max(int(each.max(initial=0)) for each in (*whole, *taken))
        self._is_offered_everywhere = all(bool((each > 0).all()) for each in whole)
        self._whole = [each.astype(np.float64) for each in whole]
        self._taken = [each.astype(np.float64) for each in taken]
        self._ones = np.ones(len(nodes))
        if self._is_offered_everywhere:
            self._without = self._balance(0, 0) - np.int32(_OFFSET)

    def write_row(self, nodes: NodeTable, row: int) -> None:
        parts = []
        for place, resource in enumerate(self._resources):
            whole, taken = nodes.allocatable(resource).item(row), nodes.requested(resource).item(row)
            self._largest = max(self._largest, whole, taken)
            self._is_offered_everywhere = self._is_offered_everywhere and whole > 0
            self._whole[place][row], self._taken[place][row] = whole, taken
            parts.append((taken, whole))
        if self._is_offered_everywhere:
            self._without[row] = one_row.balance(parts) - _OFFSET

    def is_exact(self, first: int, second: int) -> bool:
        """Whether :meth:`scores` are those of upstream's formula, with so much more of each taken."""
        return self._is_offered_everywhere and max(self._largest, first, second) < _EXACT_BELOW

    def scores(self, first: int, second: int) -> Ints:
        """The scores with so much more of each taken."""
        with_pod = self._balance(first, second)
        if self._by_improvement:
            with_pod -= self._without
            with_pod >>= 1
        return with_pod.astype(np.int64)

    def _balance(self, first: int, second: int) -> Shares:
        deviation = self._degree(0, first)
        deviation -= self._degree(1, second)
        np.abs(deviation, out=deviation)
        deviation *= 0.5
        np.subtract(1.0, deviation, out=deviation)
        deviation *= MAX_SCORE
        return deviation.astype(np.int32)

    def _degree(self, place: int, more: int) -> Floats:
        degree = self._taken[place] + float(more)
        degree /= self._whole[place]
        return np.minimum(degree, self._ones, out=degree)
