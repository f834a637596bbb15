"""Answers that come bit by bit: read as they come, ended when they fall silent, held back when nobody reads."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from scheduler_runtime.kube.http import stream as streaming
from scheduler_runtime.kube.http.stream import Stream
from scheduler_runtime.kube.http.transport import ConnectionLostError, Endpoint, connect

Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]
REQUEST = b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@contextlib.asynccontextmanager
async def streaming_from(serve: Serve, silence_seconds: float = 5) -> AsyncIterator[Stream]:
    """A stream from a server that has read the request."""
    ended = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            await serve(writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        ended.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    stream = await connect(Endpoint("127.0.0.1", server.sockets[0].getsockname()[1]), Stream(silence_seconds))
    try:
        yield stream
    finally:
        stream.close()
        await asyncio.wait_for(ended.wait(), 5)
        server.close()
        await server.wait_closed()


def sending(*parts: bytes) -> Serve:
    async def serve(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.01)

    return serve


async def test_what_comes_is_read_when_it_comes_until_its_end_in_good_order() -> None:
    async with streaming_from(sending(HEAD, chunk(b"one"), chunk(b"two"), b"0\r\n\r\n")) as stream:
        await stream.send_request(REQUEST)
        assert stream.status == 200
        assert await stream.read() == b"one"
        assert await stream.read() == b"two"
        assert await stream.read() == b""
        assert await stream.read() == b""


async def test_who_wants_much_is_not_woken_for_little() -> None:
    async with streaming_from(sending(HEAD, chunk(b"one"), chunk(b"two"), chunk(b"three"), b"0\r\n\r\n")) as stream:
        await stream.send_request(REQUEST)
        assert (await stream.read(5), await stream.read(100), await stream.read(100)) == (b"onetwo", b"three", b"")


async def test_what_came_before_a_cut_is_read_and_then_the_cut_is_an_error() -> None:
    async with streaming_from(sending(HEAD + chunk(b"one"))) as stream:
        await stream.send_request(REQUEST)
        assert await stream.read() == b"one"
        with pytest.raises(ConnectionLostError, match="the server closed the connection"):
            await stream.read()


async def test_a_refusal_is_read_as_a_whole() -> None:
    refusal = b"HTTP/1.1 429 No\r\nRetry-After: 7\r\nContent-Length: 6\r\n\r\nlat"
    async with streaming_from(sending(b"HTTP/1.1 100 Continue\r\n\r\n", refusal, b"er!")) as stream:
        await stream.send_request(REQUEST)
        assert (stream.status, stream.retry_after) == (429, "7")
        assert await stream.read_all() == b"later!"


def silent_after(answer: bytes, over: asyncio.Event) -> Serve:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await over.wait()

    return serve


async def test_a_server_that_does_not_answer_is_a_lost_connection() -> None:
    over = asyncio.Event()
    async with streaming_from(silent_after(b"", over), silence_seconds=0.1) as stream:
        with pytest.raises(ConnectionLostError, match=r"no word for 0\.1 s"):
            await stream.send_request(REQUEST)
        over.set()


async def test_silence_after_what_came_is_an_end() -> None:
    over = asyncio.Event()
    async with streaming_from(silent_after(HEAD + chunk(b"one"), over), silence_seconds=0.1) as stream:
        await stream.send_request(REQUEST)
        assert await stream.read() == b"one"
        assert await stream.read() == b""
        assert stream.fell_silent
        over.set()


async def test_an_answer_that_is_not_http_is_an_error() -> None:
    async with streaming_from(sending(b"SSH-2.0\r\n\r\n")) as stream:
        with pytest.raises(ConnectionLostError, match="not HTTP"):
            await stream.send_request(REQUEST)


async def test_a_sender_waits_for_a_slow_reader_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "UNREAD_BYTES", 1 << 16)
    part, count, sent = b"x" * (1 << 16), 256, 0

    async def serve(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(HEAD)
        for _ in range(count):
            writer.write(chunk(part))
            await writer.drain()
            sent += 1
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async with streaming_from(serve, silence_seconds=0.2) as stream:
        await stream.send_request(REQUEST)
        await asyncio.sleep(0.5)  # longer than the silence that ends a connection
        assert sent < count
        assert len(await stream.read_all()) == count * len(part)
