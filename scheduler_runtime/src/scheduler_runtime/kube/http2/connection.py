"""One connection for many requests at a time.

What is asked in one turn of the event loop goes out together, and so come the answers: with dozens of requests under
way this takes a fraction of the system calls, of the encryption and of the turns that as many connections take.
"""

from __future__ import annotations

import asyncio

from scheduler_runtime.kube.http.http1 import BufferedProtocol, ConnectionLostError, Response
from scheduler_runtime.kube.http.timeouts import StallTolerantTimer
from scheduler_runtime.kube.http2 import frames, headers
from scheduler_runtime.kube.http2.exchange import Http2UnsupportedError, RequestStream, SendGuard, StreamRefusedError
from scheduler_runtime.kube.http2.flow_control import FlowControl
from scheduler_runtime.kube.http2.frames import ProtocolError
from scheduler_runtime.kube.http2.stream_slots import StreamSlots

RECEIVED_AT_ONCE = 1 << 30
"""How much may come before we allow more. Answers are small, and whoever asks wants all of its answer."""
LAST_STREAM = 1 << 30
"""Requests have numbers, which end at twice this one. A connection that has come so far takes no more."""
SILENT_SECONDS = 3.0
"""Whoever gives up waiting after so long in which nothing was heard, leaves a connection that may be dead."""
LONGEST_FIELDS = 1 << 18
"""What header fields may have when they come in several frames."""


