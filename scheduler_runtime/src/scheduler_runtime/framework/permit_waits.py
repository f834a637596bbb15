"""Waits for permits: pods that have a node, and that plugins hold before they are bound."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from scheduler_runtime.api import Pod

MAX_WAIT_SECONDS = 15 * 60.0
"""Upstream's maxTimeout (runtime/framework.go)."""


class PermitWait:
    """One pod that plugins hold: upstream's waitingPod.

    It goes on when no plugin holds it any more, and back when one rejects it or its time runs out.
    """

    def __init__(self, pod: Pod, waits: Mapping[str, float]) -> None:
        """``waits`` are the plugins that hold the pod, with the seconds each may hold it."""
        self.pod = pod
        self._waits = dict(waits)
        self._rejection: tuple[str, str] | None = None
        self.preempted_by = ""
        """The plugin that needs the pod's room, once one has called it back."""
        self._is_decided = asyncio.Event()
        self._since = 0.0

    @property
    def is_decided(self) -> bool:
        """True once it goes on or back."""
        return self._is_decided.is_set()

    @property
    def held_by(self) -> frozenset[str]:
        """The plugins that have not allowed it yet."""
        return frozenset(self._waits)

    def remaining(self, now: float) -> dict[str, float]:
        """Return for how many seconds at most each of these plugins may still hold it. Another thread may ask."""
        # list() is one step of the interpreter: the event loop cannot change the dict meanwhile.
        return {plugin: max(seconds - (now - self._since), 0.0) for plugin, seconds in list(self._waits.items())}

    def allow(self, plugin: str) -> None:
        """Let ``plugin`` hold it no longer."""
        self._waits.pop(plugin, None)
        if not self._waits:
            self._is_decided.set()

    def reject(self, plugin: str, reason: str) -> None:
        """Send it back. The first decision stands."""
        if not self._is_decided.is_set():
            self._rejection = (plugin, reason)
            self._is_decided.set()

    def preempt(self, plugin: str) -> None:
        """Send it back because ``plugin`` needs its room. The first decision stands."""
        if not self._is_decided.is_set():
            self.preempted_by = plugin
            self._is_decided.set()

    async def wait(self) -> tuple[str, str] | None:
        """Wait until the pod may go on or goes back; return the plugin that rejected it and the reason, or None."""
        loop = asyncio.get_running_loop()
        self._since = time.monotonic()
        # The clock starts here, an instant later than upstream's: a decision need not have an event loop.
        timers = [loop.call_later(seconds, self._expire, plugin, seconds) for plugin, seconds in self._waits.items()]
        try:
            await self._is_decided.wait()
        finally:
            for timer in timers:
                timer.cancel()
        return self._rejection

    def _expire(self, plugin: str, seconds: float) -> None:
        if plugin in self._waits:  # It may have allowed the pod while others still hold it.
            self.reject(plugin, f"rejected due to timeout after waiting {go_duration(seconds)} at plugin {plugin}")


def go_duration(seconds: float) -> str:
    """Return ``seconds`` as Go prints a duration, to the millisecond: ``1m30s``, ``250ms``."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:g}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{text}{round(rest, 3):g}s"
