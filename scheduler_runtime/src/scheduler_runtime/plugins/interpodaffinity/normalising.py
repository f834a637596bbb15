"""Points, which may be negative and have no bound, as scores."""

from __future__ import annotations

import numpy as np

from scheduler_runtime.api import MAX_SCORE, Ints, Mask, Scores


def from_lowest_to_highest(points: Scores, feasible: Mask) -> Ints:
    """Upstream's way: the fewest points of a feasible node become 0, the most 100, rounded down between; equal ones 0.

    What it says of other nodes means nothing, but stays in range.
    """
    is_everywhere = np.count_nonzero(feasible) == len(feasible)
    inside = points if is_everywhere else points[feasible]
    low, high = inside.min().item(), inside.max().item()
    if low == high:
        return np.zeros(len(points), np.int64)
    share = points.astype(np.float64)
    share -= low
    if not is_everywhere:
        share *= feasible
    share /= high - low
    share *= MAX_SCORE
    scores: Ints = share.astype(np.int64)
    return scores
