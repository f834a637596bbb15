"""Rate limit of requests, as ``clientConnection.qps`` and ``burst`` of the configuration set it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class RateLimit:
    """A token bucket, as client-go's util/flowcontrol. Callers wait in the order in which they came.

    ``qps`` below zero means no limit.
    """

    def __init__(self, qps: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = 1 / qps if qps > 0 else 0.0
        self._burst = max(burst, 1)
        self._clock = clock
        self._next_free = float("-inf")

    def reserve(self) -> float:
        """Take the next token, and return the seconds to wait before using it."""
        if not self._interval:
            return 0.0
        now = self._clock()
        # The bucket is kept as one instant: when its last token will have been there. It lies at most a burst back.
        self._next_free = max(self._next_free, now - self._burst * self._interval) + self._interval
        return max(0.0, self._next_free - now)

    async def wait(self) -> None:
        """Take the next token, and return when it may be used."""
        delay = self.reserve()
        if delay:
            await asyncio.sleep(delay)
