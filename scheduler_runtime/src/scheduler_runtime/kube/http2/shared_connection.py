"""The one connection to a place, which all requests share. When it ends, another takes its place."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from scheduler_runtime.kube.http.http1 import CONNECT_SECONDS, IDLE_SECONDS, STANDSTILLS, Endpoint, Response, connect
from scheduler_runtime.kube.http.timeouts import limit
from scheduler_runtime.kube.http2.connection import Connection
from scheduler_runtime.kube.http2.exchange import Http2UnsupportedError, SendGuard, StreamRefusedError

TRIES = 6
"""So often a request is sent at most that the server does not look at, because it is closing the connection."""
FIRST_PAUSE_SECONDS = 0.01
"""Before it is sent again, doubled each time: a server may refuse because it is too busy."""
LOOK_SECONDS = 10.0
"""After so long in which there was no room for a request, it is seen whether the server is still there."""


class SharedConnection:
    """Requests to one place, ``most`` of them at a time."""

    def __init__(self, place: Endpoint, most: int) -> None:
        self._place = place
        self._most = most
        self._connection: Connection | None = None
        self._opening: asyncio.Task[Connection] | None = None
        self._is_closed = False

    async def request(self, head: bytes, body: bytes, leaving: SendGuard) -> Response:
        """Send a request and return its answer.

        Raises OSError when there is no connection, ConnectionLostError and TimeoutError when there is no answer,
        StreamRefusedError when the server did not look at it, Http2UnsupportedError, and what ``leaving`` raises.
        """
        connection = self._at_once() or await self._with_room()
        for tries in range(TRIES - 1):
            try:
                return await connection.request(head, body, leaving)
            except StreamRefusedError as refused:
                connection = await self._another(refused, FIRST_PAUSE_SECONDS * 2**tries, leaving)
        return await connection.request(head, body, leaving)

    def close(self) -> None:
        """End the connection."""
        self._is_closed = True
        if self._opening is not None:
            self._opening.cancel()
        if self._connection is not None:
            self._connection.close()

    async def _another(self, refused: StreamRefusedError, pause: float, leaving: SendGuard) -> Connection:
        """A connection with room for a request that was refused, which it stays if there is none."""
        try:
            async with asyncio.timeout(leaving.left()):
                await asyncio.sleep(pause)
                return await self._with_room()
        except OSError as error:
            raise StreamRefusedError(f"{refused}, and there is no other: {str(error) or 'none in time'}") from error

    def _at_once(self) -> Connection | None:
        """The connection with room for a request, if there is one that has: nearly always."""
        connection = self._connection
        is_ready = connection is not None and connection.is_good(IDLE_SECONDS) and connection.rooms.take_free()
        return connection if is_ready else None

    async def _with_room(self) -> Connection:
        while not self._is_closed:
            connection = self._connection
            if connection is None or not connection.is_good(IDLE_SECONDS):
                connection = await self._open()
            if not connection.rooms.take_free():
                await _room_of(connection)
            if connection.is_open:
                return connection
        raise ConnectionError("nobody is to be asked any more")

    async def _open(self) -> Connection:
        """Return a new connection: the same to everyone who comes meanwhile, as is what goes wrong with it."""
        if self._opening is None:
            if self._connection is not None:
                self._connection.retire()
            self._opening = asyncio.create_task(_opened(self._place, self._most))
            self._opening.add_done_callback(self._keep)
        connection = await asyncio.shield(self._opening)
        if not connection.is_open:
            raise ConnectionError(f"it ends what it has just begun: {connection.ended or 'it takes no requests'}")
        return connection

    def _keep(self, opening: asyncio.Task[Connection]) -> None:
        self._opening = None
        if not opening.cancelled() and opening.exception() is None:
            self._connection = opening.result()
            if self._is_closed:
                self._connection.close()


async def _room_of(connection: Connection) -> None:
    """Return with a room, or when ``connection`` takes no more requests, perhaps because it is dead."""
    turn = asyncio.create_task(connection.rooms.take())
    try:
        while not turn.done():
            begun = asyncio.get_running_loop().time()
            await asyncio.wait((turn,), timeout=LOOK_SECONDS)
            if not turn.done():
                connection.leave_if_silent_since(begun)
    except asyncio.CancelledError:
        if not turn.cancel():
            connection.rooms.give()
        raise


async def _opened(place: Endpoint, most: int) -> Connection:
    connection = Connection(most)
    try:
        async with limit(CONNECT_SECONDS, CONNECT_SECONDS, STANDSTILLS):
            await connect(replace(place, on_connected=lambda: None), connection)
            await connection.greeted
    except BaseException:
        connection.close()
        raise
    if not connection.is_spoken:
        raise Http2UnsupportedError
    if not connection.is_open:
        raise ConnectionError(f"it does not answer in HTTP/2, which it offers: {connection.ended}")
    place.on_connected()
    return connection
