"""One connection for everybody, and the next one when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from scheduler_runtime.kube.http.transport import ConnectionLostError, Endpoint, Response
from scheduler_runtime.kube.http2 import (
    Http2UnsupportedError,
    SharedConnection,
    StreamRefusedError,
    connection,
    shared_connection,
)
from tests.scheduler_runtime.kube.http2.peer import GET, POST, Within
from tests.scheduler_runtime.kube.http2.server import Act, ReceivedRequest, Server, serving

OK = Response(200, b"{}")


@asynccontextmanager
async def sharing(*speaks: str, **how: Any) -> AsyncIterator[tuple[Server, SharedConnection]]:
    async with serving(*(speaks or ("h2",)), **how) as server:
        shared = SharedConnection(server.place, 64)
        try:
            yield server, shared
        finally:
            shared.close()


async def ask(
    shared: SharedConnection, body: bytes = b"", seconds: float = 30.0, before_send: Callable[[], None] = lambda: None
) -> Response:
    async with asyncio.timeout(30):
        return await shared.request(POST if body else GET, body, Within(seconds, before_send))


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  what is waited for is on the other side
            await asyncio.sleep(0.005)


def in_turn(*acts: Act) -> Act:
    """Do these to the requests that come, one each, and answer all others."""
    remaining = list(acts)
    return lambda request: (remaining.pop(0) if remaining else ReceivedRequest.answer)(request)


def say_nothing(request: ReceivedRequest) -> None:
    """Leave a request without an answer."""


async def test_many_who_come_at_once_share_one_connection() -> None:
    async with sharing() as (server, shared):
        bodies = [b"%d" % number for number in range(100)]
        assert await asyncio.gather(*(ask(shared, body) for body in bodies)) == [OK] * 100
        assert sorted(request.body for request in server.received) == sorted(bodies)
        assert len(server.visits) == 1


async def test_a_connection_that_cannot_be_opened_is_an_error_for_all_who_wait_for_it() -> None:
    visits = 0

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal visits
        visits += 1
        writer.transport.abort()

    async with serving("h2") as server, await asyncio.start_server(hang_up, "127.0.0.1", 0) as closing:
        shared = SharedConnection(Endpoint("127.0.0.1", closing.sockets[0].getsockname()[1], server.place.tls), 64)
        for tries in (1, 2):
            ended = await asyncio.gather(*(ask(shared) for _ in range(20)), return_exceptions=True)
            assert all(isinstance(error, OSError) for error in ended)
            assert visits == tries


async def test_who_gives_up_on_a_connection_that_is_being_opened_does_not_disturb_the_others() -> None:
    async with sharing() as (server, shared):
        tasks = [asyncio.create_task(ask(shared)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        assert await asyncio.gather(*tasks[1:]) == [OK] * 2
        assert len(server.visits) == 1


async def test_a_connection_that_is_being_opened_when_all_are_to_end_ends() -> None:
    async with sharing(greets=False) as (server, shared):
        task = asyncio.create_task(ask(shared))
        await until(lambda: server.visits)
        shared.close()
        await asyncio.wait([task])
        await until(lambda: server.visits[0].is_closed)
        assert task.cancelled()


async def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sharing() as (server, shared):
        for _ in range(2):
            await ask(shared)
        assert len(server.visits) == 1
        monkeypatch.setattr(shared_connection, "IDLE_SECONDS", 0.0)
        await ask(shared)
        assert len(server.visits) == 2
        await until(lambda: server.visits[0].is_closed)


@pytest.mark.parametrize("act", [ReceivedRequest.refuse, ReceivedRequest.refuse_and_close])
async def test_what_was_refused_is_sent_again(act: Act) -> None:
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    async with sharing(act=in_turn(act, act)) as (server, shared):
        assert await ask(shared, b"body", before_send=count) == OK
        assert [request.body for request in server.received] == [b"body"] * 3
        assert calls == 3
        assert len(server.visits) == (1 if act == ReceivedRequest.refuse else 3)


async def test_a_server_that_closes_answers_what_it_has_looked_at_and_gets_the_rest_again() -> None:
    def close_at(request: ReceivedRequest) -> None:
        if request.body == b"20" and request.visit is server.visits[0]:
            request.refuse_and_close()
        elif not request.visit.is_closed:
            request.answer()

    async with sharing(act=close_at) as (server, shared):
        early = [asyncio.create_task(ask(shared, b"%d" % number)) for number in range(20)]
        await asyncio.wait(early)
        more = await asyncio.gather(*(ask(shared, b"%d" % number) for number in range(20, 40)))
        assert [task.result() for task in early] + more == [OK] * 40
        assert len(server.visits) == 2


async def test_a_server_that_refuses_always_does_not_get_a_request_for_ever() -> None:
    async with sharing(act=ReceivedRequest.refuse) as (server, shared):
        with pytest.raises(StreamRefusedError):
            await ask(shared)
        assert len(server.received) == shared_connection.ATTEMPTS


async def test_what_was_refused_stays_so_when_there_is_no_other_connection_in_time() -> None:
    def refuse(request: ReceivedRequest) -> None:
        server.greets = False
        request.refuse_and_close()

    async with sharing(act=refuse) as (server, shared):
        task = asyncio.create_task(ask(shared, seconds=5.0))
        await until(lambda: server.knocks == 2)
        time_passes(6.0)
        with pytest.raises(StreamRefusedError, match="timed out"):
            await task
        assert len(server.received) == 1


def time_passes(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    clock = loop.time
    loop.time = lambda: clock() + seconds  # type: ignore[method-assign]


async def test_a_connection_that_breaks_is_replaced_for_whoever_comes_next() -> None:
    async with sharing(act=in_turn(lambda request: request.visit.transport.abort())) as (server, shared):
        with pytest.raises(ConnectionLostError):
            await ask(shared)
        assert await ask(shared) == OK
        assert len(server.visits) == 2


async def test_a_guard_is_called_when_there_is_a_slot_and_a_refusal_passes_the_slot_on() -> None:
    class NotNowError(Exception):
        pass

    refused_at: list[int] = []

    def refuse() -> None:
        refused_at.append(len(server.received))
        raise NotNowError

    async with sharing(act=in_turn(say_nothing), most=1) as (server, shared):
        first = asyncio.create_task(ask(shared, b"first"))
        await until(lambda: server.received)
        barred = [asyncio.create_task(ask(shared, b"barred", before_send=refuse)) for _ in range(3)]
        last = asyncio.create_task(ask(shared, b"last"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert refused_at == []
        server.received[0].answer()
        assert [await first, await last] == [OK] * 2
        assert refused_at == [1] * 3
        assert [type(task.exception()) for task in barred] == [NotNowError] * 3
        assert [request.body for request in server.received] == [b"first", b"last"]


async def test_the_guard_is_not_called_when_there_is_no_connection() -> None:
    async with serving("h2") as server:
        nowhere = Endpoint(server.place.host, server.place.port, server.old)
    was_called = False

    def ask_me() -> None:
        nonlocal was_called
        was_called = True

    with pytest.raises(ConnectionRefusedError):
        await ask(SharedConnection(nowhere, 64), before_send=ask_me)
    assert not was_called


async def test_a_time_out_ends_the_request_and_the_next_one_goes_another_way() -> None:
    async with sharing(act=in_turn(say_nothing)) as (server, shared):
        with pytest.raises(TimeoutError):
            await ask(shared, seconds=0.05)
        assert await ask(shared) == OK
        assert len(server.visits) == 2


@pytest.mark.parametrize("speaks", [[], ["http/1.1"]])
async def test_a_server_that_does_not_speak_it_is_noticed_once_for_all(speaks: list[str]) -> None:
    async with serving(*speaks) as server:
        shared = SharedConnection(server.place, 64)
        ended = await asyncio.gather(*(ask(shared) for _ in range(20)), return_exceptions=True)
        assert {type(error) for error in ended} == {Http2UnsupportedError}
        assert server.knocks == 1


async def test_a_server_that_closes_at_the_beginning_is_no_connection() -> None:
    async with sharing(greets=False) as (server, shared):
        task = asyncio.create_task(ask(shared))
        await until(lambda: server.visits)
        server.visits[0].transport.abort()
        with pytest.raises(
            ConnectionError, match="does not answer in HTTP/2, which it offers: the server closed the connection"
        ):
            await task


async def test_who_gives_up_early_leaves_a_connection_that_has_fallen_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENT_SECONDS", 0.05)
    async with sharing(act=in_turn(ReceivedRequest.answer, say_nothing, say_nothing)) as (server, shared):
        await ask(shared)
        for seconds in (0.01, 0.2):
            assert len(server.visits) == 1
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(seconds):
                    await shared.request(GET, b"", Within(30.0))
        assert await ask(shared) == OK
        assert len(server.visits) == 2


async def test_a_silent_connection_without_a_slot_is_retired_by_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENT_SECONDS", 0.02)
    monkeypatch.setattr(shared_connection, "PROBE_SECONDS", 0.1)
    async with serving("h2", act=in_turn(say_nothing)) as server:
        shared = SharedConnection(server.place, 1)
        silent = asyncio.create_task(ask(shared))
        await until(lambda: server.received)
        assert await ask(shared) == OK
        assert len(server.visits) == 2
        silent.cancel()
        await asyncio.wait([silent])
        shared.close()


async def test_who_has_waited_for_long_is_not_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_connection, "PROBE_SECONDS", 0.01)
    async with sharing(act=in_turn(say_nothing), most=1) as (server, shared):
        first = asyncio.create_task(ask(shared, b"first"))
        await until(lambda: server.received)
        early = asyncio.create_task(ask(shared, b"early"))
        await asyncio.wait([early], timeout=0.1)
        late = asyncio.create_task(ask(shared, b"late"))
        await asyncio.wait([late], timeout=0.015)
        server.received[0].answer()
        await asyncio.gather(first, early, late)
        assert [request.body for request in server.received] == [b"first", b"early", b"late"]


async def test_who_gives_up_waiting_for_room_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sharing(act=in_turn(say_nothing), most=1) as (server, shared):
        first = asyncio.create_task(ask(shared, b"first"))
        await until(lambda: server.received)
        waiting = [asyncio.create_task(ask(shared, b"%d" % number)) for number in range(3)]
        await asyncio.wait(waiting, timeout=0.02)
        server.received[0].answer()
        for task in waiting[:2]:
            task.cancel()
        await asyncio.wait([first, *waiting])
        assert waiting[2].result() == OK
        assert shared._connection is not None
        assert shared._connection.slots._free == 1


async def test_a_connection_that_ends_as_soon_as_it_begins_is_not_opened_over_and_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    really = shared_connection._open_connection

    async def open_and_retire(place: Endpoint, most: int) -> connection.Http2Connection:
        opened_connection = await really(place, most)
        opened_connection.retire()  # as a GOAWAY does that comes a turn later
        return opened_connection

    monkeypatch.setattr(shared_connection, "_open_connection", open_and_retire)
    async with sharing() as (server, shared):
        with pytest.raises(ConnectionError, match="closed the new connection at once"):
            await ask(shared)
        assert server.knocks == 1


async def test_a_request_after_the_end_is_an_error() -> None:
    async with sharing() as (server, shared):
        shared.close()
        with pytest.raises(ConnectionError, match="the client is closed"):
            await ask(shared)
        assert server.knocks == 0


@pytest.mark.parametrize("how", ["request", "connection"])
async def test_a_server_that_wants_http_1_1_for_a_request_does_not_speak_it(how: str) -> None:
    def want_another(request: ReceivedRequest) -> None:
        if how == "request":
            request.visit.judge.reset_stream(request.stream, 13)
        else:
            request.visit.judge.close_connection(13, last_stream_id=0)
        request.visit.flush()

    async with sharing(act=want_another) as (_, shared):
        with pytest.raises(Http2UnsupportedError):
            await ask(shared)
