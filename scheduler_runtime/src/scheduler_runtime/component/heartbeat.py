"""Heartbeat of an event loop, for health checks in other threads, and the measure of how late the loop is."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

BEAT_SECONDS = 0.25
STUCK_SECONDS = 60.0
"""How long the event loop may take from one beat to the next. Reading a large cluster for the first time takes
seconds."""


class Heartbeat:
    """Beats while the event loop runs.

    The elector and the endpoints have threads of their own, so that a busy process still renews its lease and answers
    probes. One whose loop is stuck, for example in a plugin that never returns, must do neither: it gives up its lease,
    so that another one works, and fails its liveness probe, so that it is restarted. It does nothing meanwhile that
    only a leader may do, as nothing is sent once the lease is not surely ours.
    """

    def __init__(
        self,
        suspect: str,
        observe_lag: Callable[[float], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``suspect`` says what may hold the loop up. ``observe_lag`` receives how many seconds late each beat was."""
        self._suspect = suspect
        self._observe_lag = observe_lag
        self._clock = clock
        self._last_beat: float | None = None
        self.thread: int | None = None
        """The thread of the event loop, once it beats."""

    async def run(self) -> None:
        """Beat until cancelled."""
        self.thread = threading.get_ident()
        self._last_beat = self._clock()
        try:
            while True:
                await asyncio.sleep(BEAT_SECONDS)
                now = self._clock()
                self._observe_lag(max(0.0, now - self._last_beat - BEAT_SECONDS))
                self._last_beat = now
        finally:
            self._last_beat = None

    def check(self) -> str | None:
        """Return the problem of a loop that has been stuck for long; None otherwise, and before and after ``run``.

        Without the name of a pod, which not everybody who may see the health of a process may see.
        """
        seconds = self.stuck_seconds()
        return f"nothing has gone on for {seconds:.0f} s: {self._suspect} does not end" if seconds else None

    def stuck_seconds(self) -> float:
        """Return for how long the loop has been stuck; 0 if that is not long."""
        last_beat = self._last_beat
        seconds = 0.0 if last_beat is None else self._clock() - last_beat
        return seconds if seconds > STUCK_SECONDS else 0.0
