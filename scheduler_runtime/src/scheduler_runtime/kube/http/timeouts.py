"""Time limits for what others answer, which do not run out because we did not look.

While the event loop stands still, in a plugin that blocks, answers wait to be read; where it is uvloop, timers ring
before they are. A timer that rings late tells that, and lets the loop look first.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

LATE_SECONDS = 0.25
"""A timer rings so late when the loop stood still, and not because much is under way."""
READ_SECONDS = 0.05
"""So long what came meanwhile may take to be read."""


class StallTolerantTimer:
    """Calls ``end`` after so many seconds, unless it is cancelled before.

    When the loop stood still at that time, as many seconds as it did follow, ``longest`` at most, and so up to
    ``times`` times, as long as ``waits`` holds.
    """

    def __init__(
        self,
        seconds: float,
        end: Callable[[], object],
        longest: float = READ_SECONDS,
        times: int = 1,
        waits: Callable[[], bool] = lambda: True,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = end
        self._longest = longest
        self._times = times
        self._waits = waits
        self._set(seconds)

    def cancel(self) -> None:
        """Never call it."""
        self._timer.cancel()

    def _set(self, seconds: float) -> None:
        self._due = time.monotonic() + seconds  # the loop's own clock may be as old as its turn
        self._timer = self._loop.call_later(seconds, self._ring)

    def _ring(self) -> None:
        late = time.monotonic() - self._due
        if late > LATE_SECONDS and self._times and self._waits():
            self._times -= 1
            self._set(min(late, self._longest))
        else:
            self._end()


@contextlib.asynccontextmanager
async def limit(
    seconds: float, longest: float = READ_SECONDS, times: int = 1, waits: Callable[[], bool] = lambda: True
) -> AsyncIterator[None]:
    """Raise TimeoutError if what is within takes longer, as ``asyncio.timeout`` does."""
    async with asyncio.timeout(None) as timeout:
        ends = StallTolerantTimer(seconds, lambda: timeout.reschedule(0), longest, times, waits)
        try:
            yield
        finally:
            ends.cancel()
