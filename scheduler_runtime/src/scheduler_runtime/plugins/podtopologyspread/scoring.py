"""Which nodes soft constraints prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import MAX_SCORE, Ints, Mask, NodeTable
from scheduler_runtime.plugins.podtopologyspread.constraints import HOSTNAME
from scheduler_runtime.plugins.podtopologyspread.domain_counts import DomainCounts
from scheduler_runtime.plugins.podtopologyspread.eligible_domains import ScoredDomains
from scheduler_runtime.plugins.podtopologyspread.logarithm import log

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class SoftConstraints:
    """The score state of one attempt: the tallies with their weights, and the nodes that are scored."""

    tallies: Sequence[DomainCounts]
    weights: Sequence[float]
    ignored: Mask | None
    """The nodes that lack a label which all must have."""


def soft_state(tallies: Sequence[DomainCounts], nodes: NodeTable) -> SoftConstraints:
    """The state for the feasible ``nodes``: the more domains, the more a pod in one of them counts."""
    ignored = tallies[0].ground.out
    candidates = nodes.feasible if ignored is None else nodes.feasible & ~ignored
    number = int(np.count_nonzero(candidates))
    return SoftConstraints(tallies, [log(_domains(tally, candidates, number) + 2) for tally in tallies], ignored)


def _domains(tally: DomainCounts, candidates: Mask, number: int) -> int:
    if tally.constraint.key == HOSTNAME:
        return number  # Each node is its own domain here, whatever its label says.
    ground = tally.ground
    return ground.domains_among(candidates, number) if isinstance(ground, ScoredDomains) else ground.size


def raw_scores(state: SoftConstraints, size: int) -> Ints:
    """How crowded the domains of each node are, weighted and rounded; the fewer, the better."""
    total: Floats | None = None
    for tally, weight in zip(state.tallies, state.weights, strict=True):
        crowd = _crowd(tally, weight, size)
        total = crowd if total is None else np.add(total, crowd, out=total)
    if total is None:
        return np.zeros(size, np.int64)
    # Half up, as Go rounds what is positive; no sum here is so small that adding one half were inexact.
    total += 0.5
    return total.astype(np.int64)


def _crowd(tally: DomainCounts, weight: float, size: int) -> Floats:
    less_tolerated = float(tally.constraint.max_skew - 1)
    ground = tally.ground
    if tally.constraint.key == HOSTNAME:
        counts = np.zeros(size, np.int64) if tally.census is None else tally.census.counts
        crowd: Floats = counts * weight
        crowd += less_tolerated
    else:
        crowd = (tally.sums * weight + less_tolerated).take(ground.places)
    if ground.lacking is not None:
        crowd[ground.lacking] = 0.0
    return crowd


def normalised(scores: Ints, state: SoftConstraints, feasible: Mask) -> Ints:
    """From 0 to 100, the least crowded node first; 0 for nodes that are ignored."""
    ignored = state.ignored
    candidates = feasible if ignored is None else feasible & ~ignored
    if np.count_nonzero(candidates) == len(scores):
        lowest, highest = int(scores.min()), int(scores.max())
    else:
        lowest, highest = int(np.where(candidates, scores, _HIGHEST).min()), int((scores * candidates).max())
    result = _reversed(scores, lowest, highest)
    if ignored is not None:
        result[ignored] = 0
    return result


_HIGHEST = 2**63 - 1
_MOST_VALUES = 1 << 16


def _reversed(scores: Ints, lowest: int, highest: int) -> Ints:
    if highest == 0:
        return np.full(len(scores), MAX_SCORE, np.int64)
    if highest - lowest > _MOST_VALUES:
        return MAX_SCORE * (highest + lowest - scores) // highest
    # Dividing once per distinct score and not once per node: whole-number division is slow.
    shares = MAX_SCORE * (highest + lowest - np.arange(lowest, highest + 1)) // highest
    return shares.take(scores - lowest, mode="clip")
