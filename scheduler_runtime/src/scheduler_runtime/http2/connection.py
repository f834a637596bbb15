"""One connection for many requests at a time.

What is asked in one turn of the event loop goes out together, and so come the answers: with dozens of requests under
way this takes a fraction of the system calls, of the encryption and of the turns that as many connections take.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_runtime.connections import Answer, LostError

from . import frames, headers
from .flow import Outflow

RECEIVED_AT_ONCE = 1 << 30
"""How much may come before we allow more. Answers are small, and whoever asks wants all of its answer."""
LAST_STREAM = 1 << 30
"""A connection that has seen so many requests (twice that number, as only odd ones count) takes no more."""


class RefusedError(Exception):
    """The server did not look at the request: it can be sent again."""


class _BreachError(Exception):
    """The other side does not keep the rules."""

    def __init__(self, why: str, code: int = frames.PROTOCOL_ERROR) -> None:
        super().__init__(why)
        self.code = code


@dataclass(slots=True, eq=False)
class Exchange:
    """A request under way."""

    answer: asyncio.Future[Answer]
    deadline: float
    status: int = 0
    retry_after: str = ""
    body: list[bytes] = field(default_factory=list)


class Connection(asyncio.Protocol):
    """Speaks HTTP/2 with a server."""

    def __init__(self, most: int) -> None:
        """``most`` requests are under way at a time, or fewer if the server says so."""
        self.is_open = False
        self.is_spoken = False
        """Whether the server speaks HTTP/2."""
        self._loop = asyncio.get_running_loop()
        self.greeted: asyncio.Future[None] = self._loop.create_future()
        """Done when the server has said what it allows, or the connection has ended."""
        self._most = self._limit = most
        self._transport: asyncio.Transport | None = None
        self._exchanges: dict[int, Exchange] = {}
        self._next = 1
        self._outflow = Outflow()
        self._going: list[bytes] = []
        self._rest = b""
        self._received = 0
        self._heard = self._loop.time()
        self._block: tuple[int, int, bytes] | None = None
        """Of header fields that come in several frames: stream, flags, and what has come."""
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        """How many requests are under way."""
        return len(self._exchanges)

    def is_good(self, idle_seconds: float) -> bool:
        """Whether it takes requests, and has not been idle for so long that something may have forgotten it."""
        return self.is_open and (bool(self._exchanges) or self._loop.time() - self._heard < idle_seconds)

    async def room(self) -> None:
        """Return when there is room for a request, or there will never be."""
        while self.is_open and len(self._exchanges) >= self._limit:
            turn = self._loop.create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._make_room()
                raise

    async def exchange(self, head: bytes, body: bytes, deadline: float) -> Answer:
        """Send a request and return its answer. Raises LostError, RefusedError, or TimeoutError at ``deadline``."""
        if not self.is_open:
            raise RefusedError("the connection takes no more requests")
        stream, self._next = self._next, self._next + 2
        if stream >= LAST_STREAM:
            self.retire()
        exchange = self._exchanges[stream] = Exchange(self._loop.create_future(), deadline)
        self._send(self._head(stream, head, ends=not body))
        if body:
            self._send(self._outflow.body(stream, body))
        if self._timer is None or self._timer.when() > deadline:
            self._watch_over(deadline)
        try:
            return await exchange.answer
        finally:
            if stream in self._exchanges:  # nobody waits for it any more
                self._send(frames.reset(stream, frames.CANCEL))
                self._over(stream)

    def retire(self) -> None:
        """Take no more requests; end when those under way have their answers."""
        self.is_open = False
        self._wake_all()
        if not self._exchanges:
            self.close()

    def close(self, why: str = "the connection was closed") -> None:
        """End it at once."""
        self.is_open = False
        for stream, exchange in list(self._exchanges.items()):
            self._fail(stream, exchange, LostError(why))
        self._wake_all()
        if not self.greeted.done():
            self.greeted.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._flush()
            self._transport.abort()

    # What is sent.

    def _head(self, stream: int, block: bytes, *, ends: bool) -> bytes:
        first, rest = block[: self._outflow.largest], block[self._outflow.largest :]
        flags = frames.END_STREAM if ends else 0
        parts = [frames.frame(frames.HEADERS, flags | (0 if rest else frames.END_HEADERS), stream, first)]
        while rest:
            piece, rest = rest[: self._outflow.largest], rest[self._outflow.largest :]
            parts.append(frames.frame(frames.CONTINUATION, 0 if rest else frames.END_HEADERS, stream, piece))
        return b"".join(parts)

    def _send(self, data: bytes) -> None:
        if data:
            if not self._going:
                self._loop.call_soon(self._flush)
            self._going.append(data)

    def _flush(self) -> None:
        if self._going and self._transport is not None:
            self._transport.write(b"".join(self._going))
        self._going.clear()

    def _watch_over(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        """Give up what is late. A connection on which something was late may be dead: it takes nothing new."""
        self._timer, now = None, self._loop.time()
        for stream, exchange in list(self._exchanges.items()):
            if exchange.deadline <= now:
                self._send(frames.reset(stream, frames.CANCEL))
                self._fail(stream, exchange, TimeoutError())
                self.retire()
        if self._exchanges:
            self._watch_over(min(each.deadline for each in self._exchanges.values()))

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # create_connection makes no other kind
        tls = transport.get_extra_info("ssl_object")
        self.is_spoken = tls is not None and tls.selected_alpn_protocol() == "h2"
        if not self.is_spoken:
            self.close()
            return
        asked = {
            frames.HEADER_TABLE_SIZE: 0,
            frames.ENABLE_PUSH: 0,
            frames.INITIAL_WINDOW_SIZE: frames.LONGEST_WINDOW,
        }
        more = frames.window_update(0, RECEIVED_AT_ONCE - frames.WINDOW)
        self._send(frames.PREFACE + frames.settings(asked) + more)

    def connection_lost(self, error: Exception | None) -> None:
        self.close(str(error) if error else "the server closed the connection")

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        data, at = self._rest + data if self._rest else data, 0
        try:
            while len(data) - at >= frames.HEAD.size:
                high, low, kind, flags, stream = frames.HEAD.unpack_from(data, at)
                start = at + frames.HEAD.size
                end = start + (high << 8 | low)
                if end - start > frames.LARGEST:
                    raise _BreachError("a frame larger than allowed", frames.FRAME_SIZE_ERROR)
                if end > len(data):
                    break
                self._take(kind, flags, stream & frames.LONGEST_WINDOW, data[start:end])
                at = end
        except _BreachError as error:
            self._send(frames.goaway(error.code))
            self.close(f"the server does not keep to HTTP/2: {error}")
        self._rest = data[at:]

    # What frames say.

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if self._block is not None and (kind != frames.CONTINUATION or stream != self._block[0]):
            raise _BreachError("header fields that were interrupted")
        match kind:
            case frames.HEADERS:
                self._fields(stream, flags, _bare(flags, payload))
            case frames.DATA:
                self._data(stream, flags, payload)
            case frames.WINDOW_UPDATE | frames.RST_STREAM if len(payload) != 4:
                raise _BreachError("a frame of the wrong length", frames.FRAME_SIZE_ERROR)
            case frames.WINDOW_UPDATE:
                self._allow(stream, frames.number(payload))
            case frames.SETTINGS:
                self._settings(flags, payload)
            case frames.RST_STREAM:
                self._reset(stream, frames.number(payload))
            case frames.PING if not flags & frames.ACK:
                self._send(frames.frame(frames.PING, frames.ACK, 0, payload))
            case frames.GOAWAY:
                self._goaway(payload)
            case frames.CONTINUATION:
                self._continue(flags, payload)
            case frames.PUSH_PROMISE:
                raise _BreachError("a promise that was not asked for")

    def _fields(self, stream: int, flags: int, block: bytes) -> None:
        if not flags & frames.END_HEADERS:
            self._block = stream, flags, block
            return
        exchange = self._exchanges.get(stream)
        if exchange is None:
            return
        if exchange.status == 0:  # and not what may come after the body
            try:
                status = headers.status(block)
                retry_after = headers.retry_after(block) if status >= 400 else ""
            except headers.HeaderError as error:
                raise _BreachError(str(error), frames.COMPRESSION_ERROR) from error
            if status >= 200:
                exchange.status, exchange.retry_after = status, retry_after
        if flags & frames.END_STREAM:
            self._answered(stream, exchange)

    def _continue(self, flags: int, payload: bytes) -> None:
        if self._block is None:
            raise _BreachError("header fields go on that never began")
        stream, first, block = self._block
        self._block = None
        self._fields(stream, first | flags & frames.END_HEADERS, block + payload)

    def _data(self, stream: int, flags: int, payload: bytes) -> None:
        self._received += len(payload)
        if self._received > RECEIVED_AT_ONCE // 2:
            self._send(frames.window_update(0, self._received))
            self._received = 0
        exchange = self._exchanges.get(stream)
        if exchange is None:
            return
        exchange.body.append(_bare(flags & frames.PADDED, payload))
        if flags & frames.END_STREAM:
            self._answered(stream, exchange)

    def _settings(self, flags: int, payload: bytes) -> None:
        if flags & frames.ACK:
            return
        if len(payload) % 6:
            raise _BreachError("settings of the wrong length", frames.FRAME_SIZE_ERROR)
        asked = frames.settings_of(payload)
        self._outflow.largest = asked.get(frames.MAX_FRAME_SIZE, self._outflow.largest)
        if frames.INITIAL_WINDOW_SIZE in asked:
            self._flowing(self._outflow.resized, asked[frames.INITIAL_WINDOW_SIZE])
        self._limit = min(self._most, asked.get(frames.MAX_CONCURRENT_STREAMS, self._limit))
        self._wake_all()
        self._send(frames.frame(frames.SETTINGS, frames.ACK, 0, b""))
        if not self.greeted.done():
            self.is_open = True
            self.greeted.set_result(None)

    def _allow(self, stream: int, by: int) -> None:
        if not by:
            raise _BreachError("a window that does not grow")
        self._flowing(lambda by: self._outflow.allowed(stream, by), by)

    def _flowing(self, change: Callable[[int], bytes], by: int) -> None:
        try:
            self._send(change(by))
        except OverflowError as error:
            raise _BreachError(str(error), frames.FLOW_CONTROL_ERROR) from error

    def _reset(self, stream: int, code: int) -> None:
        if exchange := self._exchanges.get(stream):
            refused = code == frames.REFUSED_STREAM
            error = RefusedError("the server refused it") if refused else LostError("the server ended the request")
            self._fail(stream, exchange, error)

    def _goaway(self, payload: bytes) -> None:
        """The server closes: it has not looked at requests after the last one that it names."""
        if len(payload) < 8:
            raise _BreachError("a frame of the wrong length", frames.FRAME_SIZE_ERROR)
        last = frames.number(payload)
        for stream, exchange in list(self._exchanges.items()):
            if stream > last:
                self._fail(stream, exchange, RefusedError("the server is closing"))
        self.retire()

    # How a request ends.

    def _answered(self, stream: int, exchange: Exchange) -> None:
        if not exchange.status:
            raise _BreachError("an answer without a status")
        self._over(stream)
        if not exchange.answer.done():
            exchange.answer.set_result(Answer(exchange.status, b"".join(exchange.body), exchange.retry_after))

    def _fail(self, stream: int, exchange: Exchange, error: Exception) -> None:
        self._over(stream)
        if not exchange.answer.done():
            exchange.answer.set_exception(error)

    def _over(self, stream: int) -> None:
        del self._exchanges[stream]
        self._outflow.forget(stream)
        if self._waiting:
            self._make_room()
        if not self._exchanges and not self.is_open:
            self.close()

    def _make_room(self) -> None:
        """Wake the next who waits for room."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _wake_all(self) -> None:
        for _ in range(len(self._waiting)):
            self._make_room()


def _bare(flags: int, payload: bytes) -> bytes:
    if not flags & (frames.PADDED | frames.PRIORITY):
        return payload
    try:
        return frames.bare(flags, payload)
    except ValueError as error:
        raise _BreachError("padding longer than its frame") from error
