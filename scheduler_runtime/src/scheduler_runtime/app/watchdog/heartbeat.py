"""Whether the event loop still turns, for those who ask from other threads.

The elector and the endpoints have threads of their own, so that a busy scheduler still renews and still answers. A
scheduler whose loop is stuck, for example in a plugin that never returns, must do neither: it gives up its lease, so
that another schedules, and says that it is not alive, so that it is started anew. It binds nothing meanwhile: safe
time ends with the lease.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from scheduler_runtime.framework import find_running_hook

BEAT_SECONDS = 1.0
LONGEST_SECONDS = 60.0
"""How long one turn may take. Reading a large cluster for the first time takes seconds."""


class Heartbeat:
    """Beats while the loop turns."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beaten_at: float | None = None
        self._thread: int | None = None

    async def run(self) -> None:
        """Beat until cancelled."""
        self._thread = threading.get_ident()
        try:
            while True:
                self._beaten_at = self._clock()
                await asyncio.sleep(BEAT_SECONDS)
        finally:
            self._beaten_at = None

    def check(self) -> str | None:
        """Say what is wrong when the loop has been stuck for long. Before it began nothing is."""
        return self._complaint(lambda: "a decision or a plugin")

    def check_by_name(self) -> str | None:
        """The same with who does not end, for the log: not everybody who asks for health may read a pod's name."""
        return self._complaint(lambda: str(find_running_hook(self._thread)))

    def _complaint(self, who: Callable[[], str]) -> str | None:
        beaten_at = self._beaten_at
        seconds = 0.0 if beaten_at is None else self._clock() - beaten_at
        if seconds > LONGEST_SECONDS:
            return f"nothing has gone on for {seconds:.0f} s: {who()} does not end"
        return None
