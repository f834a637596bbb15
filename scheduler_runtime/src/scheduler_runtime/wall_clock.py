"""Whether the machine's time of day jumps.

Nothing here is timed by it, so nothing has to be done. But Leases, events and logs bear it, and who compares them has
to know.
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


class WallClock:
    """Says when the time of day went on otherwise than time itself."""

    def __init__(
        self,
        on_jump: Callable[[str], None] = lambda _: None,
        *,
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``on_jump`` is told in words."""
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
            logger.warning("%s: leases and pods are timed by another clock, only what is written bears it", what)
            self._on_jump(what)

    def _offset(self) -> float:
        return self._wall() - self._clock()
