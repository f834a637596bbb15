"""When nothing goes on for a second or more, and who held it up: a hook that blocks, most often.

The event loop looks at the clock, and so sees how long it stood still; a thread beside it sees meanwhile who is at
work. What takes a minute or does not end at all is the matter of ``pulse`` and ``ending``.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

from scheduler_runtime.framework import RunningHook, find_running_hook

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
"""How often either of them looks."""
SUSPICIOUS_SECONDS = 0.5
STANDSTILL_SECONDS = 1.0
"""So long nothing goes on, and it is worth a line."""
SAID_EVERY_SECONDS = 60.0
_ADVICE = {
    "pre_bind": "await what it waits for, or hand it to asyncio.to_thread",
    "bind": "await what it waits for, or hand it to asyncio.to_thread",
    "__init__": "give what takes long to a thread",
}


class LoopStalls:
    """Names who holds everything up, each plugin once a minute at most."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turned_at = self._looked_at = clock()
        self._seen = Counter[RunningHook]()
        self._said_at: dict[str, float] = {}
        self._over = threading.Event()

    async def run(self) -> None:
        """Watch the running loop until cancelled."""
        self._turned_at = self._looked_at = self._clock()
        threading.Thread(target=self._watch, args=(threading.get_ident(),), name="standstills", daemon=True).start()
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                self.turn()
        finally:
            self._over.set()

    def _watch(self, thread: int) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self.look(thread)

    def look(self, thread: int) -> None:
        """See who is at work if the loop stands still, in ``thread``.

        Not when nobody came to look in time either: the process was stopped then, and whoever is at work did nothing.
        """
        now = self._clock()
        is_late, self._looked_at = now - self._looked_at > LOOK_SECONDS + SUSPICIOUS_SECONDS, now
        if now - self._turned_at > LOOK_SECONDS + SUSPICIOUS_SECONDS and not is_late:
            self._seen[find_running_hook(thread)] += 1

    def turn(self) -> None:
        """The loop goes on: say what held it up, if anything did for long."""
        now = self._clock()
        seconds, self._turned_at = now - self._turned_at - LOOK_SECONDS, now
        seen, self._seen = self._seen, Counter()
        if seconds >= STANDSTILL_SECONDS:
            by = max(seen, key=lambda each: (bool(each.plugin), seen[each]), default=RunningHook())
            self._say(by, seconds, now)

    def _say(self, by: RunningHook, seconds: float, now: float) -> None:
        level = logging.WARNING if by.plugin else logging.INFO
        if now - self._said_at.get(by.plugin, float("-inf")) < SAID_EVERY_SECONDS:
            level = logging.DEBUG
        else:
            self._said_at[by.plugin] = now
        if by.plugin:
            advice = _ADVICE.get(by.hook, "all that is done waits for it")
            logger.log(level, "%s held everything up for %.1f s: %s", by, seconds, advice)
        else:
            about = f" while {by}" if by.pod else ""
            logger.log(level, "nothing went on for %.1f s%s: no plugin was seen at work", seconds, about)
