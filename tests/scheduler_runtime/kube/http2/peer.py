"""A server's end of a connection, without a network: the library h2 judges what we send, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings

from scheduler_runtime.kube import http2
from scheduler_runtime.kube.http.transport import ConnectionLostError, Response
from scheduler_runtime.kube.http2 import headers
from scheduler_runtime.kube.http2.connection import Http2Connection

Fields = Iterable[tuple[str, str]]
GET = (
    headers.method("GET")
    + headers.HTTPS
    + headers.field(headers.AUTHORITY, b"server")
    + headers.field(headers.PATH, b"/")
)
POST = headers.method("POST") + GET[1:]
TURNS = 10
"""So many turns of the loop are enough for whatever one frame brings about."""


@dataclass(frozen=True)
class Within:
    """A request that ``allow`` is asked about, and that may take so many seconds each time."""

    seconds: float
    allow: Callable[[], None] = lambda: None

    def __call__(self) -> float:
        self.allow()
        return self.seconds

    def remaining(self) -> float:
        return self.seconds


@dataclass
class ReceivedRequest:
    """A request as it arrived."""

    fields: list[Any]
    body: bytes = b""
    is_complete: bool = False
    reset: int | None = None

    def __getitem__(self, name: str) -> str:
        return str(dict(self.fields)[name])


class Peer(asyncio.Transport):
    """Takes what a connection writes, and feeds it what the judge says, in pieces of ``piece`` bytes."""

    def __init__(self, *, piece: int = 1 << 20, speaks: str | None = "h2", **allowed: int) -> None:
        """``allowed`` are settings by their names in small letters."""
        super().__init__()
        config = H2Configuration(
            client_side=False,
            header_encoding="utf-8",
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self.judge = H2Connection(config)
        values = {SettingCodes[name.upper()]: value for name, value in allowed.items()}
        self.judge.local_settings = Settings(client=False, initial_values=values)
        self.connection = Http2Connection(64)
        self.piece = piece
        self.speaks = speaks
        self.reads = True
        """Whether it allows more bytes for those that it got."""
        self.buffered = 0
        """How many bytes the network has not taken yet."""
        self.writes: list[bytes] = []
        self.received: dict[int, ReceivedRequest] = {}
        self.events: list[events.Event] = []
        self.is_closed = False
        self.is_dead = False
        """Whether the socket has failed, which the connection has not been told yet."""
        self._judged = 0

    # What the connection uses of a transport.

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self if name == "ssl_object" and self.speaks is not None else default

    def selected_alpn_protocol(self) -> str | None:
        return self.speaks

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        assert not self.is_closing(), "written after the end"
        self.writes.append(bytes(data))

    def is_closing(self) -> bool:
        return self.is_closed or self.is_dead

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def abort(self) -> None:
        self.is_closed = True

    # What a test does.

    async def settle(self) -> None:
        """Exchange what there is until nobody has more to say."""
        for _ in range(TURNS):
            await asyncio.sleep(0)
            self.hear()
            self.tell(self.judge.data_to_send())

    def hear(self) -> None:
        """Have the judge read what was written. It raises when that is not HTTP/2."""
        data = b"".join(self.writes[self._judged :])
        self._judged = len(self.writes)
        for event in self.judge.receive_data(data):
            self.events.append(event)
            self._note(event)

    def tell(self, data: bytes) -> None:
        """Have the connection read ``data``, until it is closed."""
        for start in range(0, len(data), self.piece):
            if not self.is_closed:
                self.connection.data_received(data[start : start + self.piece])

    def answer(self, stream: int, status: int = 200, body: bytes = b"", *fields: tuple[str, str]) -> None:
        """Answer a request with ``body``, of which as much goes as the other side allows."""
        self.judge.send_headers(stream, [(":status", str(status)), *fields], end_stream=not body)
        if body:
            self.judge.send_data(stream, body, end_stream=True)

    def events_of(self, kind: type[events.Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def _note(self, event: events.Event) -> None:
        match event:
            case events.RequestReceived():
                self.received[event.stream_id] = ReceivedRequest(list(event.headers))
            case events.DataReceived():
                self.received[event.stream_id].body += event.data
                if self.reads:
                    self.judge.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case events.StreamEnded():
                self.received[event.stream_id].is_complete = True
            case events.StreamReset():
                self.received[event.stream_id].reset = int(event.error_code)


@asynccontextmanager
async def greeted(**how: Any) -> AsyncIterator[Peer]:
    """A connection, and its peer, which have greeted each other. In the end nothing of a request is left."""
    peer = Peer(**how)
    peer.connection.connection_made(peer)
    peer.judge.initiate_connection()
    await peer.settle()
    try:
        yield peer
    finally:
        peer.connection.close()
        await asyncio.sleep(0)
        assert not peer.connection._streams
        assert not peer.connection._flow._pending


def ask(peer: Peer, head: bytes = GET, body: bytes = b"", seconds: float = 60.0) -> asyncio.Task[Response]:
    """Send a request when there is a slot for it."""

    async def send() -> Response:
        await peer.connection.slots.acquire()
        return await peer.connection.request(head, body, Within(seconds))

    task = asyncio.create_task(send())
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # not every test looks
    return task


async def outcomes(tasks: Iterable[asyncio.Task[Response]]) -> list[object]:
    """What became of each."""
    return [await outcome(task) for task in tasks]


async def outcome(task: asyncio.Task[Response]) -> object:
    """An answer, or what was raised instead."""
    try:
        async with asyncio.timeout(60):
            return await task
    except (
        http2.StreamRefusedError,
        http2.Http2UnsupportedError,
        ConnectionLostError,
        TimeoutError,
        asyncio.CancelledError,
    ) as error:
        return error
