"""One connection to the endpoints: TLS in memory, HTTP/1.1 by httptools, and a time for each of its stages.

accepted ──► handshake and head ──► response under way ──► kept alive: head of the next request ──► …
                  │ HEAD_SECONDS         │ RESPONSE_SECONDS     │ IDLE_SECONDS, HEAD_SECONDS from its first byte
                  └──────────────────────┴──────────────────────┴──► closed

All of it happens in the event loop of the endpoints, which never waits for a single client.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import logging
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Protocol

from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserInvalidMethodError,
    HttpParserUpgrade,
    HttpRequestParser,
)

from scheduler_runtime.component.https.access import Caller
from scheduler_runtime.component.https.routes import TEXT, EndpointResponse, too_many_requests

logger = logging.getLogger(__name__)

HEAD_SECONDS = 10.0
"""Time for the TLS handshake and the head of the first request together, and for the head of each later one."""
RESPONSE_SECONDS = 60.0
"""Time for making a response and for the client to take it."""
IDLE_SECONDS = 90.0
"""As in k8s.io/apiserver: how long a connection without a request is kept open, unless its place is needed."""
CLOSING_SECONDS = 2.0
"""Time for the client to read the last response before the connection is reset."""
LONGEST_HEAD = 64 << 10
"""Bytes of a request line with its header fields."""
LONGEST_TARGET = 4096
"""Bytes of a path with its query: each is looked at several times."""
MOST_REQUESTS = 16
"""Requests of one connection that may wait for their responses. A read of 64 KiB could bring thousands."""
WRITE_BYTES = 64 << 10
WRITES_AT_ONCE = 16
"""A long response is sent in steps, between which others are answered."""
FIELDS = frozenset((b"accept", b"authorization", b"content-length", b"transfer-encoding"))
TLS_HANDSHAKE = 0x16
PLAIN = "Client sent an HTTP request to an HTTPS server.\n"
READ_ONLY = "is not allowed: everything here can only be read, by GET or HEAD\n"


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """The head of a request; whatever follows as its body is not read."""

    method: str
    target: str
    authorization: str
    accept: str
    certified: Caller | None
    """The owner of the client certificate, which OpenSSL verified in the handshake."""
    closes: bool
    """The connection ends after the response."""


class ConnectionServer(Protocol):
    """The server as its connections see it."""

    buffer: memoryview
    """For reads. All connections share it, because what was read is taken out at once."""

    def add(self, connection: Connection) -> None:
        """Count ``connection``, whose address is known now; call its ``begin_tls`` once there is a certificate."""
        ...

    def begin_response(self, connection: Connection, request: ReceivedRequest) -> None:
        """Make the response to ``request``, and pass it to ``connection.send``, now or later."""
        ...

    def forget(self, connection: Connection) -> None:
        """Forget ``connection``, which has ended."""
        ...


class Stage(enum.Enum):
    """What a connection does."""

    WAITING = enum.auto()
    """For a complete request."""
    RESPONDING = enum.auto()
    CLOSING = enum.auto()
    """The last response is sent. What the client still sends is dropped: if it were left unread, the kernel would reset
    the connection, and the response could be lost."""


class Connection(asyncio.BufferedProtocol):
    """A client's connection. Used in the event loop only."""

    def __init__(self, service: ConnectionServer, *, is_tls: bool) -> None:
        self.address = ""
        self._service = service
        self._is_tls = is_tls
        self._tls: TlsSession | None = None
        self._context: ssl.SSLContext
        self._transport: asyncio.Transport
        self._stage = Stage.WAITING
        self._timer: asyncio.TimerHandle | None = None
        self._requests: deque[ReceivedRequest | EndpointResponse] = deque()
        """Requests that were read and are not answered, in their order; a refusal is the last of them."""
        self._current: ReceivedRequest | None = None
        self._is_complete = False
        """The client will send nothing more that is to be read."""
        self._unsent = memoryview(b"")
        self._is_sending = False
        """The response was made, and the client has not taken all of it."""
        self._may_write = True
        """The kernel has taken all that was written."""
        # The request being read.
        self._parser = HttpRequestParser(self)
        self._head_bytes = 0
        self._target = b""
        self._fields: dict[bytes, bytearray] = {}

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def begin_tls(self, context: ssl.SSLContext) -> None:
        """Begin to read, which a connection with TLS does not do before."""
        self._context = context
        self._transport.resume_reading()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a server's connections are of no other kind
        self._transport.set_write_buffer_limits(0)
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        self._limit_time(HEAD_SECONDS)
        if self._is_tls:
            self._transport.pause_reading()
        self._service.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._is_complete, self._is_sending, self._unsent = True, False, memoryview(b"")
        self._requests.clear()
        self._service.forget(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._service.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_complete:
            return
        data = bytes(self._service.buffer[:nbytes])
        if self._is_tls:
            data = self._decrypt(data)
        if data and not self._is_complete:
            self._read(data)
        if self._tls is not None and self._tls.is_ended:
            self._is_complete = True
        self._begin_next()
        if self._is_complete and self._stage is Stage.WAITING and not self._requests:
            self._close()

    def eof_received(self) -> bool:
        self._is_complete = True
        return self._stage is Stage.RESPONDING  # a client may end its side as soon as it has asked

    def pause_writing(self) -> None:
        self._may_write = False
        self._transport.pause_reading()  # a client may cause bytes of TLS, too, and not read them

    def resume_writing(self) -> None:
        self._may_write = True
        if self._is_sending:
            self._write()
        elif self._stage is not Stage.RESPONDING:
            self._transport.resume_reading()

    def _decrypt(self, data: bytes) -> bytes:
        """Return what the client sent within TLS. A client of plain HTTP gets a 400, as from Go's server."""
        if self._tls is None:
            if data[0] != TLS_HANDSHAKE:
                self._refuse(EndpointResponse(400, TEXT, PLAIN))
                return b""
            self._tls = TlsSession(self._context)
        try:
            return self._tls.receive(data)
        except ssl.SSLError as error:
            logger.debug("connection ended", extra={"by": self.address, "because": str(error)})
            self._is_complete = True
            return b""
        finally:
            self._transport.write(self._tls.outgoing())  # parts of the handshake, or the alert that says why

    # Reading requests.

    def _read(self, data: bytes) -> None:
        if self._stage is Stage.WAITING and not self._head_bytes and self._current is not None:
            self._limit_time(HEAD_SECONDS)  # the first byte on a connection that was idle
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:  # CONNECT, or a protocol that is not spoken here: answered as if it was not asked for
            self._is_complete = True
        except HttpParserInvalidMethodError:
            self._refuse(not_allowed("this method"))
        except HttpParserCallbackError:
            raise
        except HttpParserError as error:
            self._refuse(EndpointResponse(400, TEXT, f"Bad request: {error}\n"))
        if self._head_bytes > LONGEST_HEAD and not self._requests:
            text = f"the head of a request may have {LONGEST_HEAD} bytes, and no more\n"
            self._refuse(EndpointResponse(431, TEXT, text))

    def on_url(self, part: bytes) -> None:
        if not self._is_complete:
            self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        # No others, and those joined at once: thousands of small fields would take many times as much memory here as
        # they had bytes.
        if (name := name.lower()) not in FIELDS or self._is_complete:
            return
        if name in self._fields:
            self._fields[name] += b"," + value
        else:
            self._fields[name] = bytearray(value)

    def on_headers_complete(self) -> None:
        if self._is_complete:
            return
        fields = self._fields
        # A body is not read but ends the connection, or it could be taken for the next request.
        has_body = b"transfer-encoding" in fields or fields.get(b"content-length", b"0").strip(b"0") != b""
        closes = has_body or not self._parser.should_keep_alive() or self._parser.should_upgrade()
        method = self._parser.get_method().decode("latin-1")
        if len(self._requests) >= MOST_REQUESTS:
            text = f"a connection may have {MOST_REQUESTS} requests without a response; send the next one after them"
            self._refuse(too_many_requests(text, 1))
        elif method not in ("GET", "HEAD"):
            self._refuse(not_allowed(method))
        elif len(self._target) > LONGEST_TARGET:
            self._refuse(EndpointResponse(414, TEXT, f"a path with its query may have {LONGEST_TARGET} bytes\n"))
        else:
            certified = certified_caller(self._tls.certificate()) if self._tls else None
            target, authorization, accept = (
                value.decode("latin-1")
                for value in (self._target, fields.get(b"authorization", b""), fields.get(b"accept", b""))
            )
            self._requests.append(ReceivedRequest(method, target, authorization, accept, certified, closes))
            self._is_complete = closes
        self._head_bytes, self._target, self._fields = 0, b"", {}

    def _refuse(self, response: EndpointResponse) -> None:
        """Let ``response`` be the last, after those to earlier requests."""
        if not self._is_complete:
            self._requests.append(response)
        self._is_complete = True

    # Responding.

    def _begin_next(self) -> None:
        """Begin the response to the next request that was read, if there is one and none is under way."""
        if self._stage is not Stage.WAITING or not self._requests or self._transport.is_closing():
            return
        request = self._requests.popleft()
        self._stage = Stage.RESPONDING
        self._transport.pause_reading()
        self._limit_time(RESPONSE_SECONDS)
        if isinstance(request, EndpointResponse):
            self._current = None
            self.send(request)
        else:
            self._current = request
            self._service.begin_response(self, request)

    def send(self, response: EndpointResponse) -> None:
        """Send the response to the request that was begun."""
        if self._stage is not Stage.RESPONDING or self._transport.is_closing():
            return  # the client went away meanwhile
        request = self._current
        body = response.body.encode()
        fields = {
            "Date": formatdate(usegmt=True),
            "Content-Type": response.content_type,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-cache, private",
            "X-Content-Type-Options": "nosniff",
            **response.headers,
            **({"Connection": "close"} if request is None or request.closes else {}),
        }
        lines = (f"{name}: {value}\r\n" for name, value in fields.items())
        head = f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}\r\n{''.join(lines)}\r\n".encode()
        self._unsent = memoryview(head if request is not None and request.method == "HEAD" else head + body)
        self._is_sending = True
        self._write()

    def _write(self) -> None:
        """Write as much of the response as the client takes now."""
        for _ in range(WRITES_AT_ONCE):
            if not self._is_sending or not self._may_write or self._transport.is_closing():
                return
            if not self._unsent:
                self._finish_response()
                return
            part, self._unsent = self._unsent[:WRITE_BYTES], self._unsent[WRITE_BYTES:]
            self._transport.write(self._tls.encrypt(part) if self._tls else part)
        asyncio.get_running_loop().call_soon(self._write)

    def _finish_response(self) -> None:
        request, self._is_sending = self._current, False
        if request is None or request.closes or (self._is_complete and not self._requests):
            self._close()
            return
        self._stage = Stage.WAITING
        self._limit_time(HEAD_SECONDS if self._head_bytes else IDLE_SECONDS)
        if self._requests:
            asyncio.get_running_loop().call_soon(self._begin_next)  # others first: a client may have sent several
        else:
            self._transport.resume_reading()

    def _close(self) -> None:
        """End our side, and wait a moment for the client's."""
        self._stage = Stage.CLOSING
        self._is_complete = True
        self._limit_time(CLOSING_SECONDS)
        if self._tls is not None:
            self._transport.write(self._tls.close())
        try:
            self._transport.write_eof()
        except OSError:  # the client has reset the connection since the last write
            self._transport.abort()
        self._transport.resume_reading()

    def _limit_time(self, seconds: float) -> None:
        """Close the connection after so many seconds, unless another stage has begun by then."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.abort)


def not_allowed(method: str) -> EndpointResponse:
    """405: nothing here can be written."""
    return EndpointResponse(405, TEXT, f"{method} {READ_ONLY}", {"Allow": "GET, HEAD"})


def certified_caller(certificate: Mapping[str, Any] | None) -> Caller | None:
    """Return the owner of a client certificate; None without one, or without a name in it."""
    if not certificate:
        return None
    subject = [pair for relative in certificate["subject"] for pair in relative]
    names = [value for name, value in subject if name == "commonName"]
    groups = [value for name, value in subject if name == "organizationName"]
    return Caller(names[0], (*groups, "system:authenticated")) if names else None


class TlsSession:
    """TLS of one connection, in memory: bytes of the network in, bytes of the network out.

    asyncio's own would allocate 256 KiB for each connection, whatever that connection sends.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._next: Callable[[], object] | None = self._object.do_handshake
        self.is_ended = False
        """The client has ended its side."""

    def receive(self, data: bytes) -> bytes:
        """Return what ``data`` decrypts to; empty while the handshake is under way. Raises SSLError."""
        self._incoming.write(data)
        parts: list[bytes] = []
        try:
            if self._next is not None:
                self._next()
                self._next = None
            while part := self._object.read(WRITE_BYTES):
                parts.append(part)
            self.is_ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.is_ended = True
        return b"".join(parts)

    def encrypt(self, data: memoryview) -> bytes:
        """Return ``data`` as it is sent."""
        self._object.write(data)
        return self._outgoing.read()

    def outgoing(self) -> bytes:
        """Return what TLS itself has to send: parts of the handshake, alerts."""
        return self._outgoing.read()

    def close(self) -> bytes:
        """Return what ends our side."""
        with contextlib.suppress(ssl.SSLError):  # the client's end is not awaited
            self._object.unwrap()
        return self._outgoing.read()

    def certificate(self) -> Mapping[str, Any] | None:
        """Return the client's certificate, verified in the handshake; None without one."""
        return self._object.getpeercert()
