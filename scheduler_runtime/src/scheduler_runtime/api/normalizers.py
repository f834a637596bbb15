"""Functions that bring scores to the range from 0 to 100, as ``normalize_score`` of a plugin or within one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from scheduler_runtime.api.answers import MAX_SCORE, Scores
from scheduler_runtime.api.contract import Plugin
from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table import Ints, Mask, NodeTable

_Function = TypeVar("_Function", bound=Callable[..., Any])


def keeps_equal(normalize_score: _Function) -> _Function:
    """Mark a ``normalize_score`` that gives nodes of equal scores equal scores, whatever the others have.

    Where all nodes have the same score it need not run then: they stay equal, and the choice does not hang on them.
    """
    normalize_score.keeps_equal = True  # type: ignore[attr-defined]
    return normalize_score


@keeps_equal
def highest_is_best(self: Plugin, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:  # noqa: ARG001 - as the hook
    """A ``normalize_score``: the highest score becomes 100, the lowest 0; all equal, all 100."""
    return _spread(scores, nodes.feasible, best=np.max)


@keeps_equal
def lowest_is_best(self: Plugin, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:  # noqa: ARG001 - as the hook
    """A ``normalize_score``: the lowest score becomes 100, the highest 0; all equal, all 100."""
    return _spread(scores, nodes.feasible, best=np.min)


def _spread(scores: Scores, feasible: Mask, best: Callable[[Scores], Any]) -> Ints:
    inside = scores[feasible]
    low, high = inside.min(), inside.max()
    normalised = np.full(len(scores), MAX_SCORE, np.int64)
    if high > low:
        worst = low if best is np.max else high
        # Halved: the difference of two large floats can be more than a float holds.
        share = np.abs(inside / 2 - worst / 2) / (high / 2 - low / 2)
        normalised[feasible] = (share * MAX_SCORE).astype(np.int64)
    return normalised


def share_of_the_largest(scores: Scores, feasible: Mask, *, reverse: bool = False) -> Ints:
    """Return each score in hundredths of the largest feasible one, rounded down: upstream's DefaultNormalizeScore.

    With ``reverse`` it is counted from the other end: the largest becomes 0.
    """
    largest = int(scores.max(initial=0, where=feasible)) if np.count_nonzero(scores) else 0
    if largest <= 0:
        return np.full(len(scores), MAX_SCORE if reverse else 0, np.int64)
    shares: Ints = MAX_SCORE * scores // largest
    return MAX_SCORE - shares if reverse else shares
