"""Responses that are read while they come and may never end: watches and long lists, one connection for each.

Between connection and reader at most ``UNREAD_BYTES`` wait: a slow reader slows the server down instead of filling the
memory.
"""

from __future__ import annotations

import asyncio

from httptools import HttpParserError, HttpResponseParser

from scheduler_runtime.kube.http.transport import BufferedProtocol, ConnectionLostError, StallTolerantTimer

START_SECONDS = 20.0
"""Time for a response to start. The API server may queue a request (priority and fairness), for 15 s at most."""
UNREAD_BYTES = 4 << 20


class Stream(BufferedProtocol):
    """One connection for one response. The caller closes it."""

    def __init__(self, silence_seconds: float) -> None:
        """After ``silence_seconds`` without data the connection counts as lost; once a response has started, as ended.

        A watch on objects that seldom change is silent for long if the API server sends no bookmarks.
        """
        super().__init__()
        self.status = 0
        """The status of the response; 0 before it starts."""
        self.retry_after = ""
        self.fell_silent = False
        """True if the response ended by silence: a list is then incomplete."""
        self._silence_seconds = silence_seconds
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._silence_timer: asyncio.TimerHandle | None = None
        self._last_read_at = self._loop.time()
        self._parser = HttpResponseParser(self)
        self._unread: list[bytes] = []
        self._unread_bytes = 0
        self._wake_at_bytes = 1
        self._is_paused = False
        self._progress = asyncio.Event()
        self._is_complete = False
        self._error: ConnectionLostError | None = None

    async def send_request(self, request: bytes) -> None:
        """Send ``request`` and return when the response starts and ``status`` is set. Raises ConnectionLostError."""
        if self._transport is not None:
            self._transport.write(request)
        timer = StallTolerantTimer(START_SECONDS, lambda: self._fail(f"no answer within {START_SECONDS:g} s"))
        try:
            while not self.status:
                if self._error is not None:
                    raise self._error
                self._progress.clear()
                await self._progress.wait()
        finally:
            timer.cancel()

    async def read(self, at_least: int = 1) -> bytes:
        """Return what has come, once it is ``at_least`` so many bytes, or the rest; empty at the end.

        Raises ConnectionLostError when the connection ends before the response.
        """
        self._wake_at_bytes = at_least
        while self._unread_bytes < at_least and not self._is_complete:
            if self._error is not None:
                raise self._error
            self._progress.clear()
            await self._progress.wait()
        data = b"".join(self._unread)
        self._unread.clear()
        self._unread_bytes = 0
        if self._is_paused and self._transport is not None and self._error is None:
            self._is_paused = False
            self._last_read_at = self._loop.time()  # nothing was read meanwhile because we did not want to
            self._transport.resume_reading()
        return data

    async def read_all(self) -> bytes:
        """Return all that is still to come. Raises ConnectionLostError."""
        parts = []
        while part := await self.read():
            parts.append(part)
        return b"".join(parts)

    def end(self) -> None:
        """End the response here, for the reader as if the server had ended it in good order."""
        self._is_complete = True
        self._fail("it was ended")

    def close(self) -> None:
        """Close the connection at once."""
        if self._silence_timer is not None:
            self._silence_timer.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, reason: str) -> None:
        if self._error is None:
            self._error = ConnectionLostError(reason)
        self._progress.set()
        self.close()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # create_connection makes no other kind
        self._silence_timer = self._loop.call_later(self._silence_seconds, self._check_silence)

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(str(error) if error else "the server closed the connection")

    def data_received(self, data: bytes) -> None:
        self._last_read_at = self._loop.time()
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._fail(f"the answer is not HTTP: {error}")

    def _check_silence(self) -> None:
        """End a connection that was silent for too long; otherwise check again when it could have been.

        One timer that is rarely set anew, and not one for each read, of which there may be thousands a second.
        """
        silent = 0.0 if self._is_paused else self._loop.time() - self._last_read_at
        if silent < self._silence_seconds:
            self._silence_timer = self._loop.call_later(self._silence_seconds - silent, self._check_silence)
        elif self.status:
            self.fell_silent = True
            self.end()
        else:
            self._fail(f"no word for {self._silence_seconds:g} s")

    # Called by the parser.

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self.retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:  # an interim response (RFC 9110, section 15.2) is not the start
            self.status = status
            self._progress.set()

    def on_body(self, body: bytes) -> None:
        self._unread.append(body)
        self._unread_bytes += len(body)
        if self._unread_bytes >= self._wake_at_bytes:
            self._progress.set()
        if self._unread_bytes > UNREAD_BYTES and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self.status:
            self._is_complete = True
            self._progress.set()
