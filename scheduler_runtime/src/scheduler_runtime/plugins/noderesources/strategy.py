"""A scoring strategy: how full each node is and would be, with what does not depend on the pod computed beforehand.

Dividing whole numbers is slow over thousands of nodes, and so is making them fractions. What does not depend on the
pod is divided beforehand, and again for each node that changed. The results are exactly those of dividing whole
numbers:

    rate = 100 / whole        level = 100 * used / whole + 0.5 / whole

``level + amount * rate`` is at least ``0.5 / whole`` away from any whole number, to both sides, while the errors of
these operations stay below 4.4e-14 together. So cutting it off gives the true quotient as long as ``whole`` is less
than 2**43, as it is for any node of up to 8 TiB. Where it is more, whole numbers are divided.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import MAX_SCORE, Ints, Mask, NodeTable
from scheduler_runtime.catalog.args import ScoringStrategy
from scheduler_runtime.plugins.noderesources.formulas import (
    ScoredResource,
    line_of,
    load_of,
    rounded_mean,
    row_strategy_of,
    strategy_of,
)
from scheduler_runtime.state.table import INT64, wrap_int64

EXACT_BELOW = 2**43
_MAX_HUNDREDTHS = 2.0**30
"""More hundredths than this would not fit into the 32 bits in which they are cut off."""
_REWRITE_SHARE = 8
"""All rows are written anew when one in so many changed."""

Floats = NDArray[np.float64]
Shares = NDArray[np.int32]


class IncrementalUpdate:
    """A cache with a value for each row of a table, brought up to date before it is used."""

    def __init__(self) -> None:
        self._changes: object = None
        self._position = 0

    def catch_up(self, nodes: NodeTable) -> None:
        """Write the rows that changed since the last time, or all."""
        changes = nodes.changes
        # The position in the log of another table would mean nothing.
        rows = changes.since(self._position) if changes is self._changes else None
        self._changes, self._position = changes, changes.position
        if rows is None or len(rows) * _REWRITE_SHARE > len(nodes):
            self.write(nodes)
            return
        for row in rows if len(rows) < 2 else set(rows):
            self.write_row(nodes, row)

    def write(self, nodes: NodeTable) -> None:
        """Write all rows."""
        raise NotImplementedError

    def write_row(self, nodes: NodeTable, row: int) -> None:
        """Write one row."""
        raise NotImplementedError


class RequestedShares:
    """The hundredths of one resource that are requested on each node, or that are free."""

    def __init__(self, resource: str, *, of_free: bool) -> None:
        self._resource = resource
        self._sign = -1.0 if of_free else 1.0
        self._empty = float(MAX_SCORE) if of_free else 0.0
        self._overcommitted = -1.0 if of_free else MAX_SCORE + 1.0
        self._rate: Floats = np.zeros(0)
        self._level: Floats = self._rate
        self._bound = np.maximum if of_free else np.minimum
        self._bounds: Shares = np.zeros(0, np.int32)  # Comparing with an array is quicker than with a number.
        self._largest = self._least = 0
        self._steepest = 0.0
        self.is_offered_everywhere = True

    def write(self, nodes: NodeTable) -> None:
        """Write all rows."""
        whole, used = nodes.allocatable(self._resource), nodes.scored(self._resource)
        divisor = np.maximum(whole, 1).astype(np.float64)
        rate = self._sign * MAX_SCORE / divisor
        level = np.where(used > whole, self._overcommitted, self._empty + 0.5 / divisor + used * rate)
        self._rate = np.where(whole > 0, rate, 0.0)
        self._level = np.where(whole > 0, level, 0.0)
        self._bounds = np.full(len(nodes), MAX_SCORE - self._empty, np.int32)
        self._largest, self._least = int(whole.max(initial=0)), int(used.min(initial=0))
        self._steepest = float(np.abs(self._rate).max(initial=0.0))
        self.is_offered_everywhere = bool((whole > 0).all())

    def write_row(self, nodes: NodeTable, row: int) -> None:
        """Write one row. What holds for all rows may become stricter than it need be, until all are written."""
        whole, used = nodes.allocatable_in(row, self._resource), nodes.scored_in(row, self._resource)
        if whole <= 0:
            self._rate[row] = self._level[row] = 0.0
            self.is_offered_everywhere = False
            return
        rate = self._sign * MAX_SCORE / whole
        self._rate[row] = rate
        self._level[row] = self._overcommitted if used > whole else self._empty + 0.5 / whole + used * rate
        self._largest, self._least = max(self._largest, whole), min(self._least, used)
        self._steepest = max(self._steepest, abs(rate))

    def is_exact(self, amount: int) -> bool:
        """True if :meth:`shares` are those of dividing whole numbers."""
        # Requests that wrapped around int64 may be negative in sum: they leave the range of an int32.
        is_ordinary = self._least >= 0 and self._largest < EXACT_BELOW
        return is_ordinary and 0 <= amount * self._steepest < _MAX_HUNDREDTHS

    def shares(self, amount: int) -> Shares:
        """The hundredths, from 0 to 100, with ``amount`` more in use; 0 where the resource is not offered."""
        hundredths = self._rate * float(amount)
        hundredths += self._level
        shares = hundredths.astype(np.int32)
        return self._bound(shares, self._bounds, out=shares)

    @property
    def is_offered(self) -> Mask:
        """The nodes that offer the resource."""
        is_offered: Mask = self._rate != 0.0
        return is_offered


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
        # Where sums wrapped around int64, upstream's formula leaves its range, and its attempt fails for that: one pod
        # with such amounts on a node would keep all others waiting.
        scores: Ints = np.clip(self._formula(loads, len(nodes)), 0, MAX_SCORE)
        return scores

    def score_row(self, nodes: NodeTable, resources: Sequence[ScoredResource], row: int) -> int:
        """The score of one node."""
        loads = []
        for resource, weight, amount in resources:
            whole = nodes.allocatable_in(row, resource)
            if whole > 0:
                used = nodes.scored_in(row, resource) + amount
                loads.append((weight, whole, used if used in INT64 else wrap_int64(used)))
        score = self._row_formula(loads)
        return score if 0 <= score <= MAX_SCORE else min(max(score, 0), MAX_SCORE)

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
