"""Requests over connections that are kept open: HTTP/1.1, one request at a time on each.

Pages of lists and calls of extenders go this way, and short requests to a server that does not speak HTTP/2 (see
``http2``). What a general client does around each of them costs several times what sending costs.
"""

from __future__ import annotations

import asyncio
import ssl
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from httptools import HttpParserError, HttpResponseParser

from scheduler_runtime.kube.http.timeouts import limit

CONNECT_SECONDS = 10.0
STANDSTILLS = 4
"""So often we may stand still meanwhile: that takes some turns of the event loop, and nothing has been asked yet."""
READ_BYTES = 64 << 10
"""So much is usually read of a connection at a time: four records of TLS."""
IDLE_SECONDS = 60.0
"""A connection that was idle for longer may have been forgotten by whatever lies between: it is not used again."""


class ConnectionLostError(Exception):
    """The connection ended before its answer did."""


class Response(NamedTuple):
    """What came back."""

    status: int
    body: bytes
    retry_after: str = ""


class BufferedProtocol(asyncio.BufferedProtocol, ABC):
    """One end of a connection. What comes is read into a buffer that stays, and copied from there.

    As an ``asyncio.Protocol`` each read over TLS would ask for 256 KiB, and give back what it did not need.
    """

    def __init__(self) -> None:
        self._usual = self._buffer = memoryview(bytearray(READ_BYTES))

    @abstractmethod
    def close(self) -> None:
        """End it at once, if it has begun."""

    @abstractmethod
    def data_came(self, data: bytes) -> None:
        """Take in what was read."""

    def get_buffer(self, sizehint: int) -> memoryview:
        """Room for all there is: over TLS the end of the connection may come before the next read, and in its place."""
        if sizehint > READ_BYTES:
            self._buffer = memoryview(bytearray(sizehint))
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        data, self._buffer = bytes(self._buffer[:nbytes]), self._usual
        self.data_came(data)


class Connection(BufferedProtocol):
    """One connection. Whoever has it asks, and gives it back or closes it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = True
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Response] | None = None
        self._parser = HttpResponseParser(self)
        self._body: list[bytes] = []
        self._retry_after = ""

    @property
    def has_sent_all(self) -> bool:
        """Whether nothing of a request has still to leave."""
        return self._transport is None or not self._transport.get_write_buffer_size()

    async def request(self, request: bytes, before_send: Callable[[], None] = lambda: None) -> Response:
        """Send ``request`` and return its answer. Raises ConnectionLostError; then, and when cancelled, it is closed.

        ``before_send`` is called right before it leaves; what it raises is raised, and nothing is sent.
        """
        if not self.is_open or self._transport is None:
            raise ConnectionLostError("the connection was closed")
        waiter: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        before_send()
        self._waiter = waiter
        self._transport.write(request)
        try:
            return await waiter
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it at once."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # create_connection makes no other kind

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self._fail(str(error) if error else "the server closed the connection")

    def data_came(self, data: bytes) -> None:
        if self._waiter is None:
            self.close()  # Nobody asked.
            return
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._fail(f"the answer is not HTTP: {error}")
            self.close()

    def _fail(self, why: str) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(ConnectionLostError(why))

    # What the parser tells.

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            return
        answer = Response(status, b"".join(self._body), self._retry_after)
        self.is_open = self._parser.should_keep_alive()
        self._parser, self._body, self._retry_after = HttpResponseParser(self), [], ""
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to connect, and how to know that it is there."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str | None = None
    on_connected: Callable[[], None] = lambda: None
    """Told of each connection that was opened."""


P = TypeVar("P", bound=BufferedProtocol)


async def connect(place: Endpoint, protocol: P) -> P:
    """Open a connection to ``place`` for ``protocol``, and return that. Raises OSError or TimeoutError."""
    try:
        async with limit(CONNECT_SECONDS, CONNECT_SECONDS, STANDSTILLS):
            await asyncio.get_running_loop().create_connection(
                lambda: protocol,
                place.host,
                place.port,
                ssl=place.tls,
                server_hostname=(place.server_name or place.host) if place.tls else None,
            )
    except BaseException:
        protocol.close()  # whoever gave up may have done so when it was open already
        raise
    place.on_connected()
    return protocol


class Pool:
    """Connections to one place, at most ``limit`` at a time."""

    def __init__(self, place: Endpoint, limit: int) -> None:
        self._place = place
        self._limit = limit
        self._idle: list[Connection] = []
        self._count = 0
        self._queue: deque[asyncio.Future[Connection | None]] = deque()

    async def acquire(self) -> Connection:
        """A connection that nobody else has. Raises OSError or TimeoutError when there is no way to open one."""
        while True:
            connection = self._fresh_idle()
            if connection is not None:
                return connection
            if self._count < self._limit:
                return await self._open()
            turn: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
            self._queue.append(turn)
            try:
                given = await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._pass_on(turn.result())
                raise
            if given is not None and given.is_open:
                return given
            if given is not None:  # it ended on its way here
                self._count -= 1

    def release(self, connection: Connection) -> None:
        """Put ``connection`` back for others; when it was closed, make room for another."""
        connection.idle_since = asyncio.get_running_loop().time()
        if not connection.is_open:
            connection.close()
            self._count -= 1
        self._pass_on(connection if connection.is_open else None)

    def _pass_on(self, connection: Connection | None) -> None:
        """Give ``connection``, or the room for one, to the next who waits."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(connection)
                return
        if connection is not None:
            self._idle.append(connection)

    def close(self) -> None:
        """End all connections that are idle."""
        while self._idle:
            self._idle.pop().close()

    def _fresh_idle(self) -> Connection | None:
        earliest = asyncio.get_running_loop().time() - IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.idle_since >= earliest:
                return connection
            connection.close()
            self._count -= 1
        return None

    async def _open(self) -> Connection:
        self._count += 1
        connection = Connection()
        try:
            return await connect(self._place, connection)
        except BaseException:
            connection.is_open = False
            self.release(connection)
            raise
