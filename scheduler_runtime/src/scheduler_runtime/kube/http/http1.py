"""HTTP/1.1 over connections that are kept open and pooled: one request at a time on each.

Used for pages of lists, for calls of extenders, and for short requests to a server without HTTP/2 (see ``http2``).
Written by hand over httptools' parser, because what a general client does around a request costs several times the CPU
of the request itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from httptools import HttpParserError, HttpResponseParser

from scheduler_runtime.kube.http.transport import BufferedProtocol, ConnectionLostError, Endpoint, Response, connect

IDLE_SECONDS = 60.0
"""A connection that was idle for longer is not used again: a proxy or NAT on the way may have forgotten it."""
LONGEST_HEAD = 64 << 10
"""Bytes of a response beside its body: interim responses, header fields, and frames of chunks, for which there may be a
quarter of the body's bytes more."""


class Http1Connection(BufferedProtocol):
    """One connection, used by one caller at a time, who releases it to the pool or closes it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = True
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._response: asyncio.Future[Response] | None = None
        """What the request under way waits for."""
        self._parser = HttpResponseParser(self)
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._longest_body: int | None = None
        self._received_bytes = 0
        self._retry_after = ""

    @property
    def write_buffer_is_empty(self) -> bool:
        """True if the operating system has taken every byte that was written."""
        return self._transport is None or not self._transport.get_write_buffer_size()

    async def request(
        self, request: bytes, before_send: Callable[[], object] = lambda: None, longest_body: int | None = None
    ) -> Response:
        """Send ``request`` and return its response. Raises ConnectionLostError, also if the response is too long.

        After an error or a cancellation the connection is closed: a response that still comes would be taken for that
        to the next request. ``before_send`` is called right before the request is written; what it raises is raised,
        and nothing is sent.
        """
        if not self.is_open or self._transport is None:
            raise ConnectionLostError("the connection was closed")
        response: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        before_send()
        self._response = response
        self._longest_body = longest_body
        self._transport.write(request)
        try:
            return await response
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection at once."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # create_connection makes no other kind

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self._fail(str(error) if error else "the server closed the connection")

    def data_received(self, data: bytes) -> None:
        if self._response is None:
            self.close()  # bytes without a request: whatever they are, no later response can be trusted
            return
        self._received_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._fail(f"the answer is not HTTP: {error}")
            self.close()
        if self._received_bytes - self._body_bytes > LONGEST_HEAD + self._body_bytes // 4:
            self._fail(f"the answer has more than {LONGEST_HEAD} bytes beside its body")
            self.close()
        elif self._longest_body is not None and self._body_bytes > self._longest_body:
            self._fail(f"the answer has more than {self._longest_body} bytes")
            self.close()

    def _fail(self, reason: str) -> None:
        response, self._response = self._response, None
        if response is not None and not response.done():
            response.set_exception(ConnectionLostError(reason))

    # Called by the parser.

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)
        self._body_bytes += len(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # RFC 9110, section 15.2: interim, the response itself is still to come
            return
        complete = Response(status, b"".join(self._body), self._retry_after)
        self.is_open = self._parser.should_keep_alive()
        self._parser, self._body, self._retry_after = HttpResponseParser(self), [], ""
        self._body_bytes = self._received_bytes = 0
        response, self._response = self._response, None
        if response is not None and not response.done():
            response.set_result(complete)


class ConnectionPool:
    """Connections to one endpoint, at most ``limit`` at a time.

    Callers that have to wait get a connection in the order in which they came.
    """

    def __init__(self, endpoint: Endpoint, limit: int) -> None:
        self._endpoint = endpoint
        self._limit = limit
        self._idle: list[Http1Connection] = []
        self._count = 0
        """Connections that are open, in use or idle, and those being opened."""
        self._waiters: deque[asyncio.Future[Http1Connection | None]] = deque()

    async def acquire(self) -> Http1Connection:
        """Return a connection that nobody else uses; ``release`` it. Raises OSError or TimeoutError if none opens."""
        while True:
            earliest = asyncio.get_running_loop().time() - IDLE_SECONDS
            while self._idle:
                connection = self._idle.pop()  # the one used last: others may get old and be closed
                if connection.is_open and connection.idle_since >= earliest:
                    return connection
                connection.close()
                self._count -= 1
            if self._count < self._limit:
                self._count += 1  # before the await: others must not exceed the limit meanwhile
                connection = Http1Connection()
                try:
                    return await connect(self._endpoint, connection)
                except BaseException:
                    connection.is_open = False
                    self.release(connection)
                    raise
            waiter: asyncio.Future[Http1Connection | None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                handed_over = await waiter
            except asyncio.CancelledError:
                # Cancelled after a connection, or the right to open one, was handed over: the next waiter gets it.
                if waiter.done() and not waiter.cancelled():
                    self._hand_over(waiter.result())
                raise
            if handed_over is not None and handed_over.is_open:
                return handed_over
            if handed_over is not None:  # it was closed between ``release`` and this turn of the loop
                self._count -= 1

    def release(self, connection: Http1Connection) -> None:
        """Return ``connection`` for others to use; if it is closed, let the next waiter open another."""
        connection.idle_since = asyncio.get_running_loop().time()
        if not connection.is_open:
            connection.close()
            self._count -= 1
        self._hand_over(connection if connection.is_open else None)

    def close(self) -> None:
        """Close all idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _hand_over(self, connection: Http1Connection | None) -> None:
        """Give ``connection``, or without one the right to open one, to the next waiter."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        if connection is not None:
            self._idle.append(connection)
