"""Batch I/O under load: sleep up to 10 ms so that responses and watch lines are handled together.

A turn of the event loop costs about as much as a pod: waking up, a system call and a TLS record for each connection,
and CPU caches that others have filled meanwhile. So while dozens of bindings are under way, responses and changes
gather for a moment and are handled together (ADR 11). A pod that comes to an idle scheduler waits for nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sized

CROWD = 16
"""From so many bindings, events or conditions under way on, responses are worth handling together."""
GATHERING_SECONDS = 0.01
"""How long a response waits at most: less than an API server that is as busy as that takes to answer."""
STEPS = 4
"""How many turns it takes from a response to the next request: read, decode, decide, write."""


class IoBatching:
    """Lets I/O gather while many bindings are under way."""

    def __init__(self, crowded: asyncio.Event, messages: Sized, sleep: Callable[[float], None] = time.sleep) -> None:
        """``crowded`` is set while many bindings are under way; ``messages`` are the events that they leave to send."""
        self._crowded = crowded
        self._messages = messages
        self._sleep = sleep

    async def run(self) -> None:
        """Slow the event loop down, now and then, until cancelled.

        The sleep blocks the whole loop, on purpose: an asynchronous one would let each response be handled alone.
        A turn that was full of work is not made longer, since the sleep counts from the end of the last one.
        """
        while True:
            await self._crowded.wait()
            began = time.monotonic()
            # The messages of a crowd outlast it. Without bindings they come at the pace of decisions: nothing to batch.
            while self._crowded.is_set() or len(self._messages) >= CROWD:
                for _ in range(STEPS):
                    await asyncio.sleep(0)
                rest = began + GATHERING_SECONDS - time.monotonic()
                if rest > 0:
                    self._sleep(rest)
                began = time.monotonic()
