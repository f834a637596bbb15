"""Short requests: how connections are kept, shared and given up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from scheduler_runtime.kube.http.http1 import ConnectionPool, Http1Connection
from scheduler_runtime.kube.http.transport import ConnectionLostError, Endpoint, connect

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextlib.asynccontextmanager
async def pool(serve: Serve, limit: int = 2) -> AsyncIterator[ConnectionPool]:
    serving: set[asyncio.StreamWriter] = set()

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection_pool = ConnectionPool(Endpoint("127.0.0.1", port), limit)
    try:
        yield connection_pool
    finally:
        connection_pool.close()
        server.close()
        for writer in serving:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


def answering(*answers: bytes) -> Serve:
    """Answers each request of a connection with the next of ``answers``, over and over, in pieces of ten bytes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            for answer in answers:
                await reader.readuntil(b"\r\n\r\n")
                for start in range(0, len(answer), 10):
                    writer.write(answer[start : start + 10])
                    await writer.drain()

    return serve


async def ask(connection_pool: ConnectionPool) -> tuple[int, bytes, str]:
    connection = await connection_pool.acquire()
    try:
        answer = await connection.request(REQUEST)
    finally:
        connection_pool.release(connection)
    return answer.status, answer.body, answer.retry_after


CHUNKED = b"HTTP/1.1 429 No\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n1\r\n!\r\n0\r\n\r\n"


async def test_answers_are_read_however_they_come() -> None:
    async with pool(answering(OK, b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED)) as connection_pool:
        assert await ask(connection_pool) == (200, b"ok", "")
        assert await ask(connection_pool) == (429, b"no!", "7")
        assert await ask(connection_pool) == (200, b"ok", "")


async def test_one_connection_serves_one_request_after_another() -> None:
    connections: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await answering(OK)(reader, writer)

    async with pool(serve) as connection_pool:
        for _ in range(5):
            await ask(connection_pool)
        assert len(connections) == 1
        await asyncio.gather(*(ask(connection_pool) for _ in range(20)))
        assert len(connections) == 2


async def test_an_answer_that_ends_early_is_an_error_and_the_next_request_gets_another_connection() -> None:
    first = True

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal first
        if first:
            first = False
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK[:-1])
            return
        await answering(OK)(reader, writer)

    async with pool(serve, limit=1) as connection_pool:
        with pytest.raises(ConnectionLostError):
            await ask(connection_pool)
        assert (await ask(connection_pool))[0] == 200


async def test_a_server_that_closes_after_a_response_gets_the_next_request_on_another_connection() -> None:
    closing = answering(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    async with pool(closing, limit=1) as connection_pool:
        for _ in range(3):
            assert (await ask(connection_pool))[0] == 200


async def test_an_answer_that_is_not_http_is_an_error() -> None:
    async with pool(answering(b"SSH-2.0-OpenSSH_9.2\r\n")) as connection_pool:
        with pytest.raises(ConnectionLostError, match="not HTTP"):
            await ask(connection_pool)


async def test_who_gives_up_waiting_takes_no_connection_along() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")

    async with pool(hang, limit=1) as connection_pool:
        holding = asyncio.create_task(ask(connection_pool))
        await asyncio.sleep(0.05)
        waiting = [asyncio.create_task(ask(connection_pool)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        holding.cancel()
        await asyncio.sleep(0.05)
        assert waiting[0].cancelled()
        assert not waiting[1].done()
        for task in waiting[1:]:
            task.cancel()
        await asyncio.gather(holding, *waiting, return_exceptions=True)
        assert (await connection_pool.acquire()).is_open


async def test_room_that_is_offered_to_who_gives_up_goes_to_the_next() -> None:
    async with pool(answering(OK), limit=1) as connection_pool:
        first = await connection_pool.acquire()
        gives_up, stays = (asyncio.create_task(connection_pool.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        first.close()
        connection_pool.release(first)
        gives_up.cancel()
        assert (await asyncio.wait_for(stays, 5)).is_open
        connection_pool.release(await stays)
        with pytest.raises(asyncio.CancelledError):
            await gives_up


async def test_a_connection_that_ends_on_its_way_to_who_waits_is_replaced() -> None:
    async with pool(answering(OK), limit=1) as connection_pool:
        first = await connection_pool.acquire()
        waiting = asyncio.create_task(connection_pool.acquire())
        await asyncio.sleep(0)
        connection_pool.release(first)
        first.close()
        second = await asyncio.wait_for(waiting, 5)
        assert second is not first
        assert (await second.request(REQUEST)).status == 200


async def test_who_may_not_send_any_more_leaves_the_connection_as_it_was() -> None:
    def refuse() -> None:
        raise PermissionError

    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(OK)

    async with pool(serve, limit=1) as connection_pool:
        connection = await connection_pool.acquire()
        with pytest.raises(PermissionError):
            await connection.request(REQUEST, refuse)
        assert (await connection.request(REQUEST)).status == 200
        assert requests == [REQUEST]


async def test_nobody_there_is_an_error_and_takes_no_place() -> None:
    connection_pool = ConnectionPool(Endpoint("127.0.0.1", 9), limit=1)
    for _ in range(3):
        with pytest.raises(OSError, match="onnect"):
            await connection_pool.acquire()


async def test_a_connection_that_was_open_when_its_opener_gave_up_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, opened = asyncio.get_running_loop(), asyncio.Event()
    open_one = loop.create_connection

    async def opens_late(*args: Any, **how: Any) -> Any:
        await open_one(*args, **how)
        opened.set()
        await asyncio.sleep(3600)

    async with await asyncio.start_server(answering(OK), "127.0.0.1", 0) as server:
        monkeypatch.setattr(loop, "create_connection", opens_late)
        connection = Http1Connection()
        opening = asyncio.create_task(connect(Endpoint("127.0.0.1", server.sockets[0].getsockname()[1]), connection))
        await opened.wait()
        opening.cancel()
        await asyncio.wait([opening])
        assert not connection.is_open
