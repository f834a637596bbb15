"""Trying again: pauses that grow, and differ from one process to the next, and an end of it when it is time to go."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, TypeVar

FIRST_SECONDS = 0.8
LONGEST_SECONDS = 30.0
OBEYED_IN_A_ROW = 10
"""How often who refuses is believed that it will do better after a pause of its choice."""
_chance = random.SystemRandom()
T = TypeVar("T")


class Backoff:
    """0.8 s, doubled up to 30 s, each lengthened by a random part of itself."""

    def __init__(self, first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._first = first
        self._longest = longest
        self._next = first
        self._obeyed = 0

    def next_delay(self, requested: float = 0.0) -> float:
        """Return how long to wait now: as long as was ``requested`` for, otherwise longer than the last time."""
        if requested and self._obeyed < OBEYED_IN_A_ROW:
            self._obeyed += 1
            return requested
        seconds = self._next * (1 + _chance.random())
        self._next = min(self._next * 2, self._longest)
        return max(requested, min(seconds, self._longest))

    def reset(self) -> None:
        self._next = self._first
        self._obeyed = 0


async def run_until(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """What ``work`` comes to; None when ``stop`` is set before, which cancels it whatever it waits for."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)
