"""Scores by how much of each resource is taken: upstream's whole-number formulas, over all nodes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import MAX_SCORE, Ints, NodeTable
from scheduler_runtime.catalog.args import ScoringStrategy, UtilizationShapePoint

_HIGHEST_CUSTOM_SCORE = 10


@dataclass(frozen=True, slots=True)
class Load:
    """One resource on every node: what it offers, what is taken, and what would be with the pod."""

    weight: int
    allocatable: Ints
    allocated: Ints
    requested: Ints


Strategy = Callable[[Sequence[Load], int], Ints]
"""From the loads of ``size`` nodes to their scores."""


def load_of(resource: str, weight: int, amount: int, nodes: NodeTable, taken: Callable[[str], Ints]) -> Load:
    """The load of ``resource`` with ``amount`` more of it."""
    allocated = taken(resource)
    return Load(weight, nodes.allocatable(resource), allocated, allocated + amount)


def strategy_of(strategy: ScoringStrategy) -> Strategy:
    """The function that ``strategy`` names."""
    match strategy.type:
        case "LeastAllocated":
            return least_allocated
        case "MostAllocated":
            return most_allocated
    ratio = strategy.requested_to_capacity_ratio
    return requested_to_capacity_ratio(ratio.shape if ratio else ())


def least_allocated(loads: Sequence[Load], size: int) -> Ints:
    """The emptier, the better."""
    return _weighted_mean([(_free_share(load), load) for load in loads], size)


def most_allocated(loads: Sequence[Load], size: int) -> Ints:
    """The fuller, the better."""
    return _weighted_mean([(_used_share(load), load) for load in loads], size)


def _free_share(load: Load) -> Ints:
    free = np.where(load.requested > load.allocatable, 0, load.allocatable - load.requested)
    return _hundredths(free, load.allocatable)


def _used_share(load: Load) -> Ints:
    return _hundredths(np.minimum(load.requested, load.allocatable), load.allocatable)


def _hundredths(part: Ints, whole: Ints) -> Ints:
    """As Go divides: what does not fit into 64 bits wraps around, and fractions are cut off towards zero."""
    product, offered = part * MAX_SCORE, np.maximum(whole, 1)
    shares: Ints = product // offered
    shares += (product < 0) & (shares * offered != product)
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
            offered = load.allocatable > 0
            total += np.where(offered, scores * load.weight, 0)
            weights = weights + offered * load.weight
    mean: Ints = total // np.maximum(weights, 1)
    if total.min(initial=0) < 0:  # Only where hundredths wrapped around.
        mean += (total < 0) & (mean * weights != total)
    return mean


def requested_to_capacity_ratio(shape: Sequence[UtilizationShapePoint]) -> Strategy:
    """By a broken line from utilization, in percent, to score."""
    line = line_of(shape)

    def score(loads: Sequence[Load], size: int) -> Ints:
        total, weights = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for load in loads:
            scores = line[np.where(load.requested > load.allocatable, MAX_SCORE, np.maximum(_used_share(load), 0))]
            counts = (load.allocatable > 0) & (scores > 0)
            total += np.where(counts, scores * load.weight, 0)
            weights += counts * load.weight
        return rounded(total, weights)

    return score


def rounded(total: NDArray[Any], weights: NDArray[Any]) -> Ints:
    """The mean, rounded half up; 0 where nothing counts."""
    mean: Ints = np.floor(total / np.maximum(weights, 1) + 0.5).astype(np.int64)
    return mean


def line_of(shape: Sequence[UtilizationShapePoint]) -> Ints:
    """The score for each utilization from 0 to 100 percent."""
    return np.array([_on_the_line(shape, percent) for percent in range(101)], np.int64)


def _on_the_line(shape: Sequence[UtilizationShapePoint], percent: int) -> int:
    scale = MAX_SCORE // _HIGHEST_CUSTOM_SCORE
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
    """100 where all resources are used to the same degree, less by their standard deviation."""
    if len(loads) == 2 and all(np.count_nonzero(allocatable) == size for _, allocatable in loads):
        (first, first_whole), (second, second_whole) = loads
        deviation = np.abs(_degree(first, first_whole) - _degree(second, second_whole)) / 2
    else:
        deviation = _deviation(loads, size)
    scores: Ints = ((1 - deviation) * MAX_SCORE).astype(np.int64)
    return scores


def _degree(part: Ints, whole: Ints) -> NDArray[np.float64]:
    return np.clip(part / whole, 0.0, 1.0)  # What wraps below 0 is more than 64 bits hold, and fits nowhere.


def _deviation(loads: Sequence[tuple[Ints, Ints]], size: int) -> NDArray[np.float64]:
    """The standard deviation over the resources each node offers; half the difference where they are two."""
    if not loads:
        return np.zeros(size)
    offered = np.array([allocatable > 0 for _, allocatable in loads])
    degrees = np.array([_degree(part, np.maximum(whole, 1)) for part, whole in loads])
    count = offered.sum(axis=0)
    mean = _summed(degrees, offered) / np.maximum(count, 1)
    spread = np.sqrt(_summed((degrees - mean) * (degrees - mean), offered) / np.maximum(count, 1))
    highest = np.where(offered, degrees, 0.0).max(axis=0)
    lowest = np.where(offered, degrees, 1.0).min(axis=0)
    deviation: NDArray[np.float64] = np.where(count == 2, (highest - lowest) / 2, spread)
    return deviation


def _summed(values: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The sum of the counted values, added one after another: the order decides about the last bit."""
    total = np.zeros(values.shape[1])
    for value, counts in zip(values, counted, strict=True):
        total = total + np.where(counts, value, 0.0)
    return total
