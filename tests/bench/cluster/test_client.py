"""Answers are read as the API server frames them."""

from __future__ import annotations

import asyncio
import ssl
from typing import cast

import pytest

from bench.cluster.client import Connection, RefusedError, Server


class Sent:
    """Keeps what a connection writes."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


def connection(answer: bytes) -> tuple[Connection, Sent]:
    """A connection on which ``answer`` arrives in small pieces, and then nothing any more."""
    reader, sent = asyncio.StreamReader(), Sent()
    for start in range(0, len(answer), 5):
        reader.feed_data(answer[start : start + 5])
    reader.feed_eof()
    server = Server("here", 1, ssl.create_default_context(), "secret")
    return Connection(server, reader, cast(asyncio.StreamWriter, sent)), sent


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\nX: y\r\n\r\n{"a": 1}', id="whole"),
        pytest.param(
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n5\r\n": 1}\r\n0\r\n\r\n', id="in-chunks"
        ),
    ],
)
async def test_an_answer_is_read_to_its_end_and_no_further(answer: bytes) -> None:
    there, sent = connection(answer + answer)
    assert await there.get("/x") == {"a": 1}
    assert await there.get("/y") == {"a": 1}
    assert sent.data.startswith(b"GET /x HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer secret\r\n")


async def test_a_body_is_sent_with_its_length() -> None:
    there, sent = connection(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")
    assert await there.post("/x", b"{12}") == b"{}"
    assert sent.data.endswith(b"Content-Type: application/json\r\nContent-Length: 4\r\n\r\n{12}")


async def test_after_a_closed_idle_connection_the_request_goes_over_another() -> None:
    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}')
        writer.close()
        await writer.wait_closed()

    listening = await asyncio.start_server(answer_once, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    async with listening:
        there = await Connection.open(Server(host, port, None, "secret"))
        for _ in range(3):
            assert await there.get("/x") == {"a": 1}
            await there._reader.read()  # until it has hung up
        await there.close()


async def test_a_refusal_is_raised_with_request_and_answer() -> None:
    there, _ = connection(b"HTTP/1.1 409 Conflict\r\nContent-Length: 5\r\n\r\ntaken")
    with pytest.raises(RefusedError, match="POST /x: HTTP 409: taken") as raised:
        await there.post("/x", b"{}")
    assert raised.value.status == 409


async def test_a_stream_ends_when_the_server_ends_it() -> None:
    there, _ = connection(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
    assert [chunk async for chunk in there.stream("/x", "text/plain")] == [b"ab", b"c"]


async def test_a_server_that_goes_away_is_an_error() -> None:
    there, _ = connection(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")
    with pytest.raises(EOFError):
        await there.get("/x")
