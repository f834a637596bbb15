"""Scores by how much of each resource is used: upstream's formulas in whole numbers, for all nodes at once and for one.

Whatever Go's int64 does is done here: quotients are cut off towards zero, and products beyond 64 bits wrap around.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import MAX_SCORE, Ints, NodeTable
from scheduler_runtime.catalog.args import ResourceSpec, ScoringStrategy, UtilizationShapePoint
from scheduler_runtime.catalog.syntax import is_scalar_resource
from scheduler_runtime.state.table import INT64, wrap_int64

_MAX_CUSTOM_SCORE = 10
"""The highest score of a shape point (MaxCustomPriorityScore upstream)."""


class ScoredResource(NamedTuple):
    """A resource that counts in a score, its weight, and the amount that the pod would use."""

    resource: str
    weight: int
    amount: int


def scored_resources(resources: Sequence[ResourceSpec], amounts: Mapping[str, int]) -> tuple[ScoredResource, ...]:
    """Those of ``resources`` that count for a pod which requests ``amounts``: scalar ones only if it requests them."""
    return tuple(
        [
            ScoredResource(resource.name, resource.weight, amounts.get(resource.name, 0))
            for resource in resources
            if amounts.get(resource.name) or not is_scalar_resource(resource.name)
        ]
    )


# For all nodes at once.


@dataclass(frozen=True, slots=True)
class Load:
    """One resource on every node: offered, in use without the pod, and in use with it."""

    weight: int
    allocatable: Ints
    used_before: Ints
    used: Ints


Formula = Callable[[Sequence[Load], int], Ints]
"""From the loads of ``size`` nodes to their scores."""


def load_of(resource: str, weight: int, amount: int, nodes: NodeTable, used: Callable[[str], Ints]) -> Load:
    """The load of ``resource`` when ``amount`` more of it is used."""
    used_before = used(resource)
    return Load(weight, nodes.allocatable(resource), used_before, used_before + amount)


def strategy_of(strategy: ScoringStrategy) -> Formula:
    """The formula that ``strategy`` names."""
    match strategy.type:
        case "LeastAllocated":
            return least_allocated
        case "MostAllocated":
            return most_allocated
    ratio = strategy.requested_to_capacity_ratio
    return requested_to_capacity_ratio(ratio.shape if ratio else ())


def least_allocated(loads: Sequence[Load], size: int) -> Ints:
    """The emptier, the better (leastResourceScorer in least_allocated.go)."""
    scores = []
    for load in loads:
        free = np.where(load.used > load.allocatable, 0, load.allocatable - load.used)
        scores.append((_hundredths(free, load.allocatable), load))
    return _weighted_mean(scores, size)


def most_allocated(loads: Sequence[Load], size: int) -> Ints:
    """The fuller, the better (mostResourceScorer in most_allocated.go)."""
    return _weighted_mean([(_used_hundredths(load), load) for load in loads], size)


def _used_hundredths(load: Load) -> Ints:
    return _hundredths(np.minimum(load.used, load.allocatable), load.allocatable)


def _hundredths(part: Ints, whole: Ints) -> Ints:
    product, divisor = part * MAX_SCORE, np.maximum(whole, 1)
    shares: Ints = product // divisor
    # numpy rounds down, Go towards zero: one more where the quotient is negative and not exact.
    shares += (product < 0) & (shares * divisor != product)
    return shares


def _weighted_mean(scored: Sequence[tuple[Ints, Load]], size: int) -> Ints:
    """The mean over the resources that a node offers at all, rounded down; 0 where it offers none."""
    total = np.zeros(size, np.int64)
    weights: Ints | int = 0
    for scores, load in scored:
        if np.count_nonzero(load.allocatable) == size:
            total += scores if load.weight == 1 else scores * load.weight
            weights = weights + load.weight
        else:
            is_offered = load.allocatable > 0
            total += np.where(is_offered, scores * load.weight, 0)
            weights = weights + is_offered * load.weight
    mean: Ints = total // np.maximum(weights, 1)
    if total.min(initial=0) < 0:  # Only where hundredths wrapped around.
        mean += (total < 0) & (mean * weights != total)
    return mean


def requested_to_capacity_ratio(shape: Sequence[UtilizationShapePoint]) -> Formula:
    """By a broken line from utilization, in percent, to score (requested_to_capacity_ratio.go)."""
    line = line_of(shape)

    def score(loads: Sequence[Load], size: int) -> Ints:
        total, weights = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for load in loads:
            scores = line[np.where(load.used > load.allocatable, MAX_SCORE, np.maximum(_used_hundredths(load), 0))]
            counts = (load.allocatable > 0) & (scores > 0)
            total += np.where(counts, scores * load.weight, 0)
            weights += counts * load.weight
        return rounded_mean(total, weights)

    return score


def rounded_mean(total: NDArray[Any], weights: NDArray[Any]) -> Ints:
    """The mean, rounded half up; 0 where nothing counts."""
    mean: Ints = np.floor(total / np.maximum(weights, 1) + 0.5).astype(np.int64)
    return mean


def line_of(shape: Sequence[UtilizationShapePoint]) -> Ints:
    """The score for each utilization from 0 to 100 percent (upstream's helper.BuildBrokenLinearFunction)."""
    return np.array([_on_the_line(shape, percent) for percent in range(101)], np.int64)


def _on_the_line(shape: Sequence[UtilizationShapePoint], percent: int) -> int:
    scale = MAX_SCORE // _MAX_CUSTOM_SCORE
    before: UtilizationShapePoint | None = None
    for point in shape:
        if percent <= point.utilization:
            if before is None:
                return point.score * scale
            rise = (point.score - before.score) * scale * (percent - before.utilization)
            run = point.utilization - before.utilization
            return before.score * scale + int(rise / run)  # Towards zero, as Go divides.
        before = point
    return before.score * scale if before else 0


def balance(loads: Sequence[tuple[Ints, Ints]], size: int) -> Ints:
    """100 where all resources, used and offered, are used to the same degree, less by their standard deviation.

    Over the resources that each node offers. As upstream's balancedResourceScorer, half the difference where they are
    two: the standard deviation of two numbers, without its rounding errors.
    """
    deviation: NDArray[np.float64]
    if len(loads) == 2 and all(np.count_nonzero(allocatable) == size for _, allocatable in loads):
        (first, first_whole), (second, second_whole) = loads
        deviation = np.abs(_degree(first, first_whole) - _degree(second, second_whole)) / 2
    elif loads:
        is_offered = np.array([allocatable > 0 for _, allocatable in loads])
        degrees = np.array([_degree(part, np.maximum(whole, 1)) for part, whole in loads])
        count = is_offered.sum(axis=0)
        mean = _sum_in_order(degrees, is_offered) / np.maximum(count, 1)
        squares = (degrees - mean) * (degrees - mean)
        spread = np.sqrt(_sum_in_order(squares, is_offered) / np.maximum(count, 1))
        highest = np.where(is_offered, degrees, 0.0).max(axis=0)
        lowest = np.where(is_offered, degrees, 1.0).min(axis=0)
        deviation = np.where(count == 2, (highest - lowest) / 2, spread)
    else:
        deviation = np.zeros(size)
    scores: Ints = ((1 - deviation) * MAX_SCORE).astype(np.int64)
    return scores


def _degree(part: Ints, whole: Ints) -> NDArray[np.float64]:
    return np.clip(part / whole, 0.0, 1.0)  # A part that wraps below 0 is beyond 64 bits, and fits nowhere.


def _sum_in_order(values: NDArray[np.float64], counts: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The sum of the values that count, one after another as upstream: the order decides about the last bit."""
    total = np.zeros(values.shape[1])
    for value, does_count in zip(values, counts, strict=True):
        total = total + np.where(does_count, value, 0.0)
    return total


# For one node.

RowLoad = tuple[int, int, int]
"""Weight, what the node offers (more than nothing), and what would be used of it with the pod."""
RowFormula = Callable[[Iterable[RowLoad]], int]


def row_strategy_of(strategy: ScoringStrategy, line: Ints | None) -> RowFormula:
    """The formula that ``strategy`` names, for one node; ``line`` if it is one by ratio."""
    if line is not None:
        return row_by_ratio(line.tolist())
    return row_least_allocated if strategy.type == "LeastAllocated" else row_most_allocated


def row_least_allocated(loads: Iterable[RowLoad]) -> int:
    """As :func:`least_allocated`."""
    total = weights = 0
    for weight, whole, used in loads:
        if used <= whole:
            total += weight * _row_hundredths(whole - used, whole)
        weights += weight
    if not weights:
        return 0
    return total // weights if total >= 0 else -(-total // weights)


def row_most_allocated(loads: Iterable[RowLoad]) -> int:
    """As :func:`most_allocated`."""
    total = weights = 0
    for weight, whole, used in loads:
        total += weight * _row_hundredths(min(used, whole), whole)
        weights += weight
    if not weights:
        return 0
    return total // weights if total >= 0 else -(-total // weights)


def row_by_ratio(line: Sequence[int]) -> RowFormula:
    """As :func:`requested_to_capacity_ratio`. Resources that score nothing do not count."""

    def score(loads: Iterable[RowLoad]) -> int:
        total = weights = 0
        for weight, whole, used in loads:
            points = line[MAX_SCORE if used > whole else max(_row_hundredths(used, whole), 0)]
            if points > 0:
                total += weight * points
                weights += weight
        return math.floor(total / weights + 0.5) if weights else 0

    return score


def row_balance(parts: Sequence[tuple[int, int]]) -> int:
    """As :func:`balance`; ``parts`` are used and offered."""
    degrees = []
    for used, whole in parts:
        degree = float(used) / float(whole)
        degrees.append(degree if 0.0 <= degree <= 1.0 else 1.0 if degree > 1.0 else 0.0)
    deviation = 0.0
    if len(degrees) == 2:
        deviation = abs((degrees[0] - degrees[1]) / 2)
    elif len(degrees) > 2:
        mean = _row_sum(degrees) / len(degrees)
        deviation = math.sqrt(_row_sum((degree - mean) * (degree - mean) for degree in degrees) / len(degrees))
    return int((1 - deviation) * MAX_SCORE)


def _row_hundredths(part: int, whole: int) -> int:
    product = part * MAX_SCORE
    if product not in INT64:
        product = wrap_int64(product)
    return product // whole if product >= 0 else -(-product // whole)


def _row_sum(numbers: Iterable[float]) -> float:
    """One after another: Python's own sum is more exact than upstream's, and a last bit may decide."""
    total = 0.0
    for number in numbers:
        total += number
    return total
