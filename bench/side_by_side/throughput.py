"""Pods per second the way scheduler_perf counts them: the average of samples taken once a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

Sample = tuple[float, int]
"""When, and how many pods had a node then."""

INTERVAL_SECONDS = 1.0


def rates(samples: Sequence[Sample]) -> list[float]:
    """Pods per second between the samples.

    Counting begins after the first sample that shows a pod. Intervals without a pod are not zeros: the next rate is
    over all of them together, and stands once for each.
    """
    found: list[float] = []
    last: Sample | None = None
    intervals = 0
    for when, count in samples:
        if last is None:
            last = (when, count) if count else None
            continue
        intervals += 1
        if count > last[1]:
            found += [(count - last[1]) / (when - last[0])] * intervals
            last, intervals = (when, count), 0
    return found


async def sample(count: Callable[[], int], into: list[Sample]) -> None:
    """Take samples until cancelled."""
    due = time.monotonic()
    while True:
        due += INTERVAL_SECONDS
        await asyncio.sleep(due - time.monotonic())
        into.append((time.monotonic(), count()))
