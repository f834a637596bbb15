"""Pods that were placed and wait for a plugin's permission."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from scheduler_runtime.api import Pod

MAX_WAIT_SECONDS = 15 * 60.0


class PermitWait:
    """One pod that plugins hold. It goes on when none holds it, and back when one rejects it or waits too long."""

    def __init__(self, pod: Pod, waits: Mapping[str, float]) -> None:
        self.pod = pod
        self._waits = dict(waits)
        self._rejected: tuple[str, str] | None = None
        self.preempted_by = ""
        """The plugin that needs its room, once one has called it back."""
        self._decided = asyncio.Event()
        self._since = 0.0

    @property
    def held_by(self) -> frozenset[str]:
        """The plugins that have not allowed it yet."""
        return frozenset(self._waits)

    def left(self, now: float) -> dict[str, float]:
        """For how many seconds at most each of them may hold it yet. May be asked from another thread."""
        return {plugin: max(seconds - (now - self._since), 0.0) for plugin, seconds in list(self._waits.items())}

    def allow(self, plugin: str) -> None:
        """Let ``plugin`` hold it no longer."""
        self._waits.pop(plugin, None)
        if not self._waits:
            self._decided.set()

    def reject(self, plugin: str, reason: str) -> None:
        """Send it back. The first decision stands."""
        if not self._decided.is_set():
            self._rejected = (plugin, reason)
            self._decided.set()

    def preempt(self, plugin: str) -> bool:
        """Send it back because ``plugin`` needs its room; return whether nothing had been decided yet."""
        if self._decided.is_set():
            return False
        self.preempted_by = plugin
        self._decided.set()
        return True

    async def wait(self) -> tuple[str, str] | None:
        """Return when the pod may go on: None, or the plugin that rejected it and why."""
        loop = asyncio.get_running_loop()
        self._since = time.monotonic()
        timers = [loop.call_later(seconds, self._expire, plugin, seconds) for plugin, seconds in self._waits.items()]
        try:
            await self._decided.wait()
        finally:
            for timer in timers:
                timer.cancel()
        return self._rejected

    def _expire(self, plugin: str, seconds: float) -> None:
        if plugin in self._waits:
            self.reject(plugin, f"rejected due to timeout after waiting {go_duration(seconds)} at plugin {plugin}")


def go_duration(seconds: float) -> str:
    """``seconds`` as Go prints a duration, to the millisecond: ``1m30s``, ``250ms``."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:g}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{text}{round(rest, 3):g}s"