class Connection(BufferedProtocol):
    """Speaks HTTP/2 with a server."""

    def __init__(self, most: int) -> None:
        """``most`` requests are under way at a time, or fewer if the server says so."""
        super().__init__()
        self.is_open = False
        self.is_spoken = False
        """Whether the server speaks HTTP/2."""
        self.ended = ""
        """Why it did, once it has."""
        self._loop = asyncio.get_running_loop()
        self.greeted: asyncio.Future[None] = self._loop.create_future()
        """Done when the server has said what it allows, or the connection has ended."""
        self._most = most
        self.rooms = StreamSlots(most)
        """Whoever has taken one sends a request, or gives it back."""
        self._transport: asyncio.Transport | None = None
        self._asked: list[RequestStream] = []
        """What leaves at the end of this turn."""
        self._exchanges: dict[int, RequestStream] = {}
        self._next = 1
        self._outflow = FlowControl()
        self._going: list[bytes] = []
        self._goes = False
        self._rest = b""
        self._received = 0
        self._heard = self._loop.time()
        self._due: tuple[int, int] | None = (frames.SETTINGS, 0)
        """The only kind and stream that the next frame may have, if no others may come."""
        self._block: tuple[int, bytes] = (0, b"")
        """Of header fields that come in several frames: the flags, and what has come."""
        self._end = "the server closed the connection"
        self._watch: StallTolerantTimer | None = None
        self._watched_until = 0.0
        """Nothing that is under way is late before."""

    def is_good(self, idle_seconds: float) -> bool:
        """Whether it takes requests, and has not been idle for so long that something may have forgotten it."""
        is_used = bool(self._exchanges or self._asked)
        return self.is_open and (is_used or self._loop.time() - self._heard < idle_seconds)

    async def request(self, head: bytes, body: bytes, leaving: SendGuard) -> Response:
        """Send a request for which a room was taken, and return its answer.

        Raises ConnectionLostError, StreamRefusedError, Http2UnsupportedError, TimeoutError, or what ``leaving`` raises.
        """
        begun = self._loop.time()
        exchange = RequestStream(head, body, leaving, self._loop.create_future())
        self._asked.append(exchange)
        self._go_soon()
        try:
            return await exchange.answer
        finally:
            if not exchange.stream:
                self.rooms.give()
            elif exchange.stream in self._exchanges:  # nobody waits for it any more
                self._send(frames.reset(exchange.stream, frames.CANCEL))
                self._over(exchange.stream)
                self.leave_if_silent_since(begun)

    def leave_if_silent_since(self, begun: float) -> None:
        """Take no more requests if nothing was heard since then, and that is long enough ago to mean something."""
        if self._heard < begun < self._loop.time() - SILENT_SECONDS:
            self.retire()

    def retire(self) -> None:
        """Take no more requests; end when those under way have their answers."""
        self.is_open = False
        self.rooms.close()
        if not self._exchanges:
            self.close()

    def close(self, why: str = "the connection was closed") -> None:
        """End it at once."""
        self.is_open = False
        self.ended = self.ended or why
        self.rooms.close()
        if not self.greeted.done():
            self.greeted.set_result(None)
        if self._watch is not None:
            self._watch.cancel()
        self._go()
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        for stream, exchange in list(self._exchanges.items()):
            self._fail(stream, exchange, ConnectionLostError(why))

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
            self._going.append(data)
            self._go_soon()

    def _go_soon(self) -> None:
        if not self._goes:
            self._goes = True
            self._loop.call_soon(self._go)

    def _go(self) -> None:
        """Write what was asked and said. Each request is asked last whether it may leave: a turn may take long."""
        self._goes = False
        asked, self._asked = self._asked, []
        for exchange in asked:
            self._leave(exchange)
        if self._going and self._transport is not None:
            self._transport.write(b"".join(self._going))
        self._going.clear()

    def _leave(self, exchange: RequestStream) -> None:
        if exchange.answer.done():  # nobody waits for it any more
            return
        try:
            if not self.is_open:
                raise StreamRefusedError("the connection takes no more requests")
            exchange.leaving()
            exchange.deadline = self._loop.time() + exchange.leaving.left()
        except Exception as error:  # noqa: BLE001  it is raised to whoever asks
            exchange.answer.set_exception(error)
        else:
            self._write(exchange)

    def _write(self, exchange: RequestStream) -> None:
        stream, self._next = self._next, self._next + 2
        exchange.stream, self._exchanges[stream] = stream, exchange
        if stream >= LAST_STREAM:
            self.retire()
        self._going.append(self._head(stream, exchange.head, ends=not exchange.content))
        if exchange.content:
            self._going.append(self._outflow.body(stream, exchange.content))
        if self._watch is None or self._watched_until > exchange.deadline:
            self._watch_over(exchange.deadline)

    def _watch_over(self, deadline: float) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._watched_until = deadline
        self._watch = StallTolerantTimer(deadline - self._loop.time(), self._expire, waits=self._has_sent_all)

    def _expire(self) -> None:
        self._watch = None
        self._give_up(self._late())
        if self._exchanges:
            self._watch_over(min(each.deadline for each in self._exchanges.values()))

    def _has_sent_all(self) -> bool:
        """Whether nothing that was asked has still to leave, but for bodies that the server does not let go yet."""
        return self._transport is None or not self._transport.get_write_buffer_size()

    def _late(self) -> list[int]:
        now = self._loop.time()
        return [stream for stream, each in self._exchanges.items() if each.deadline <= now]

    def _give_up(self, late: list[int]) -> None:
        """A connection on which something was late may be dead: it takes nothing new."""
        exchanges = [(stream, self._exchanges[stream]) for stream in late]
        if late:
            self.retire()
        for stream, exchange in exchanges:
            self._send(frames.reset(stream, frames.CANCEL))
            self._fail(stream, exchange, TimeoutError())

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
        self.close(str(error) if error else self._end)

    def data_came(self, data: bytes) -> None:
        self._heard = now = self._loop.time()
        if self._watch is not None and self._watched_until < now:
            # Before anything that was heard lets more of it go. What has gone may be answered by this.
            self._give_up([stream for stream in self._late() if self._outflow.holds(stream)])
        data, at = self._rest + data if self._rest else data, 0
        try:
            while len(data) - at >= frames.HEAD.size:
                high, low, kind, flags, stream = frames.HEAD.unpack_from(data, at)
                start = at + frames.HEAD.size
                end = start + (high << 8 | low)
                if end - start > frames.LARGEST:
                    raise ProtocolError("a frame larger than allowed", frames.FRAME_SIZE_ERROR)
                if end > len(data):
                    break
                self._take(kind, flags, stream & frames.LONGEST_WINDOW, data[start:end])
                at = end
        except ProtocolError as error:
            self._send(frames.goaway(error.code))
            self.close(f"the server does not keep to HTTP/2: {error}")
        self._rest = data[at:]

    # What frames say.

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if self._due is not None and self._due != (kind, stream):
            raise ProtocolError("another frame than had to come")
        match kind:
            case frames.HEADERS:
                self._fields(stream, flags, frames.bare(flags, payload))
            case frames.DATA:
                self._data(stream, flags, payload)
            case frames.CONTINUATION:
                self._continue(stream, flags, payload)
            case frames.WINDOW_UPDATE | frames.RST_STREAM if len(payload) != 4:
                raise ProtocolError("a frame of the wrong length", frames.FRAME_SIZE_ERROR)
            case frames.WINDOW_UPDATE:
                self._allow(stream, frames.number(payload))
            case frames.RST_STREAM:
                self._reset(stream, frames.number(payload))
            case frames.PUSH_PROMISE:
                raise ProtocolError("a promise that was not asked for")
            case frames.SETTINGS | frames.PING | frames.GOAWAY:
                self._about_connection(kind, stream, flags, payload)

    def _about_connection(self, kind: int, stream: int, flags: int, payload: bytes) -> None:
        if stream:
            raise ProtocolError("a frame about the connection that names a request")
        if kind == frames.GOAWAY:
            self._goaway(payload)
        elif flags & frames.ACK:
            return
        elif kind == frames.SETTINGS:
            self._settings(payload)
        else:
            self._ping(payload)

    def _fields(self, stream: int, flags: int, block: bytes) -> None:
        if not flags & frames.END_HEADERS:
            self._due, self._block = (frames.CONTINUATION, stream), (flags, block)
            return
        exchange = self._exchanges.get(stream)
        if exchange is None:
            self._see_that_it_was_asked(stream)
            return
        if exchange.status == 0:  # and not what may come after the body
            status = headers.status(block)
            if status >= 200:
                exchange.status = status
                exchange.retry_after = headers.retry_after(block) if status >= 400 else ""
        if flags & frames.END_STREAM:
            self._answered(stream, exchange)

    def _continue(self, stream: int, flags: int, payload: bytes) -> None:
        if self._due is None:
            raise ProtocolError("header fields go on that never began")
        first, block = self._block[0], self._block[1] + payload
        if len(block) > LONGEST_FIELDS:
            raise ProtocolError("header fields without an end", frames.ENHANCE_YOUR_CALM)
        self._due = None
        self._fields(stream, first | flags & frames.END_HEADERS, block)

    def _data(self, stream: int, flags: int, payload: bytes) -> None:
        self._received += len(payload)
        if self._received > RECEIVED_AT_ONCE // 2:
            self._send(frames.window_update(0, self._received))
            self._received = 0
        exchange = self._exchanges.get(stream)
        if exchange is None:
            self._see_that_it_was_asked(stream)
            return
        exchange.body.append(frames.bare(flags & frames.PADDED, payload))
        if flags & frames.END_STREAM:
            self._answered(stream, exchange)

    def _see_that_it_was_asked(self, stream: int) -> None:
        """Of a request that is no longer under way anything may still come. Raises ProtocolError if it never was."""
        if not stream % 2 or stream >= self._next:
            raise ProtocolError("an answer to what was never asked")

    def _settings(self, payload: bytes) -> None:
        asked = frames.settings_of(payload)
        self._go()  # what has room by the settings before leaves before these are acknowledged
        self._send(frames.frame(frames.SETTINGS, frames.ACK, 0, b""))  # before anything that they allow
        self._due = None
        self._outflow.largest = asked.get(frames.MAX_FRAME_SIZE, self._outflow.largest)
        if frames.INITIAL_WINDOW_SIZE in asked:
            self._send(self._outflow.resized(asked[frames.INITIAL_WINDOW_SIZE]))
        if frames.MAX_CONCURRENT_STREAMS in asked:
            self.rooms.resize(min(self._most, asked[frames.MAX_CONCURRENT_STREAMS]))
        if not self.greeted.done():
            self.is_open = True
            self.greeted.set_result(None)

    def _ping(self, payload: bytes) -> None:
        if len(payload) != 8:
            raise ProtocolError("a frame of the wrong length", frames.FRAME_SIZE_ERROR)
        self._send(frames.frame(frames.PING, frames.ACK, 0, payload))

    def _allow(self, stream: int, by: int) -> None:
        if not by:
            raise ProtocolError("a window that does not grow")
        self._send(self._outflow.allowed(stream, by))

    def _reset(self, stream: int, code: int) -> None:
        exchange = self._exchanges.get(stream)
        if exchange is None:
            self._see_that_it_was_asked(stream)
        elif code == frames.REFUSED_STREAM:
            self._fail(stream, exchange, StreamRefusedError("the server refused the request"))
        elif code == frames.HTTP_1_1_REQUIRED:
            self._fail(stream, exchange, Http2UnsupportedError())
        else:
            self._fail(stream, exchange, ConnectionLostError(f"the server ended the request (HTTP/2 error {code})"))

    def _goaway(self, payload: bytes) -> None:
        """The server closes: it has not looked at requests after the last one that it names."""
        if len(payload) < 8:
            raise ProtocolError("a frame of the wrong length", frames.FRAME_SIZE_ERROR)
        last, code = frames.number(payload), frames.number(payload, 4)
        if code != frames.NO_ERROR:
            said = payload[8:108].decode(errors="replace")
            self._end = f"the server gave the connection up (HTTP/2 error {code}{said and ': ' + said})"
        self.retire()
        error = Http2UnsupportedError if code == frames.HTTP_1_1_REQUIRED else StreamRefusedError
        for stream, exchange in list(self._exchanges.items()):
            if stream > last:
                self._fail(stream, exchange, error("the server is closing the connection"))

    # How a request ends.

    def _answered(self, stream: int, exchange: RequestStream) -> None:
        if not exchange.status:
            raise ProtocolError("an answer without a status")
        if self._outflow.forget(stream):
            self._send(frames.reset(stream, frames.CANCEL))  # it was answered before all of it was sent
        self._over(stream)
        if not exchange.answer.done():
            exchange.answer.set_result(Response(exchange.status, b"".join(exchange.body), exchange.retry_after))

    def _fail(self, stream: int, exchange: RequestStream, error: Exception) -> None:
        self._over(stream)
        if not exchange.answer.done():
            exchange.answer.set_exception(error)

    def _over(self, stream: int) -> None:
        del self._exchanges[stream]
        self._outflow.forget(stream)
        self.rooms.give()
        if not self._exchanges and not self.is_open:
            self.close()
