"""The one connection to a place, which all requests share. When it ends, another takes its place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from scheduler_runtime.connections import CONNECT_SECONDS, IDLE_SECONDS, Answer, Place, connect

from .connection import Connection, RefusedError

TRIES = 3
"""So often a request is sent that the server does not look at, because it is closing the connection."""


class NotSpokenError(Exception):
    """The server does not speak HTTP/2."""


class Shared:
    """Requests to one place, ``most`` of them at a time."""

    def __init__(self, place: Place, most: int) -> None:
        self._place = place
        self._most = most
        self._opening = asyncio.Lock()
        self._connection: Connection | None = None

    async def exchange(self, head: bytes, body: bytes, seconds: float, before_send: Callable[[], None]) -> Answer:
        """Send a request and return its answer.

        ``before_send`` is called right before it is sent, and may raise; from then on it takes ``seconds`` at most.
        Raises OSError when there is no connection, LostError and TimeoutError when there is no answer, RefusedError
        when the server did not look at it, NotSpokenError.
        """
        deadline = 0.0
        for tries_left in reversed(range(TRIES)):
            connection = await self._with_room()
            before_send()
            deadline = deadline or asyncio.get_running_loop().time() + seconds
            try:
                return await connection.exchange(head, body, deadline)
            except RefusedError:
                if not tries_left:
                    raise
        raise AssertionError("unreachable")

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()

    async def _with_room(self) -> Connection:
        while True:
            connection = self._connection
            if connection is None or not connection.is_good(IDLE_SECONDS):
                connection = await self._open()
            await connection.room()
            if connection.is_open:
                return connection

    async def _open(self) -> Connection:
        async with self._opening:  # whoever comes meanwhile gets what the first one opens
            known = self._connection
            if known is not None:
                if known.is_good(IDLE_SECONDS):
                    return known
                known.retire()
            self._connection = await self._opened()
            return self._connection

    async def _opened(self) -> Connection:
        connection = Connection(self._most)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await connect(self._place, connection)
                await connection.greeted
        except BaseException:
            connection.close()
            raise
        if not connection.is_spoken:
            raise NotSpokenError
        if not connection.is_open:
            raise ConnectionError("the server closed the connection at its beginning")
        return connection
