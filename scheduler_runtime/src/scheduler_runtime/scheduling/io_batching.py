"""How often the event loop turns while much is under way.

A turn costs about as much as a pod: waking up, a system call and a record of TLS for each connection, and caches that
others have filled meanwhile. So while dozens of bindings are under way, answers and changes gather for a moment and are
taken in together. A pod that comes to an idle scheduler waits for nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sized

CROWD = 16
"""So many bindings, events or conditions under way are many."""
GATHERING_SECONDS = 0.01
"""What comes waits so long at most: less than an API server that is as busy as that takes to answer."""
STEPS = 4
"""So many turns it takes from an answer to what follows from it: heard, understood, asked for, written."""


class IoBatching:
    """Lets what comes gather while many are under way."""

    def __init__(self, crowded: asyncio.Event, messages: Sized, sleep: Callable[[float], None] = time.sleep) -> None:
        """``crowded`` is set while many bindings are under way; ``messages`` are what they leave to be told."""
        self._crowded = crowded
        self._messages = messages
        self._sleep = sleep

    async def run(self) -> None:
        """Slow the event loop down, now and then, until cancelled."""
        while True:
            await self._crowded.wait()
            began = time.monotonic()
            while self._crowded.is_set() or len(self._messages) >= CROWD:
                for _ in range(STEPS):
                    await asyncio.sleep(0)
                self._gather(began)
                began = time.monotonic()

    def _gather(self, began: float) -> None:
        """Let the whole loop sleep, on purpose, for what is left of the time that ``began`` then."""
        rest = began + GATHERING_SECONDS - time.monotonic()
        if rest > 0:
            self._sleep(rest)
