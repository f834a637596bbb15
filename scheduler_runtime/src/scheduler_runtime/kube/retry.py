"""Exponential backoff, with jitter or without, and a coroutine that ends early when the process stops."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, TypeVar

FIRST_SECONDS = 0.8
LONGEST_SECONDS = 30.0
OBEYED_IN_A_ROW = 10
"""How often in a row the delay that a server asks for (Retry-After) is obeyed before ours, which grows, counts."""
_jitter = random.SystemRandom()
T = TypeVar("T")


def doubling_delay(first: float, longest: float, failures: int) -> float:
    """Return the delay after so many ``failures`` before this one: ``first``, doubled each time, up to ``longest``."""
    return min(first * 2.0 ** min(failures, 32), longest)


class Backoff:
    """Delays between attempts: 0.8 s, doubled up to 30 s, each lengthened by a random part of itself.

    Without the random part, processes that lost the same server would all come back at the same moments.
    """

    def __init__(self, first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._first = first
        self._longest = longest
        self._failures = 0
        self._obeyed = 0

    def next_delay(self, requested: float = 0.0) -> float:
        """Return the seconds to wait now: those that the server ``requested``, otherwise more than the last time."""
        if requested and self._obeyed < OBEYED_IN_A_ROW:
            self._obeyed += 1
            return requested
        seconds = doubling_delay(self._first, self._longest, self._failures) * (1 + _jitter.random())
        self._failures += 1
        return max(requested, min(seconds, self._longest))

    def reset(self) -> None:
        """Start again with the first delay: an attempt was successful."""
        self._failures = 0
        self._obeyed = 0


async def run_until(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of ``work``, or None when ``stop`` is set before; then ``work`` is cancelled wherever it waits.

    Raises what ``work`` raises.
    """
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)
