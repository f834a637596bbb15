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
SHORTEST_TURN_SECONDS = 0.01
"""What is answered meanwhile waits so long at most: less than the API server takes when it is busy."""


STEPS = 4
"""So many turns it takes from an answer to what follows from it: heard, understood, asked for, written."""


class Turns:
    """Lets turns take a moment in a crowd."""

    def __init__(self, crowded: asyncio.Event, messages: Sized, sleep: Callable[[float], None] = time.sleep) -> None:
        """``crowded`` is set while many bindings are under way; ``messages`` are what they leave to be told."""
        self._crowded = crowded
        self._messages = messages
        self._sleep = sleep

    async def run(self) -> None:
        """Slow the event loop down, now and then, until cancelled."""
        while True:
            await self._crowded.wait()
            await self._pass_slowly()

    async def _pass_slowly(self) -> None:
        began = time.monotonic()
        while self._crowded.is_set() or len(self._messages) >= CROWD:
            for _ in range(STEPS):
                await asyncio.sleep(0)
            rest = began + SHORTEST_TURN_SECONDS - time.monotonic()
            if rest > 0:
                self._sleep(rest)  # on purpose for all of the loop; other threads go on
            began = time.monotonic()
