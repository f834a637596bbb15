"""NodeResourcesBalancedAllocation: nodes whose resources are used evenly. Upstream: balanced_allocation.go."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from scheduler_runtime.api import MAX_SCORE, SKIP, Cycle, Handle, Ints, NodeTable, Plugin, Pod
from scheduler_runtime.catalog import Version, in_tree
from scheduler_runtime.catalog.args import NodeResourcesBalancedAllocationArgs
from scheduler_runtime.plugins.noderesources.formulas import (
    ScoredResource,
    balance,
    load_of,
    row_balance,
    scored_resources,
)
from scheduler_runtime.plugins.noderesources.strategy import Floats, IncrementalUpdate, Shares
from scheduler_runtime.state.table import INT64, wrap_int64

_HALF = MAX_SCORE // 2
_OFFSET = MAX_SCORE // 2 + MAX_SCORE
"""50 + (50 + with - without) / 2 is (with - (without - 150)) / 2."""
_EXACT_BELOW = 2**52
"""Up to here fractions of 64 bits hold every whole number, and the sum of two of them."""


class NodeResourcesBalancedAllocation(Plugin):
    """Prefer nodes whose resources would be used evenly.

    Since Kubernetes 1.36 what counts is whether the pod makes a node more even, before that how even it is with it.
    """

    declaration = in_tree()["NodeResourcesBalancedAllocation"]
    row_local = True

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.resources = args.resources
        self.by_improvement = Version.parse(handle.version).at_least("1.36")
        self._pairs: dict[tuple[str, ...], BalanceScores] = {}

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return self._scored(pod) or SKIP

    def score(self, pod: Pod, nodes: NodeTable, state: Sequence[ScoredResource] | None) -> Ints:
        resources = self._scored(pod) if state is None else state
        if not resources:
            return np.zeros(len(nodes), np.int64)
        if len(resources) == 2:
            first, second = resources
            names = (first.resource, second.resource)
            pair = self._pairs.get(names)
            if pair is None:
                pair = self._pairs[names] = BalanceScores(*names, by_improvement=self.by_improvement)
            pair.catch_up(nodes)
            if pair.is_exact(first.amount, second.amount):
                return pair.scores(first.amount, second.amount)
        # Any number of resources, which not every node has to offer.
        loads = [load_of(one.resource, 1, one.amount, nodes, nodes.requested) for one in resources]
        with_pod = balance([(load.used, load.allocatable) for load in loads], len(nodes))
        if not self.by_improvement:
            return with_pod
        without = balance([(load.used_before, load.allocatable) for load in loads], len(nodes))
        scores: Ints = _HALF + (_HALF + with_pod - without) // 2
        return scores

    def score_row(self, pod: Pod, nodes: NodeTable, state: Sequence[ScoredResource] | None, row: int) -> int:
        resources = self._scored(pod) if state is None else state
        if not resources:
            return 0
        before, after = [], []
        for resource, _, amount in resources:
            whole = nodes.allocatable_in(row, resource)
            if whole > 0:
                used = nodes.requested_in(row, resource)
                before.append((used, whole))
                total = used + amount
                after.append((total if total in INT64 else wrap_int64(total), whole))
        with_pod = row_balance(after)
        return _HALF + (_HALF + with_pod - row_balance(before)) // 2 if self.by_improvement else with_pod

    def signature(self, pod: Pod) -> Hashable:
        return pod.requests.key

    def _scored(self, pod: Pod) -> Sequence[ScoredResource]:
        """The resources that count; none at all for a pod that requests none of them."""
        resources = scored_resources(self.resources, pod.requests.amounts)
        return resources if any(one.amount for one in resources) else ()


class BalanceScores(IncrementalUpdate):
    """The balance of two resources on every node, with what does not depend on the pod computed beforehand.

    Only for tables on which every node offers both: the formula is another one where just one of them counts.
    """

    def __init__(self, first: str, second: str, *, by_improvement: bool) -> None:
        super().__init__()
        self._resources = (first, second)
        self._by_improvement = by_improvement
        self._whole: list[Floats] = []
        self._used: list[Floats] = []
        self._ones: Floats = np.zeros(0)
        self._without: Shares = np.zeros(0, np.int32)
        """The balance of each node without the pod, less the offset."""
        self._largest = self._least = 0
        self._is_offered_everywhere = True

    def write(self, nodes: NodeTable) -> None:
        whole = [nodes.allocatable(resource) for resource in self._resources]
        used = [nodes.requested(resource) for resource in self._resources]
        self._largest = max(int(amounts.max(initial=0)) for amounts in (*whole, *used))
        self._least = min(int(amounts.min(initial=0)) for amounts in used)
        self._is_offered_everywhere = all(bool((amounts > 0).all()) for amounts in whole)
        self._whole = [amounts.astype(np.float64) for amounts in whole]
        # Sums that wrapped around int64 are not scored by these arrays (``is_exact``); they only must fit them.
        self._used = [np.maximum(amounts, 0).astype(np.float64) for amounts in used]
        self._ones = np.ones(len(nodes))
        if self._is_offered_everywhere:
            self._without = self._balance(0, 0) - np.int32(_OFFSET)

    def write_row(self, nodes: NodeTable, row: int) -> None:
        parts = []
        for index, resource in enumerate(self._resources):
            whole, used = nodes.allocatable_in(row, resource), nodes.requested_in(row, resource)
            self._largest, self._least = max(self._largest, whole, used), min(self._least, used)
            self._is_offered_everywhere = self._is_offered_everywhere and whole > 0
            self._whole[index][row], self._used[index][row] = whole, max(used, 0)
            parts.append((used, whole))
        if self._is_offered_everywhere:
            self._without[row] = row_balance(parts) - _OFFSET

    def is_exact(self, first: int, second: int) -> bool:
        """True if :meth:`scores` are those of upstream's formula, with these amounts more in use."""
        is_ordinary = self._least >= 0 and self._is_offered_everywhere
        return is_ordinary and min(first, second) >= 0 and max(self._largest, first, second) < _EXACT_BELOW

    def scores(self, first: int, second: int) -> Ints:
        """The scores with these amounts more in use."""
        with_pod = self._balance(first, second)
        if self._by_improvement:
            with_pod -= self._without
            with_pod >>= 1
        return with_pod.astype(np.int64)

    def _balance(self, first: int, second: int) -> Shares:
        # In place wherever possible: new arrays of this size take longer than the arithmetic.
        deviation = self._degree(0, first)
        deviation -= self._degree(1, second)
        np.abs(deviation, out=deviation)
        deviation *= 0.5
        np.subtract(1.0, deviation, out=deviation)
        deviation *= MAX_SCORE
        return deviation.astype(np.int32)

    def _degree(self, index: int, more: int) -> Floats:
        degree = self._used[index] + float(more)
        degree /= self._whole[index]
        return np.minimum(degree, self._ones, out=degree)
