"""How often the API server may be asked: ``clientConnection.qps`` and ``burst``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class RateLimit:
    """A token bucket. Whoever comes too early waits, in the order of coming.

    ``qps`` below zero means no limit.
    """

    def __init__(self, qps: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = 1 / qps if qps > 0 else 0.0
        self._burst = max(burst, 1)
        self._clock = clock
        self._next_free = float("-inf")

    def reserve(self) -> float:
        """Take the next token and return how many seconds to wait for it."""
        if not self._interval:
            return 0.0
        now = self._clock()
        self._next_free = max(self._next_free, now - self._burst * self._interval) + self._interval
        return max(0.0, self._next_free - now)

    async def wait(self) -> None:
        delay = self.reserve()
        if delay:
            await asyncio.sleep(delay)
