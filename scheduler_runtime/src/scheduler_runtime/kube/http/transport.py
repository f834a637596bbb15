"""Connections as HTTP/1.1, HTTP/2 and watches share them: opening one, reading into a buffer, timeouts.

Timeouts here do not count the time in which our own event loop was blocked, for example by a plugin. Responses that
came meanwhile wait to be read. With uvloop, timers run before they are read: an ordinary timer would end a request
whose response is there. So a timer that runs late lets the loop read first.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

CONNECT_SECONDS = 10.0
CONNECT_EXTENSIONS = 4
"""Connecting takes several turns of the event loop, and may be extended after each. Nothing has been sent by then."""
READ_BYTES = 64 << 10
"""The usual size of a read: four records of TLS."""
LATE_SECONDS = 0.25
"""A timer that runs this late is a sign that the loop was blocked, and not only that many requests are under way."""
READ_SECONDS = 0.05
"""Time to read what came while the loop was blocked."""


class ConnectionLostError(Exception):
    """The connection ended before the response was complete."""


class Response(NamedTuple):
    """A complete response."""

    status: int
    body: bytes
    retry_after: str = ""
    """The Retry-After header as it was sent; empty without one."""


class BufferedProtocol(asyncio.BufferedProtocol, ABC):
    """Receiving end of a connection, with one buffer for all reads.

    With an ``asyncio.Protocol`` each read over TLS would allocate 256 KiB and give back what it did not need.
    """

    def __init__(self) -> None:
        self._usual = self._buffer = memoryview(bytearray(READ_BYTES))

    @abstractmethod
    def close(self) -> None:
        """Close the connection at once, if it is open."""

    @abstractmethod
    def data_received(self, data: bytes) -> None:
        """Process what was read."""

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return a buffer of at least ``sizehint`` bytes.

        A smaller one than asked for is allowed, but over TLS the end of the connection may be processed before the next
        read, and what did not fit would be lost.
        """
        if sizehint > READ_BYTES:
            self._buffer = memoryview(bytearray(sizehint))
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        data, self._buffer = bytes(self._buffer[:nbytes]), self._usual
        self.data_received(data)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a server, and what is needed to trust it."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str | None = None
    """The name to expect in the certificate, where it is not the host."""
    on_connected: Callable[[], None] = lambda: None
    """Called after each connection that was opened."""


P = TypeVar("P", bound=BufferedProtocol)


async def connect(endpoint: Endpoint, protocol: P) -> P:
    """Open a connection to ``endpoint`` for ``protocol``, and return the protocol. Raises OSError or TimeoutError."""
    try:
        async with timeout(CONNECT_SECONDS, CONNECT_SECONDS, CONNECT_EXTENSIONS):
            await asyncio.get_running_loop().create_connection(
                lambda: protocol,
                endpoint.host,
                endpoint.port,
                ssl=endpoint.tls,
                server_hostname=(endpoint.server_name or endpoint.host) if endpoint.tls else None,
            )
    except BaseException:
        protocol.close()  # a cancellation or timeout may come when the connection is open already
        raise
    endpoint.on_connected()
    return protocol


class StallTolerantTimer:
    """Calls ``on_timeout`` after ``seconds``, unless it is cancelled before.

    If the loop was blocked when the time was over, the timer is extended by as many seconds as it is late, at most
    ``longest_extension``, and at most ``extensions`` times, as long as ``may_extend`` returns True.
    """

    def __init__(
        self,
        seconds: float,
        on_timeout: Callable[[], object],
        longest_extension: float = READ_SECONDS,
        extensions: int = 1,
        may_extend: Callable[[], bool] = lambda: True,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_timeout = on_timeout
        self._longest_extension = longest_extension
        self._extensions = extensions
        self._may_extend = may_extend
        # Not loop.time(): with uvloop that is the time at which the current turn of the loop began.
        self._deadline = time.monotonic() + seconds
        self._timer = self._loop.call_later(seconds, self._expire)

    def cancel(self) -> None:
        """Do not call ``on_timeout`` any more."""
        self._timer.cancel()

    def _expire(self) -> None:
        now = time.monotonic()
        late = now - self._deadline
        if late > LATE_SECONDS and self._extensions and self._may_extend():
            self._extensions -= 1
            extension = min(late, self._longest_extension)
            self._deadline = now + extension
            self._timer = self._loop.call_later(extension, self._expire)
        else:
            self._on_timeout()


@contextlib.asynccontextmanager
async def timeout(
    seconds: float,
    longest_extension: float = READ_SECONDS,
    extensions: int = 1,
    may_extend: Callable[[], bool] = lambda: True,
) -> AsyncIterator[None]:
    """Raise TimeoutError if the block takes longer, as ``asyncio.timeout`` does, but by a StallTolerantTimer."""
    async with asyncio.timeout(None) as scope:
        timer = StallTolerantTimer(seconds, lambda: scope.reschedule(0), longest_extension, extensions, may_extend)
        try:
            yield
        finally:
            timer.cancel()
