"""Who may send now, and who waits: only so many requests are under way at a time."""

from __future__ import annotations

import asyncio
from collections import deque


class StreamSlots:
    """Rooms for requests. Whoever waits gets one in turn: nobody who comes later is faster."""

    def __init__(self, count: int) -> None:
        self._count = self._free = count
        self._is_closed = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take_free(self) -> bool:
        """Take a room if one is free, which is to be given back; return whether that is so."""
        is_free = self._free > 0
        self._free -= is_free
        return is_free

    async def take(self) -> None:
        """Return with a room, which is to be given back, or when they are closed, and then none counts any more."""
        if not self.take_free() and not self._is_closed:
            await self._turn()

    def give(self) -> None:
        """Give a room back, for the next who waits."""
        self._free += 1
        self._pass_on()

    def resize(self, count: int) -> None:
        """Let there be ``count`` rooms. If more are taken, nobody gets one until fewer are."""
        self._free += count - self._count
        self._count = count
        self._pass_on()

    def close(self) -> None:
        """Let nobody wait any more."""
        self._is_closed = True
        self._pass_on()

    async def _turn(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the room was ours already
                self.give()
            raise

    def _pass_on(self) -> None:
        """Hand rooms over to who waits, so that one is free only when nobody does."""
        while self._waiting and (self._free > 0 or self._is_closed):
            turn = self._waiting.popleft()
            if not turn.done():
                self._free -= 1
                turn.set_result(None)
