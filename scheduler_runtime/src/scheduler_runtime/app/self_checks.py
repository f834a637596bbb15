"""Checks that time goes on as it should: a stuck event loop, one that pauses, and a machine whose clock jumps."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

from scheduler_runtime.component.heartbeat import Heartbeat
from scheduler_runtime.framework import RunningHook, find_running_hook

logger = logging.getLogger(__name__)

SAMPLE_SECONDS = 0.25
"""How often the loop, and the thread that watches it, look at the clock."""
SUSPICIOUS_SECONDS = 0.5
STALL_SECONDS = 1.0
"""A pause of this length is worth a line in the log."""
REPEAT_SECONDS = 60.0
_ADVICE = {
    "pre_bind": "use await, or asyncio.to_thread for what blocks",
    "bind": "use await, or asyncio.to_thread for what blocks",
    "__init__": "run long work in a thread",
}

CLOCK_SECONDS = 5.0
JUMP_SECONDS = 5.0
"""Smaller differences come from what keeps clocks right, such as NTP."""


def describe_stuck_hook(heartbeat: Heartbeat) -> str | None:
    """Return what a loop that has been stuck for long is at, for the log: the plugin, the hook and the pod."""
    if not (seconds := heartbeat.stuck_seconds()):
        return None
    return f"nothing has gone on for {seconds:.0f} s: {find_running_hook(heartbeat.thread)} does not end"


class LoopStalls:
    """Logs when the event loop paused for a second or more, and which hook held it up; each plugin once a minute.

    The loop measures how long it paused; only a thread beside it can see meanwhile which hook is running.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._progress_at = self._sampled_at = clock()
        self._samples = Counter[RunningHook]()
        self._logged_at: dict[str, float] = {}
        self._stopped = threading.Event()

    async def run(self) -> None:
        """Watch the running loop until cancelled."""
        self._progress_at = self._sampled_at = self._clock()
        thread = threading.get_ident()

        def sample() -> None:
            while not self._stopped.wait(SAMPLE_SECONDS):
                self.sample(thread)

        threading.Thread(target=sample, name="loop-stalls", daemon=True).start()
        try:
            while True:
                await asyncio.sleep(SAMPLE_SECONDS)
                self.on_progress()
        finally:
            self._stopped.set()

    def sample(self, thread: int) -> None:
        """Record the hook that runs in the loop's ``thread``, if the loop is late.

        If this call is late itself, the whole process was stopped, and the hook that happens to run is not to blame.
        """
        now = self._clock()
        is_late, self._sampled_at = now - self._sampled_at > SAMPLE_SECONDS + SUSPICIOUS_SECONDS, now
        if now - self._progress_at > SAMPLE_SECONDS + SUSPICIOUS_SECONDS and not is_late:
            self._samples[find_running_hook(thread)] += 1

    def on_progress(self) -> None:
        """Note that the loop goes on; log the hook that was sampled most often if it paused for long."""
        now = self._clock()
        seconds, self._progress_at = now - self._progress_at - SAMPLE_SECONDS, now
        samples, self._samples = self._samples, Counter()
        if seconds >= STALL_SECONDS:
            hook = max(samples, key=lambda hook: (bool(hook.plugin), samples[hook]), default=RunningHook())
            self._log(hook, seconds, now)

    def _log(self, hook: RunningHook, seconds: float, now: float) -> None:
        level = logging.WARNING if hook.plugin else logging.INFO
        if now - self._logged_at.get(hook.plugin, float("-inf")) < REPEAT_SECONDS:
            level = logging.DEBUG
        else:
            self._logged_at[hook.plugin] = now
        if hook.plugin:
            advice = _ADVICE.get(hook.hook, "everything else waits for it")
            logger.log(level, "%s blocked everything for %.1f s: %s", hook, seconds, advice)
        else:
            about = f" while {hook}" if hook.pod else ""
            logger.log(level, "the event loop stood still for %.1f s%s: no plugin was running", seconds, about)


def seconds_since_boot() -> float:
    """Return the seconds since the machine started, including those in which it slept where the system counts them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class ClockJumps:
    """Reports when the machine's time of day jumps.

    Neither leases nor pods are timed by it. But Leases, events and logs carry it, which misleads everybody who compares
    them.
    """

    def __init__(
        self,
        on_jump: Callable[[str], None] = lambda _: None,
        *,
        wall_clock: Callable[[], float] = time.time,
        clock: Callable[[], float] = seconds_since_boot,
    ) -> None:
        """``on_jump`` receives a sentence. ``clock`` goes on while the machine sleeps, as the time of day does."""
        self._on_jump = on_jump
        self._wall_clock = wall_clock
        self._clock = clock
        self._offset = wall_clock() - clock()

    async def run(self) -> None:
        """Compare the clocks until cancelled."""
        while True:
            await asyncio.sleep(CLOCK_SECONDS)
            self.compare()

    def compare(self) -> None:
        """Compare the distance of both clocks with that of the last time."""
        before, self._offset = self._offset, self._wall_clock() - self._clock()
        jump = self._offset - before
        if abs(jump) >= JUMP_SECONDS:
            what = f"the time of day on this machine jumped by {jump:+.0f} s"
            logger.warning("%s: neither leases nor pods are timed by it, only what is written bears it", what)
            self._on_jump(what)
