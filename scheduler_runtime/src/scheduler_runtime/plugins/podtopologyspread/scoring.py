"""Scoring by soft spread constraints. Upstream: scoring.go in podtopologyspread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import MAX_SCORE, Ints, Mask, NodeTable
from scheduler_runtime.plugins.podtopologyspread.constraints import HOSTNAME
from scheduler_runtime.plugins.podtopologyspread.domains import DomainCounts, ScoredDomains

Floats = NDArray[np.floating[Any]]
_MAX_INT64 = 2**63 - 1
_MAX_DISTINCT = 1 << 16


@dataclass(frozen=True, slots=True)
class SoftConstraints:
    """The score state of one attempt: counts by domain, the weight of each constraint, and the nodes left out."""

    counts: Sequence[DomainCounts]
    weights: Sequence[float]
    ignored: Mask | None
    """The nodes that lack a label which all must have."""


def soft_state(counts: Sequence[DomainCounts], nodes: NodeTable) -> SoftConstraints | None:
    """The state for the feasible ``nodes``: the more domains there are, the more a pod in one of them weighs.

    Upstream's topologyNormalizingWeight. None when no node is scored: there are no constraints, or each feasible node
    lacks a label, and all get 0 points.
    """
    if not counts:
        return None
    eligible = counts[0].domains.nodes
    eligible.refresh(nodes)
    ignored = eligible.without_required
    candidates = nodes.feasible if ignored is None else nodes.feasible & ~ignored
    number = int(np.count_nonzero(candidates))
    if not number:
        return None
    weights = []
    for one in counts:
        one.refresh(nodes)
        domains, size = one.domains, one.domains.size
        if one.constraint.key == HOSTNAME:
            size = number  # Each node is its own domain here, whatever its label says.
        elif isinstance(domains, ScoredDomains):
            size = domains.count_among(candidates, number)
        weights.append(log(size + 2))
    return SoftConstraints(counts, weights, ignored)


def raw_scores(state: SoftConstraints, size: int) -> Ints:
    """The crowd in the domains of each node, weighted and rounded; the fewer, the better."""
    total: Floats | None = None
    for counts, weight in zip(state.counts, state.weights, strict=True):
        domains = counts.domains
        tolerated_skew = float(counts.constraint.max_skew - 1)
        crowd: Floats  # Upstream's scoreForCount.
        if counts.constraint.key == HOSTNAME:
            by_node = np.zeros(size, np.int64) if counts.by_node is None else counts.by_node.counts
            crowd = by_node * weight
            crowd += tolerated_skew
        elif domains.few_rows is not None:
            total = np.zeros(size) if total is None else total
            for row in domains.few_rows:
                total[row] += counts.by_domain.item(domains.ids.item(row)) * weight + tolerated_skew
            continue
        else:
            crowd = (counts.by_domain * weight + tolerated_skew).take(domains.ids)
        if domains.without_label is not None:
            crowd[domains.without_label] = 0.0
        total = crowd if total is None else np.add(total, crowd, out=total)
    if total is None:
        return np.zeros(size, np.int64)
    # Half up, as Go rounds what is positive; no sum here is so small that adding one half were inexact.
    total += 0.5
    return total.astype(np.int64)


def normalize(scores: Ints, state: SoftConstraints, feasible: Mask) -> Ints:
    """From 0 to 100, the least crowded node first; 0 for nodes that are ignored."""
    ignored = state.ignored
    candidates = feasible if ignored is None else feasible & ~ignored
    if np.count_nonzero(candidates) == len(scores):
        lowest, highest = int(scores.min()), int(scores.max())
    else:
        lowest, highest = int(np.where(candidates, scores, _MAX_INT64).min()), int((scores * candidates).max())
    if highest == 0:
        result = np.full(len(scores), MAX_SCORE, np.int64)
    elif highest - lowest > _MAX_DISTINCT:
        result = MAX_SCORE * (highest + lowest - scores) // highest
    else:
        # Dividing once per distinct score and not once per node: whole-number division is slow.
        shares = MAX_SCORE * (highest + lowest - np.arange(lowest, highest + 1)) // highest
        result = shares.take(scores - lowest, mode="clip")
    if ignored is not None:
        result[ignored] = 0
    return result


# The natural logarithm as Go computes it.
#
# Go's math.Log and the C library's differ in the last bit for about one whole number in a hundred, 3 among them. Where
# a sum lies exactly between two scores that bit decides, so it is computed Go's way: by the approximation of the Sun
# mathematical library of 1993, with its coefficients, operation by operation.

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ODD = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
_EVEN = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)


@cache
def log(number: int) -> float:
    """The natural logarithm of a whole number from 1 on."""
    fraction, exponent = math.frexp(number)
    if fraction < math.sqrt(2) / 2:
        fraction, exponent = fraction * 2, exponent - 1
    f = fraction - 1
    s = f / (2 + f)
    square = s * s
    fourth = square * square
    remainder = square * _polynomial(_ODD, fourth) + fourth * _polynomial(_EVEN, fourth)
    half = 0.5 * f * f
    return exponent * _LN2_HIGH - ((half - (s * (half + remainder) + exponent * _LN2_LOW)) - f)


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    value = 0.0
    for coefficient in reversed(coefficients):
        value = coefficient + x * value
    return value
