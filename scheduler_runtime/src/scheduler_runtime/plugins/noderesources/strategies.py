"""The scoring strategies of NodeResourcesFit: which degree of use is best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_runtime.api import Ints, NodeTable
from scheduler_runtime.catalog.args import ScoringStrategy
from scheduler_runtime.plugins.noderesources import formulas as allocation
from scheduler_runtime.plugins.noderesources import row_scores as one_row
from scheduler_runtime.plugins.noderesources.scored_resources import ScoredResources
from scheduler_runtime.plugins.noderesources.utilization_cache import IncrementalUpdate, Shares, UtilizationScores
from scheduler_runtime.state.table import wrapped


class Strategy(IncrementalUpdate):
    """One strategy: for all nodes, quickly where that is exact, and for one."""

    def __init__(self, scoring: ScoringStrategy) -> None:
        super().__init__()
        ratio = scoring.requested_to_capacity_ratio
        shape = ratio.shape if ratio else ()
        self._is_of_free = scoring.type == "LeastAllocated"
        self._line: Ints | None = allocation.line_of(shape) if scoring.type == "RequestedToCapacityRatio" else None
        self._exactly = allocation.strategy_of(scoring)
        self._row = _row_strategy(scoring, self._line)
        self._gauges: dict[str, UtilizationScores] = {}

    def score(self, nodes: NodeTable, wanted: Sequence[ScoredResources]) -> Ints:
        """The scores of all nodes."""
        self.catch_up(nodes)
        gauges = [self._gauge(each.resource, nodes) for each in wanted]
        if all(gauge.is_exact(each.amount) for gauge, each in zip(gauges, wanted, strict=True)) and wanted:
            shares = [gauge.shares(each.amount) for gauge, each in zip(gauges, wanted, strict=True)]
            weights = [each.weight for each in wanted]
            if self._line is None:
                return _mean(shares, weights, gauges)
            return _mean_on(self._line, shares, weights, gauges)
        loads = [allocation.load_of(each.resource, each.weight, each.amount, nodes, nodes.scored) for each in wanted]
        return self._exactly(loads, len(nodes))

    def score_row(self, nodes: NodeTable, wanted: Sequence[ScoredResources], row: int) -> int:
        """The score of one node."""
        taken = []
        for each in wanted:
            whole = nodes.allocatable(each.resource).item(row)
            if whole > 0:
                used = wrapped(nodes.scored(each.resource).item(row) + each.amount)
                taken.append((each.weight, whole, used))
        return self._row(taken)

    def write(self, nodes: NodeTable) -> None:
        for gauge in self._gauges.values():
            gauge.write(nodes)

    def write_row(self, nodes: NodeTable, row: int) -> None:
        for gauge in self._gauges.values():
            gauge.write_row(nodes, row)

    def _gauge(self, resource: str, nodes: NodeTable) -> UtilizationScores:
        gauge = self._gauges.get(resource)
        if gauge is None:
            gauge = self._gauges[resource] = UtilizationScores(resource, of_what_is_free=self._is_of_free)
            gauge.write(nodes)
        return gauge


def _row_strategy(scoring: ScoringStrategy, line: Ints | None) -> one_row.RowStrategy:
    if line is not None:
        return one_row.by_ratio(line.tolist())
    return one_row.least_allocated if scoring.type == "LeastAllocated" else one_row.most_allocated


def _mean(shares: Sequence[Shares], weights: Sequence[int], gauges: Sequence[UtilizationScores]) -> Ints:
    """The mean over the resources that a node offers, rounded down; 0 where it offers none."""
    total = _sum(shares, weights)
    if all(gauge.is_offered_everywhere for gauge in gauges):
        total //= sum(weights)
    else:
        counting = [gauge.offered.astype(np.int32) for gauge in gauges]
        total //= np.maximum(_sum(counting, weights), 1)
    return total.astype(np.int64)


def _sum(shares: Sequence[Shares], weights: Sequence[int]) -> Shares:
    total = shares[0] if weights[0] == 1 else shares[0] * np.int32(weights[0])
    for more, weight in zip(shares[1:], weights[1:], strict=True):
        total += more if weight == 1 else more * np.int32(weight)
    return total


def _mean_on(line: Ints, shares: Sequence[Shares], weights: Sequence[int], gauges: Sequence[UtilizationScores]) -> Ints:
    """The mean of what the shares are worth on a line, over the resources that are worth anything, rounded half up."""
    total, counted = [np.zeros(len(shares[0]), np.int32) for _ in range(2)]
    for each, weight, gauge in zip(shares, weights, gauges, strict=True):
        points, counts = [table.astype(np.int32).take(each) for table in (line * weight, (line > 0) * weight)]
        if not gauge.is_offered_everywhere:
            points, counts = points * gauge.offered, counts * gauge.offered
        total += points
        counted += counts
    return allocation.rounded(total, counted)
