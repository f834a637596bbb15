"""One HTTP/2 connection, which many requests share at a time (RFC 9113).

    request() ──► _unsent ──(end of the loop's turn)──► _flush: _send_request each, then one write
                                                                      │
    response ◄── _complete_stream ◄── _receive_frame ◄── data_received ◄┘

The life of a connection:

    connecting ──(TLS, ALPN "h2")──► waiting for SETTINGS ──(the server's first SETTINGS)──► open
                                                                                              │
               a late response, silence, GOAWAY, the last stream identifier: retire() ◄───────┤
                                       │                                                      │
                                    retired ──(its last stream ends)──► closed ◄──────────────┘
                                                                  close(), an error, the server's end of it

A retired connection takes no more requests, but those under way still get their responses.

Requests of one turn of the event loop are written together, and so come the responses. With dozens of requests under
way that takes a fraction of the system calls, of the encryption and of the loop's turns that as many connections take.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from scheduler_runtime.kube.http.transport import BufferedProtocol, ConnectionLostError, Response, StallTolerantTimer
from scheduler_runtime.kube.http2 import frames, headers
from scheduler_runtime.kube.http2.flow_control import FlowControl, StreamSlots
from scheduler_runtime.kube.http2.frames import ProtocolError

RECEIVE_WINDOW = 1 << 30
"""The server may send this much before we allow more: responses are small, and every caller wants all of its own."""
LAST_STREAM = 1 << 30
"""The stream identifier at which a connection takes no more requests; they may not exceed 2^31-1 (section 5.1.1)."""
SILENT_SECONDS = 3.0
"""If nothing was received for so long when a caller gives up waiting, the connection may be dead and is left."""
LONGEST_HEADER_BLOCK = 1 << 18
MOST_CONTINUATIONS = 32
"""The limits of header fields that come in several frames, which could otherwise go on for ever, a byte at a time."""
MOST_UNSENT_BYTES = 1 << 20
"""As much may wait to be written when the server asks for more replies: one that does not read them is no server."""


class StreamRefusedError(Exception):
    """The request was not sent, or the server did not process it: it may be sent again."""


class Http2UnsupportedError(Exception):
    """The server does not speak HTTP/2, or not for this request."""


class SendGuard(Protocol):
    """Decides, each time right before a request is written, whether it may be sent."""

    def __call__(self) -> float:
        """Raise if the request may not be sent any more, otherwise return what ``remaining`` does."""

    def remaining(self) -> float:
        """Return the seconds that may pass until the response. Raises TimeoutError when there are none."""


@dataclass(slots=True, eq=False)
class RequestStream:
    """A request under way, and what was received of its response."""

    header_block: bytes
    body: bytes
    guard: SendGuard
    response: asyncio.Future[Response]
    stream_id: int = 0
    """0 until the request is written: identifiers have to be used in the order of sending."""
    deadline: float = 0.0
    status: int = 0
    retry_after: str = ""
    received: list[bytes] = field(default_factory=list)


class Http2Connection(BufferedProtocol):
    """The client's end of an HTTP/2 connection."""

    def __init__(self, max_streams: int) -> None:
        """At most ``max_streams`` requests are under way at a time, or fewer if the server's settings say so."""
        super().__init__()
        self.accepts_requests = False
        """True if new requests are sent. Those under way may go on when it is False."""
        self.is_http2 = False
        """True if the server agreed to HTTP/2 in the TLS handshake."""
        self.close_reason = ""
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        """Done when the server's settings have come, or the connection has ended."""
        self._max_streams = max_streams
        self.slots = StreamSlots(max_streams)
        """A caller takes one before ``request``, which releases it: see there."""
        self._transport: asyncio.Transport | None = None
        self._unsent: list[RequestStream] = []
        """Requests to be written at the end of this turn of the loop."""
        self._streams: dict[int, RequestStream] = {}
        self._next_stream_id = 1  # odd for those of a client (section 5.1.1)
        self._flow = FlowControl()
        self._outgoing: list[bytes] = []
        self._flush_is_scheduled = False
        self._incomplete_frame = b""
        self._consumed_bytes = 0
        """Received since our last WINDOW_UPDATE."""
        self._last_received_at = self._loop.time()
        self._expected_frame: tuple[int, int] | None = (frames.SETTINGS, 0)
        """The only type and stream that the next frame may have: the preface, or the rest of a header block."""
        self._partial_headers: tuple[int, list[bytes]] = (0, [])
        """Flags and payloads of a header block whose end has not come."""
        self._lost_reason = "the server closed the connection"
        self._timer: StallTolerantTimer | None = None
        """One for all requests."""
        self._timer_deadline = 0.0
        """No request under way has an earlier deadline."""

    def __repr__(self) -> str:
        if self._transport is None:
            state = "closed" if self.ready.done() else "connecting"
        elif not self.ready.done():
            state = "waiting for SETTINGS"
        else:
            state = "open" if self.accepts_requests else "retired"
        return f"<{type(self).__name__}: {state}, {len(self._streams)} streams>"

    @property
    def write_buffer_is_empty(self) -> bool:
        """True if the operating system has taken all that was written. Bodies that wait for a window do not count."""
        return self._transport is None or not self._transport.get_write_buffer_size()

    def can_take_requests(self, idle_seconds: float) -> bool:
        """True if the connection takes requests, and was not idle for so long that a proxy may have forgotten it."""
        is_used = bool(self._streams or self._unsent)
        return self.accepts_requests and (is_used or self._loop.time() - self._last_received_at < idle_seconds)

    async def request(self, header_block: bytes, body: bytes, guard: SendGuard) -> Response:
        """Send a request for which a slot was taken, and return its response.

        Raises ConnectionLostError, StreamRefusedError, Http2UnsupportedError, TimeoutError, and what ``guard`` raises.
        """
        started_at = self._loop.time()
        stream = RequestStream(header_block, body, guard, self._loop.create_future())
        self._unsent.append(stream)
        if not self._flush_is_scheduled:
            self._flush_is_scheduled = True
            self._loop.call_soon(self._flush)
        try:
            return await stream.response
        finally:
            if not stream.stream_id:
                self.slots.release()  # Never written, so it is no stream, and ``_close_stream`` will not do it.
            elif stream.stream_id in self._streams:  # the caller was cancelled
                self._write(frames.rst_stream(stream.stream_id, frames.CANCEL))
                self._close_stream(stream)
                self.retire_if_silent_since(started_at)

    def retire_if_silent_since(self, started_at: float) -> None:
        """Take no more requests if nothing was received since then, and that is long enough ago to mean something."""
        was_silent = self._last_received_at < started_at
        waited_long = started_at < self._loop.time() - SILENT_SECONDS
        if was_silent and waited_long:
            self.retire()

    def retire(self) -> None:
        """Take no more requests; close when those under way have their responses."""
        self.accepts_requests = False
        self.slots.close()
        if not self._streams:
            self.close()

    def close(self, reason: str = "the connection was closed") -> None:
        """Close the connection at once. Requests under way raise ConnectionLostError."""
        self.accepts_requests = False
        self.close_reason = self.close_reason or reason
        self.slots.close()
        if not self.ready.done():
            self.ready.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
        self._flush()  # a GOAWAY may wait to be written; unsent requests learn that they were refused
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        for stream in list(self._streams.values()):
            self._fail_stream(stream, ConnectionLostError(reason))

    # Sending.

    def _write(self, data: bytes) -> None:
        if data:
            self._outgoing.append(data)
            if not self._flush_is_scheduled:
                self._flush_is_scheduled = True
                self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Write requests and frames that gathered during this turn of the loop, in one piece."""
        self._flush_is_scheduled = False
        unsent, self._unsent = self._unsent, []
        for stream in unsent:
            self._send_request(stream)
        # A transport that is closing has a dead socket: asyncio would log each write to it.
        if self._outgoing and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._outgoing))
        self._outgoing.clear()

    def _send_request(self, stream: RequestStream) -> None:
        """Add the frames of a request to those to be written, if its guard still allows that.

        Whatever keeps it from being sent is raised to the caller of ``request``, and does not concern the others.
        """
        if stream.response.done():  # its caller was cancelled
            return
        try:
            if not self.accepts_requests:
                raise StreamRefusedError("the connection takes no more requests")
            # Only now, right before the bytes are written: the turn may have taken long, and a leader that lost its
            # lease meanwhile must not send any more.
            stream.deadline = self._loop.time() + stream.guard()
        except Exception as error:  # noqa: BLE001  it is raised to the caller
            stream.response.set_exception(error)
            return
        stream_id, self._next_stream_id = self._next_stream_id, self._next_stream_id + 2
        stream.stream_id, self._streams[stream_id] = stream_id, stream
        if stream_id >= LAST_STREAM:
            self.retire()
        # Frames of a header block have to follow each other without others between (section 6.10).
        size = self._flow.max_frame_size
        block, rest = stream.header_block[:size], stream.header_block[size:]
        flags = (0 if stream.body else frames.END_STREAM) | (0 if rest else frames.END_HEADERS)
        self._outgoing.append(frames.frame(frames.HEADERS, flags, stream_id, block))
        while rest:
            block, rest = rest[:size], rest[size:]
            flags = 0 if rest else frames.END_HEADERS
            self._outgoing.append(frames.frame(frames.CONTINUATION, flags, stream_id, block))
        if stream.body:
            self._outgoing.append(self._flow.send(stream_id, stream.body))
        if self._timer is None or self._timer_deadline > stream.deadline:
            self._start_timer(stream.deadline)

    # Timeouts.

    def _start_timer(self, deadline: float) -> None:
        """Set the timer. There is one for all requests: one for each would be set and cancelled with every request."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_deadline = deadline
        self._timer = StallTolerantTimer(
            deadline - self._loop.time(), self._on_timer, may_extend=lambda: self.write_buffer_is_empty
        )

    def _on_timer(self) -> None:
        self._timer = None
        self._time_out(self._late_streams())
        if self._streams:
            self._start_timer(min(stream.deadline for stream in self._streams.values()))

    def _late_streams(self) -> list[RequestStream]:
        now = self._loop.time()
        return [stream for stream in self._streams.values() if stream.deadline <= now]

    def _time_out(self, streams: list[RequestStream]) -> None:
        """End streams with TimeoutError, and take nothing new: a connection with a late response may be dead."""
        if streams:
            self.retire()
        for stream in streams:
            self._write(frames.rst_stream(stream.stream_id, frames.CANCEL))
            self._fail_stream(stream, TimeoutError())

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # create_connection makes no other kind
        tls = transport.get_extra_info("ssl_object")
        self.is_http2 = tls is not None and tls.selected_alpn_protocol() == "h2"
        if not self.is_http2:
            self.close()
            return
        values = {
            frames.HEADER_TABLE_SIZE: 0,
            frames.ENABLE_PUSH: 0,
            frames.INITIAL_WINDOW_SIZE: frames.LARGEST_WINDOW,
        }
        # The window of the connection, unlike those of streams, is not a setting (section 6.9.2).
        window = frames.window_update(0, RECEIVE_WINDOW - frames.DEFAULT_WINDOW)
        self._write(frames.PREFACE + frames.settings(values) + window)

    def connection_lost(self, error: Exception | None) -> None:
        self.close(str(error) if error else self._lost_reason)

    def data_received(self, data: bytes) -> None:
        self._last_received_at = now = self._loop.time()
        if self._timer is not None and self._timer_deadline < now:
            # The loop was blocked past a deadline, and the timer gives time to read. Requests whose body is incomplete
            # end before this data can open their window: they must not be completed, and carried out, after their
            # deadline. Complete ones may be answered by this data.
            self._time_out([stream for stream in self._late_streams() if self._flow.has_pending(stream.stream_id)])
        data, at = self._incomplete_frame + data if self._incomplete_frame else data, 0
        try:
            while len(data) - at >= frames.HEAD.size:
                high, low, kind, flags, stream_id = frames.HEAD.unpack_from(data, at)
                start = at + frames.HEAD.size
                end = start + (high << 8 | low)
                if end - start > frames.DEFAULT_FRAME_SIZE:
                    description = frames.describe(kind, stream_id & frames.STREAM_ID_MASK)
                    why = f"{description} exceeds SETTINGS_MAX_FRAME_SIZE with {end - start} bytes"
                    raise ProtocolError(why, frames.FRAME_SIZE_ERROR)
                if end > len(data):
                    break
                self._receive_frame(kind, flags, stream_id & frames.STREAM_ID_MASK, data[start:end])
                at = end
        except ProtocolError as error:
            self._write(frames.goaway(error.code))
            self.close(f"the server does not keep to HTTP/2: {error}")
        self._incomplete_frame = data[at:]

    # Receiving.

    def _receive_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """Process one frame. Types that are not known are ignored (section 5.5). Raises ProtocolError."""
        if self._expected_frame is not None and self._expected_frame != (kind, stream_id):
            expected = frames.describe(*self._expected_frame)
            raise ProtocolError(f"{frames.describe(kind, stream_id)} where {expected} is required")
        match kind:
            case frames.HEADERS:
                if flags & (frames.PADDED | frames.PRIORITY):
                    payload = frames.strip_padding(flags, payload)
                self._receive_headers(stream_id, flags, payload)
            case frames.DATA:
                self._receive_data(stream_id, flags, payload)
            case frames.CONTINUATION:
                self._receive_continuation(stream_id, flags, payload)
            case frames.WINDOW_UPDATE | frames.RST_STREAM if len(payload) != 4:
                raise _length_error(kind, stream_id, payload)
            case frames.WINDOW_UPDATE:
                increment = frames.uint31(payload)
                if not increment:
                    raise ProtocolError(f"WINDOW_UPDATE on stream {stream_id} with an increment of 0")
                self._write(self._flow.window_update(stream_id, increment))
            case frames.RST_STREAM:
                stream, code = self._streams.get(stream_id), frames.uint31(payload)
                if stream is None:
                    self._check_was_opened(kind, stream_id)
                    return
                errors: dict[int, Exception] = {
                    # Promised not to have been processed (section 8.7).
                    frames.REFUSED_STREAM: StreamRefusedError("the server refused the request"),
                    frames.HTTP_1_1_REQUIRED: Http2UnsupportedError(),
                }
                lost = ConnectionLostError(f"the server ended the request (HTTP/2 error {code})")
                self._fail_stream(stream, errors.get(code, lost))
            case frames.PUSH_PROMISE:
                raise ProtocolError(f"PUSH_PROMISE on stream {stream_id} although SETTINGS_ENABLE_PUSH is 0")
            case frames.SETTINGS | frames.PING | frames.GOAWAY:
                self._receive_connection_frame(kind, flags, stream_id, payload)

    def _receive_continuation(self, stream_id: int, flags: int, payload: bytes) -> None:
        if self._expected_frame is None:
            raise ProtocolError(f"CONTINUATION on stream {stream_id} without HEADERS before it")
        first_flags, parts = self._partial_headers
        parts.append(payload)
        if sum(map(len, parts)) > LONGEST_HEADER_BLOCK:
            why = f"the field block of stream {stream_id} exceeds {LONGEST_HEADER_BLOCK} bytes"
            raise ProtocolError(why, frames.ENHANCE_YOUR_CALM)
        if len(parts) > MOST_CONTINUATIONS:
            why = f"the field block of stream {stream_id} comes in more than {MOST_CONTINUATIONS} frames"
            raise ProtocolError(why, frames.ENHANCE_YOUR_CALM)
        if flags & frames.END_HEADERS:
            self._expected_frame, self._partial_headers = None, (0, [])
            self._receive_headers(stream_id, first_flags | frames.END_HEADERS, b"".join(parts))

    def _receive_headers(self, stream_id: int, flags: int, block: bytes) -> None:
        """Note the status of a response, once its header block is complete."""
        if not flags & frames.END_HEADERS:
            self._expected_frame, self._partial_headers = (frames.CONTINUATION, stream_id), (flags, [block])
            return
        stream = self._streams.get(stream_id)
        if stream is None:
            self._check_was_opened(frames.HEADERS, stream_id)
            return
        if stream.status == 0:  # not the trailers after the body
            status = headers.parse_status(block)
            if status >= 200:  # an interim response comes before (section 8.1)
                stream.status = status
                stream.retry_after = headers.parse_retry_after(block) if status >= 400 else ""
        if flags & frames.END_STREAM:
            self._complete_stream(stream)

    def _receive_data(self, stream_id: int, flags: int, payload: bytes) -> None:
        """Note a part of a response's body, and let the server send more."""
        # The window counts whole payloads, padding included, also of streams that we have ended (section 6.9.1).
        self._consumed_bytes += len(payload)
        if self._consumed_bytes > RECEIVE_WINDOW // 2:
            self._write(frames.window_update(0, self._consumed_bytes))
            self._consumed_bytes = 0
        stream = self._streams.get(stream_id)
        if stream is None:
            self._check_was_opened(frames.DATA, stream_id)
            return
        if flags & frames.PADDED:
            payload = frames.strip_padding(frames.PADDED, payload)
        stream.received.append(payload)
        if flags & frames.END_STREAM:
            self._complete_stream(stream)

    def _receive_connection_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """SETTINGS, PING and GOAWAY are about the connection: stream 0."""
        if stream_id:
            raise ProtocolError(f"{frames.describe(kind, stream_id)} instead of stream 0")
        if kind == frames.GOAWAY:
            self._receive_goaway(payload)
        elif flags & frames.ACK:
            return
        elif kind == frames.SETTINGS:
            self._receive_settings(payload)
        elif len(payload) != 8:
            raise _length_error(kind, stream_id, payload)
        else:
            self._reply(frames.frame(frames.PING, frames.ACK, 0, payload))

    def _reply(self, data: bytes) -> None:
        """Write what the server asked for. Raises ProtocolError if it asks for ever more and reads nothing."""
        if self._transport is not None and self._transport.get_write_buffer_size() > MOST_UNSENT_BYTES:
            raise ProtocolError("the server asks for replies and does not read them", frames.ENHANCE_YOUR_CALM)
        self._write(data)

    def _receive_settings(self, payload: bytes) -> None:
        """Take over the server's settings; the first ones make the connection ready for requests."""
        values = frames.parse_settings(payload)
        # The acknowledgement marks from where on the new settings hold (section 6.5.3). So requests that fit the old
        # ones are written before it, and frames that only the new ones allow after it.
        self._flush()
        self._reply(frames.frame(frames.SETTINGS, frames.ACK, 0, b""))
        self._expected_frame = None
        self._flow.max_frame_size = values.get(frames.MAX_FRAME_SIZE, self._flow.max_frame_size)
        if frames.INITIAL_WINDOW_SIZE in values:
            self._write(self._flow.set_initial_window(values[frames.INITIAL_WINDOW_SIZE]))
        if frames.MAX_CONCURRENT_STREAMS in values:
            self.slots.resize(min(self._max_streams, values[frames.MAX_CONCURRENT_STREAMS]))
        if not self.ready.done():
            self.accepts_requests = True
            self.ready.set_result(None)

    def _receive_goaway(self, payload: bytes) -> None:
        """The server closes the connection, and has not processed streams after the last that it names (section 6.8).

        An API server sends this to spread its clients anew (``--goaway-chance``), and when it shuts down.
        """
        if len(payload) < 8:
            raise _length_error(frames.GOAWAY, 0, payload)
        last_stream_id, code = frames.uint31(payload), frames.uint31(payload, 4)
        if code != frames.NO_ERROR:
            debug_data = payload[8:108].decode(errors="replace")
            detail = debug_data and ": " + debug_data
            self._lost_reason = f"the server gave the connection up (HTTP/2 error {code}{detail})"
        self.retire()
        error = Http2UnsupportedError if code == frames.HTTP_1_1_REQUIRED else StreamRefusedError
        for stream in list(self._streams.values()):
            if stream.stream_id > last_stream_id:
                self._fail_stream(stream, error("the server is closing the connection"))

    def _check_was_opened(self, kind: int, stream_id: int) -> None:
        """Raise ProtocolError for a stream that we never opened. Frames for one that we ended may still come."""
        if not stream_id % 2 or stream_id >= self._next_stream_id:
            raise ProtocolError(f"{frames.describe(kind, stream_id)}, which the client never opened")

    # Ends of streams.

    def _complete_stream(self, stream: RequestStream) -> None:
        """End a stream whose response is complete, and return that to the caller."""
        if not stream.status:
            raise ProtocolError(f"END_STREAM on stream {stream.stream_id} without the pseudo-header field :status")
        if self._close_stream(stream):
            # Answered before all of it was sent, mostly with a refusal: the rest is not needed (section 8.1).
            self._write(frames.rst_stream(stream.stream_id, frames.CANCEL))
        if not stream.response.done():
            stream.response.set_result(Response(stream.status, b"".join(stream.received), stream.retry_after))

    def _fail_stream(self, stream: RequestStream, error: Exception) -> None:
        """End a stream without a response, and raise ``error`` to the caller."""
        self._close_stream(stream)
        if not stream.response.done():
            stream.response.set_exception(error)

    def _close_stream(self, stream: RequestStream) -> bool:
        """Give the slot of a stream to the next request; close a retired connection after its last stream.

        Return whether a part of its body was not sent.
        """
        del self._streams[stream.stream_id]
        is_incomplete = self._flow.drop(stream.stream_id)
        self.slots.release()  # Of every request that was written; ``request`` does it for those that were not.
        if not self._streams and not self.accepts_requests:
            self.close()
        return is_incomplete


def _length_error(kind: int, stream_id: int, payload: bytes) -> ProtocolError:
    why = f"{frames.describe(kind, stream_id)} has a length of {len(payload)} bytes"
    return ProtocolError(why, frames.FRAME_SIZE_ERROR)
