"""Scoring strategies of NodeResourcesFit: LeastAllocated, MostAllocated and RequestedToCapacityRatio."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_runtime.api import Ints, NodeTable
from scheduler_runtime.catalog.args import ScoringStrategy
from scheduler_runtime.plugins.noderesources.formulas import (
    ScoredResource,
    line_of,
    load_of,
    rounded_mean,
    row_strategy_of,
    strategy_of,
)
from scheduler_runtime.plugins.noderesources.requested_shares import IncrementalUpdate, RequestedShares, Shares
from scheduler_runtime.state.table import INT64, wrap_int64


class Strategy(IncrementalUpdate):
    """One strategy: for all nodes, quickly where that is exact, and for one node."""

    def __init__(self, scoring: ScoringStrategy) -> None:
        super().__init__()
        ratio = scoring.requested_to_capacity_ratio
        shape = ratio.shape if ratio else ()
        self._scores_free = scoring.type == "LeastAllocated"
        self._line: Ints | None = line_of(shape) if scoring.type == "RequestedToCapacityRatio" else None
        self._formula = strategy_of(scoring)
        self._row_formula = row_strategy_of(scoring, self._line)
        self._requested_shares: dict[str, RequestedShares] = {}

    def score(self, nodes: NodeTable, resources: Sequence[ScoredResource]) -> Ints:
        """The scores of all nodes."""
        self.catch_up(nodes)
        caches = [self._cache(one.resource, nodes) for one in resources]
        if all(cache.is_exact(one.amount) for cache, one in zip(caches, resources, strict=True)) and resources:
            shares = [cache.shares(one.amount) for cache, one in zip(caches, resources, strict=True)]
            weights = [one.weight for one in resources]
            if self._line is None:
                return _mean(shares, weights, caches)
            return _mean_on_line(self._line, shares, weights, caches)
        loads = [load_of(one.resource, one.weight, one.amount, nodes, nodes.scored) for one in resources]
        return self._formula(loads, len(nodes))

    def score_row(self, nodes: NodeTable, resources: Sequence[ScoredResource], row: int) -> int:
        """The score of one node."""
        loads = []
        for resource, weight, amount in resources:
            whole = nodes.allocatable(resource).item(row)
            if whole > 0:
                used = nodes.scored(resource).item(row) + amount
                loads.append((weight, whole, used if used in INT64 else wrap_int64(used)))
        return self._row_formula(loads)

    def write(self, nodes: NodeTable) -> None:
        for cache in self._requested_shares.values():
            cache.write(nodes)

    def write_row(self, nodes: NodeTable, row: int) -> None:
        for cache in self._requested_shares.values():
            cache.write_row(nodes, row)

    def _cache(self, resource: str, nodes: NodeTable) -> RequestedShares:
        cache = self._requested_shares.get(resource)
        if cache is None:
            cache = self._requested_shares[resource] = RequestedShares(resource, of_free=self._scores_free)
            cache.write(nodes)
        return cache


def _mean(shares: Sequence[Shares], weights: Sequence[int], caches: Sequence[RequestedShares]) -> Ints:
    """The mean over the resources that a node offers, rounded down; 0 where it offers none."""
    total = _weighted_sum(shares, weights)
    if all(cache.is_offered_everywhere for cache in caches):
        total //= sum(weights)
    else:
        counts = [cache.is_offered.astype(np.int32) for cache in caches]
        total //= np.maximum(_weighted_sum(counts, weights), 1)
    return total.astype(np.int64)


def _weighted_sum(shares: Sequence[Shares], weights: Sequence[int]) -> Shares:
    total = shares[0] if weights[0] == 1 else shares[0] * np.int32(weights[0])
    for more, weight in zip(shares[1:], weights[1:], strict=True):
        total += more if weight == 1 else more * np.int32(weight)
    return total


def _mean_on_line(
    line: Ints, shares: Sequence[Shares], weights: Sequence[int], caches: Sequence[RequestedShares]
) -> Ints:
    """The mean of the points on a line, over the resources that have any points, rounded half up."""
    total, counted = [np.zeros(len(shares[0]), np.int32) for _ in range(2)]
    for share, weight, cache in zip(shares, weights, caches, strict=True):
        points, counts = [table.astype(np.int32).take(share) for table in (line * weight, (line > 0) * weight)]
        if not cache.is_offered_everywhere:
            points, counts = points * cache.is_offered, counts * cache.is_offered
        total += points
        counted += counts
    return rounded_mean(total, counted)
