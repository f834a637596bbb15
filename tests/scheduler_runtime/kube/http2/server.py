"""A server that speaks HTTP/2 over TLS, by the library h2, or only HTTP/1.1: for what a real API server does rarely."""

from __future__ import annotations

import asyncio
import functools
import re
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings

from scheduler_runtime.component.https.self_signed import self_signed
from scheduler_runtime.kube.credentials import Credentials
from scheduler_runtime.kube.http.transport import Endpoint

HEAD = re.compile(rb"(\w+) (\S+) HTTP/1.1\r\n.*?content-length: (\d+)\r\n\r\n", re.DOTALL | re.IGNORECASE)


@dataclass
class ReceivedRequest:
    """A request, and the connection over which it came."""

    visit: Visit
    stream: int
    fields: dict[str, str]
    body: bytes = b""

    def answer(self, status: int = 200, body: bytes = b"{}", **fields: str) -> None:
        named = [(name.replace("_", "-"), value) for name, value in fields.items()]
        self.visit.judge.send_headers(self.stream, [(":status", str(status)), *named])
        self.visit.judge.send_data(self.stream, body, end_stream=True)
        self.visit.flush()

    def refuse(self) -> None:
        self.visit.judge.reset_stream(self.stream, 7)
        self.visit.flush()

    def refuse_and_close(self) -> None:
        """Say goodbye, having looked at nothing of what came from this request on."""
        self.visit.judge.close_connection(last_stream_id=self.stream - 1)
        self.visit.flush()


Act = Callable[[ReceivedRequest], object]


@dataclass
class Server:
    """What it does with each request, and who came."""

    act: Act = ReceivedRequest.answer
    greets: bool = True
    most: int = 100
    knocks: int = 0
    """How many connections were begun."""
    visits: list[Visit] = field(default_factory=list)
    """Those that are encrypted by now."""
    received: list[ReceivedRequest] = field(default_factory=list)
    trouble: list[Exception] = field(default_factory=list)
    """What a client did that it may not."""
    place: Endpoint = field(default_factory=lambda: Endpoint("127.0.0.1", 0))
    old: ssl.SSLContext | None = None
    """What a client needs that does not offer to speak HTTP/2."""

    @property
    def credentials(self) -> Credentials:
        """For a client that would rather speak HTTP/2."""
        return Credentials(f"https://{self.place.host}:{self.place.port}", tls=self.old, http2_tls=self.place.tls)


class Visit(asyncio.Protocol):
    """One connection."""

    def __init__(self, server: Server) -> None:
        server.knocks += 1
        self.server = server
        self.speaks: str | None = None
        self.is_closed = False
        self.judge = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        values = {SettingCodes.MAX_CONCURRENT_STREAMS: server.most}
        self.judge.local_settings = Settings(client=False, initial_values=values)
        self.transport: Any = None
        self._open: dict[int, ReceivedRequest] = {}
        self._old = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.speaks = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        self.server.visits.append(self)
        if self.speaks == "h2" and self.server.greets:
            self.judge.initiate_connection()
            self.flush()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_closed = True

    def data_received(self, data: bytes) -> None:
        if self.speaks != "h2":
            self._hear_old(data)
        elif self.server.greets:
            self._hear(data)

    def flush(self) -> None:
        self.transport.write(self.judge.data_to_send())

    def _hear(self, data: bytes) -> None:
        try:
            new_events = self.judge.receive_data(data)
        except Exception as error:
            self.server.trouble.append(error)
            raise
        for event in new_events:
            self._note(event)
        self.flush()

    def _note(self, event: events.Event) -> None:
        match event:
            case events.RequestReceived():
                fields = {str(name): str(value) for name, value in event.headers}
                self._open[event.stream_id] = ReceivedRequest(self, event.stream_id, fields)
            case events.DataReceived():
                self._open[event.stream_id].body += event.data
            case events.StreamEnded():
                request = self._open.pop(event.stream_id)
                self.server.received.append(request)
                self.server.act(request)

    def _hear_old(self, data: bytes) -> None:
        """Answer one request after another in HTTP/1.1."""
        self._old += data
        while (head := HEAD.match(self._old)) and len(self._old) >= head.end() + int(head[3]):
            fields, body = {":method": head[1].decode(), ":path": head[2].decode()}, self._old[head.end() :]
            self.server.received.append(ReceivedRequest(self, 0, fields, body[: int(head[3])]))
            self._old = body[int(head[3]) :]
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


@asynccontextmanager
async def serving(*speaks: str, **how: Any) -> AsyncIterator[Server]:
    """A server that speaks these protocols, the one it likes best first."""
    server = Server(**how)
    listening = await asyncio.get_running_loop().create_server(
        lambda: Visit(server), "127.0.0.1", 0, ssl=_identity(speaks)
    )
    offering, server.old = _trusting(), _trusting()
    offering.set_alpn_protocols(["h2", "http/1.1"])
    server.place = Endpoint("127.0.0.1", listening.sockets[0].getsockname()[1], offering)
    try:
        yield server
    finally:
        listening.close()
        for visit in server.visits:
            visit.transport.abort()
        await asyncio.sleep(0)
        assert server.trouble == []


@functools.cache
def _certificate() -> tuple[bytes, bytes]:
    return self_signed("127.0.0.1", 1)


def _identity(speaks: tuple[str, ...]) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    if speaks:
        context.set_alpn_protocols(list(speaks))
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(b"".join(reversed(_certificate())))
        context.load_cert_chain(file.name)
    return context


def _trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=_certificate()[0].decode())
