"""Shared HTTP/2 connection to one endpoint, replaced by another when it ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from scheduler_runtime.kube.http.http1 import IDLE_SECONDS
from scheduler_runtime.kube.http.transport import (
    CONNECT_EXTENSIONS,
    CONNECT_SECONDS,
    Endpoint,
    Response,
    connect,
    timeout,
)
from scheduler_runtime.kube.http2.connection import (
    Http2Connection,
    Http2UnsupportedError,
    SendGuard,
    StreamRefusedError,
)

ATTEMPTS = 6
"""How often a request is sent at most that the server refuses, mostly because it is closing the connection."""
FIRST_PAUSE_SECONDS = 0.01
"""The pause before a refused request is sent again, doubled each time: the server may be too busy."""
PROBE_SECONDS = 10.0
"""A caller that waits this long for a slot checks whether the server still sends anything."""


class SharedConnection:
    """Requests to one endpoint, at most ``max_streams`` of them at a time."""

    def __init__(self, endpoint: Endpoint, max_streams: int) -> None:
        self._endpoint = endpoint
        self._max_streams = max_streams
        self._connection: Http2Connection | None = None
        self._opening: asyncio.Task[Http2Connection] | None = None
        self._is_closed = False

    async def request(self, header_block: bytes, body: bytes, guard: SendGuard) -> Response:
        """Send a request and return its response.

        Raises OSError when there is no connection, ConnectionLostError and TimeoutError when there is no response,
        StreamRefusedError when the server did not process the request, Http2UnsupportedError, and what ``guard``
        raises.
        """
        connection = self._connection
        if (
            connection is None
            or not connection.can_take_requests(IDLE_SECONDS)
            or not connection.slots.acquire_nowait()
        ):
            connection = await self._acquire_slot()
        for attempt in range(ATTEMPTS - 1):
            try:
                return await connection.request(header_block, body, guard)
            except StreamRefusedError as refusal:
                # Refused means not processed, so that sending it again cannot carry it out twice.
                try:
                    async with asyncio.timeout(guard.remaining()):
                        await asyncio.sleep(FIRST_PAUSE_SECONDS * 2**attempt)
                        connection = await self._acquire_slot()
                except OSError as error:  # TimeoutError is one of them
                    reason = str(error) or "timed out"
                    raise StreamRefusedError(f"{refusal}, and no other connection could be opened: {reason}") from error
        return await connection.request(header_block, body, guard)

    def close(self) -> None:
        """Close the connection; requests under way raise ConnectionLostError."""
        self._is_closed = True
        if self._opening is not None:
            self._opening.cancel()
        if self._connection is not None:
            self._connection.close()

    async def _acquire_slot(self) -> Http2Connection:
        """Return a connection that takes requests, with a slot on it."""
        while not self._is_closed:
            connection = self._connection
            if connection is None or not connection.can_take_requests(IDLE_SECONDS):
                if self._opening is None:
                    if connection is not None:
                        connection.retire()
                    self._opening = asyncio.create_task(_open_connection(self._endpoint, self._max_streams))
                    self._opening.add_done_callback(self._keep_opened)
                # All who come while it opens wait for the same task, and get the same error; a caller that is
                # cancelled must not cancel it for the others.
                connection = await asyncio.shield(self._opening)
                if not connection.accepts_requests:
                    reason = connection.close_reason or "it takes no requests"
                    raise ConnectionError(f"the server closed the new connection at once: {reason}")
            if not connection.slots.acquire_nowait():
                await _wait_for_slot(connection)
            if connection.accepts_requests:
                return connection
        raise ConnectionError("the client is closed")

    def _keep_opened(self, opening: asyncio.Task[Http2Connection]) -> None:
        """Use the connection from now on; when opening it failed, the next request opens another."""
        self._opening = None
        if not opening.cancelled() and opening.exception() is None:
            self._connection = opening.result()
            if self._is_closed:
                self._connection.close()


async def _wait_for_slot(connection: Http2Connection) -> None:
    """Return with a slot, or when ``connection`` takes no more requests, perhaps because it is dead."""
    waiting = asyncio.create_task(connection.slots.acquire())
    try:
        while not waiting.done():
            started_at = asyncio.get_running_loop().time()
            await asyncio.wait((waiting,), timeout=PROBE_SECONDS)
            if not waiting.done():
                connection.retire_if_silent_since(started_at)
    except asyncio.CancelledError:
        if not waiting.cancel():  # it has got its slot already
            connection.slots.release()
        raise


async def _open_connection(endpoint: Endpoint, max_streams: int) -> Http2Connection:
    """Return a connection whose settings have come. Raises OSError, TimeoutError or Http2UnsupportedError."""
    connection = Http2Connection(max_streams)
    try:
        async with timeout(CONNECT_SECONDS, CONNECT_SECONDS, CONNECT_EXTENSIONS):
            # The endpoint counts as connected when its settings have come, not before: see below.
            await connect(replace(endpoint, on_connected=lambda: None), connection)
            await connection.ready
    except BaseException:
        connection.close()
        raise
    if not connection.is_http2:
        raise Http2UnsupportedError
    if not connection.accepts_requests:
        raise ConnectionError(f"it does not answer in HTTP/2, which it offers: {connection.close_reason}")
    endpoint.on_connected()
    return connection
