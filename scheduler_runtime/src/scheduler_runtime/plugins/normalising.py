"""How upstream brings counts and weights to 0..100."""

from __future__ import annotations

import numpy as np

from ..api import MAX_SCORE, Ints, Mask, Scores


def share_of_the_largest(scores: Scores, feasible: Mask, *, reverse: bool = False) -> Ints:
    """Each score in hundredths of the largest feasible one, rounded down; counted from the other end on ``reverse``."""
    largest = int(scores.max(initial=0, where=feasible)) if np.count_nonzero(scores) else 0
    if largest <= 0:
        return np.full(len(scores), MAX_SCORE if reverse else 0, np.int64)
    shares: Ints = MAX_SCORE * scores // largest
    return MAX_SCORE - shares if reverse else shares
