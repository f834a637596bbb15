"""Whether the machine's time of day jumps.

Neither leases nor pods are timed by it, so nothing has to be done. But Leases, events and logs bear it, and who
compares them has to know.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
JUMP_SECONDS = 5.0
"""Less than that is what keeps clocks right."""


def since_start() -> float:
    """Seconds since the machine was started, those in which it slept included where the system counts them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class ClockJumps:
    """Says when the time of day went on otherwise than time itself."""

    def __init__(
        self,
        on_jump: Callable[[str], None] = lambda _: None,
        *,
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = since_start,
    ) -> None:
        """``on_jump`` is told in words. ``clock`` goes on while the machine sleeps, as the time of day does."""
        self._on_jump = on_jump
        self._wall = wall
        self._clock = clock
        self._ahead = self._offset()

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Compare both clocks with what they showed last time."""
        before, self._ahead = self._ahead, self._offset()
        jump = self._ahead - before
        if abs(jump) >= JUMP_SECONDS:
            what = f"the time of day on this machine jumped by {jump:+.0f} s"
            logger.warning("%s: neither leases nor pods are timed by it, only what is written bears it", what)
            self._on_jump(what)

    def _offset(self) -> float:
        return self._wall() - self._clock()
