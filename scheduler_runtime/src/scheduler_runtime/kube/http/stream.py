"""Answers that come bit by bit and may never end: watches, each over a connection of its own.

What was read and what is still to be read are kept apart by a limit, so that a reader that is slow slows the sender
down instead of filling the memory.
"""

from __future__ import annotations

import asyncio

from httptools import HttpParserError, HttpResponseParser

from scheduler_runtime.kube.http.http1 import BufferedProtocol, ConnectionLostError
from scheduler_runtime.kube.http.timeouts import StallTolerantTimer

BEGIN_SECONDS = 20.0
"""An answer begins at once, unless the API server lets it wait for its turn, which it does for 15 s at most."""
UNREAD_BYTES = 4 << 20
"""As much waits to be read at most, before nothing more is taken from the connection."""


class Stream(BufferedProtocol):
    """One connection for one answer. Whoever has it closes it."""

    def __init__(self, quiet_seconds: float) -> None:
        """When nothing comes for ``quiet_seconds`` the connection counts as lost, or, once it has begun, as ended.

        A watch on what seldom changes is silent for long where the API server sends no bookmarks.
        """
        super().__init__()
        self.status = 0
        self.retry_after = ""
        self.fell_silent = False
        """It was ended for that: of what has an end, the end is missing."""
        self._quiet = quiet_seconds
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._heard = self._loop.time()
        self._parser = HttpResponseParser(self)
        self._unread: list[bytes] = []
        self._size = 0
        self._enough = 1
        self._is_paused = False
        self._news = asyncio.Event()
        self._is_complete = False
        self._lost: ConnectionLostError | None = None

    async def send_request(self, request: bytes) -> None:
        """Send ``request`` and return when ``status`` is known. Raises ConnectionLostError."""
        if self._transport is not None:
            self._transport.write(request)
        late = StallTolerantTimer(BEGIN_SECONDS, lambda: self._end(f"no answer within {BEGIN_SECONDS:g} s"))
        try:
            while not self.status:
                await self._more()
        finally:
            late.cancel()

    async def read(self, enough: int = 1) -> bytes:
        """Return what has come, once it is ``enough`` or all; nothing at a regular end. Raises ConnectionLostError."""
        self._enough = enough
        while self._size < enough and not self._is_complete:
            await self._more()
        data = b"".join(self._unread)
        self._unread.clear()
        self._size = 0
        if self._is_paused and self._transport is not None and self._lost is None:
            self._is_paused = False
            self._heard = self._loop.time()  # the silence was ours
            self._transport.resume_reading()
        return data

    async def read_all(self) -> bytes:
        """All that is still to come. Raises ConnectionLostError."""
        parts = []
        while part := await self.read():
            parts.append(part)
        return b"".join(parts)

    def end(self) -> None:
        """Let it end here, as if the server had ended it in good order."""
        self._is_complete = True
        self._end("it was ended")

    def close(self) -> None:
        """End it at once."""
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()

    async def _more(self) -> None:
        if self._lost is not None:
            raise self._lost
        self._news.clear()
        await self._news.wait()

    def _end(self, why: str) -> None:
        if self._lost is None:
            self._lost = ConnectionLostError(why)
        self._news.set()
        self.close()

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # create_connection makes no other kind
        self._timer = self._loop.call_later(self._quiet, self._listen)

    def connection_lost(self, error: Exception | None) -> None:
        self._end(str(error) if error else "the server closed the connection")

    def data_came(self, data: bytes) -> None:
        self._heard = self._loop.time()
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._end(f"the answer is not HTTP: {error}")

    def _listen(self) -> None:
        """End a connection that is silent; look again when it could be by then."""
        silent = 0.0 if self._is_paused else self._loop.time() - self._heard
        if silent < self._quiet:
            self._timer = self._loop.call_later(self._quiet - silent, self._listen)
            return
        if self.status:
            self.fell_silent = True
            self.end()
        else:
            self._end(f"no word for {self._quiet:g} s")

    # What the parser tells.

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self.retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
            self._news.set()

    def on_body(self, body: bytes) -> None:
        self._unread.append(body)
        self._size += len(body)
        if self._size >= self._enough:
            self._news.set()
        if self._size > UNREAD_BYTES and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self.status:
            self._is_complete = True
            self._news.set()
