"""Which nodes have their resources used evenly."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from scheduler_runtime.api import MAX_SCORE, SKIP, Cycle, Handle, Ints, NodeTable, Plugin, Pod
from scheduler_runtime.catalog import Version, in_tree
from scheduler_runtime.catalog.args import NodeResourcesBalancedAllocationArgs
from scheduler_runtime.plugins.noderesources import formulas as allocation
from scheduler_runtime.plugins.noderesources import row_scores as one_row
from scheduler_runtime.plugins.noderesources.balance_cache import BalanceScores
from scheduler_runtime.plugins.noderesources.scored_resources import ScoredResources, wanted_of
from scheduler_runtime.state.table import wrapped

_HALF = MAX_SCORE // 2


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
        return self._wanted(pod) or SKIP

    def score(self, pod: Pod, nodes: NodeTable, state: Sequence[ScoredResources] | None) -> Ints:
        wanted = self._wanted(pod) if state is None else state
        if not wanted:
            return np.zeros(len(nodes), np.int64)
        if len(wanted) == 2:
            pair = self._pair(wanted, nodes)
            if pair.is_exact(wanted[0].amount, wanted[1].amount):
                return pair.scores(wanted[0].amount, wanted[1].amount)
        return self._of_any(nodes, wanted)

    def score_row(self, pod: Pod, nodes: NodeTable, state: Sequence[ScoredResources] | None, row: int) -> int:
        wanted = self._wanted(pod) if state is None else state
        if not wanted:
            return 0
        before, after = [], []
        for resource, _, amount in wanted:
            whole = nodes.allocatable(resource).item(row)
            if whole > 0:
                taken = nodes.requested(resource).item(row)
                before.append((taken, whole))
                after.append((wrapped(taken + amount), whole))
        with_pod = one_row.balance(after)
        return _HALF + (_HALF + with_pod - one_row.balance(before)) // 2 if self.by_improvement else with_pod

    def signature(self, pod: Pod) -> Hashable:
        return pod.requests.key

    def _wanted(self, pod: Pod) -> Sequence[ScoredResources]:
        """The resources that count; none at all for a pod that asks for none of them."""
        wanted = wanted_of(self.resources, pod.requests.amounts)
        return wanted if any(each.amount for each in wanted) else ()

    def _pair(self, wanted: Sequence[ScoredResources], nodes: NodeTable) -> BalanceScores:
        names = (wanted[0].resource, wanted[1].resource)
        pair = self._pairs.get(names)
        if pair is None:
            pair = self._pairs[names] = BalanceScores(*names, by_improvement=self.by_improvement)
        pair.catch_up(nodes)
        return pair

    def _of_any(self, nodes: NodeTable, wanted: Sequence[ScoredResources]) -> Ints:
        """For any number of resources, which not every node has to offer."""
        loads = [allocation.load_of(each.resource, 1, each.amount, nodes, nodes.requested) for each in wanted]
        with_pod = allocation.balance([(load.requested, load.allocatable) for load in loads], len(nodes))
        if not self.by_improvement:
            return with_pod
        without = allocation.balance([(load.allocated, load.allocatable) for load in loads], len(nodes))
        scores: Ints = _HALF + (_HALF + with_pod - without) // 2
        return scores
