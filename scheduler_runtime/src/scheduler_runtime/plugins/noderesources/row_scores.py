"""Scores of a single node by how much of each resource is taken, in upstream's 64-bit numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from scheduler_runtime.api import MAX_SCORE
from scheduler_runtime.state.table import wrapped

Taken = tuple[int, int, int]
"""Weight, what the node offers (more than nothing), and what would be taken of it with the pod."""
RowStrategy = Callable[[Iterable[Taken]], int]


def hundredths(part: int, whole: int) -> int:
    """How many hundredths of ``whole`` are in ``part``, cut off towards zero."""
    return quotient(wrapped(part * MAX_SCORE), whole)


def quotient(one: int, other: int) -> int:
    """As Go divides: towards zero."""
    return one // other if one >= 0 else -(-one // other)


def least_allocated(taken: Iterable[Taken]) -> int:
    """The emptier, the better."""
    total = weights = 0
    for weight, whole, used in taken:
        if used <= whole:
            total += weight * hundredths(whole - used, whole)
        weights += weight
    return quotient(total, weights) if weights else 0


def most_allocated(taken: Iterable[Taken]) -> int:
    """The fuller, the better."""
    total = weights = 0
    for weight, whole, used in taken:
        total += weight * hundredths(min(used, whole), whole)
        weights += weight
    return quotient(total, weights) if weights else 0


def by_ratio(line: Sequence[int]) -> RowStrategy:
    """By a line from utilization, in percent, to score. Resources that score nothing do not count."""

    def score(taken: Iterable[Taken]) -> int:
        total = weights = 0
        for weight, whole, used in taken:
            points = line[MAX_SCORE if used > whole else max(hundredths(used, whole), 0)]
            if points > 0:
                total += weight * points
                weights += weight
        return math.floor(total / weights + 0.5) if weights else 0

    return score


def balance(parts: Sequence[tuple[int, int]]) -> int:
    """100 when all ``parts``, used of offered, are to the same degree, less by their standard deviation."""
    degrees = []
    for used, whole in parts:
        degree = float(used) / float(whole)
        degrees.append(degree if 0.0 <= degree <= 1.0 else 1.0 if degree > 1.0 else 0.0)
    deviation = 0.0
    if len(degrees) == 2:
        deviation = abs((degrees[0] - degrees[1]) / 2)
    elif len(degrees) > 2:
        mean = _sum(degrees) / len(degrees)
        deviation = math.sqrt(_sum((degree - mean) * (degree - mean) for degree in degrees) / len(degrees))
    return int((1 - deviation) * MAX_SCORE)


def _sum(numbers: Iterable[float]) -> float:
    """One after another: Python's own sum is more exact than upstream's, and a last bit may decide."""
    total = 0.0
    for number in numbers:
        total += number
    return total
