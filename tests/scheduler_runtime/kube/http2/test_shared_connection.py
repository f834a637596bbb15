"""One connection for everybody, and the next one when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from scheduler_runtime.kube.http.transport import ConnectionLostError, Endpoint, Response
from scheduler_runtime.kube.http2 import Http2UnsupportedError, SharedConnection, StreamRefusedError, connection
from scheduler_runtime.kube.http2 import shared_connection as shared
from tests.scheduler_runtime.kube.http2.peer import GET, POST, Within
from tests.scheduler_runtime.kube.http2.server import Act, Asked, Server, serving

OK = Response(200, b"{}")


@asynccontextmanager
async def sharing(*speaks: str, **how: Any) -> AsyncIterator[tuple[Server, SharedConnection]]:
    async with serving(*(speaks or ("h2",)), **how) as server:
        made = SharedConnection(server.place, 64)
        try:
            yield server, made
        finally:
            made.close()


async def ask(
    made: SharedConnection, body: bytes = b"", seconds: float = 30.0, before_send: Callable[[], None] = lambda: None
) -> Response:
    async with asyncio.timeout(30):
        return await made.request(POST if body else GET, body, Within(seconds, before_send))


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  what is waited for is on the other side
            await asyncio.sleep(0.005)


def in_turn(*acts: Act) -> Act:
    """Do these to the requests that come, one each, and answer all others."""
    left = list(acts)
    return lambda asked: (left.pop(0) if left else Asked.answer)(asked)


def say_nothing(asked: Asked) -> None:
    """Leave a request without an answer."""


async def test_many_who_come_at_once_share_one_connection() -> None:
    async with sharing() as (server, made):
        bodies = [b"%d" % number for number in range(100)]
        assert await asyncio.gather(*(ask(made, body) for body in bodies)) == [OK] * 100
        assert sorted(asked.body for asked in server.asked) == sorted(bodies)
        assert len(server.visits) == 1


async def test_a_connection_that_cannot_be_opened_is_told_to_all_who_wait_for_it() -> None:
    visits = 0

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal visits
        visits += 1
        writer.transport.abort()

    async with serving("h2") as server, await asyncio.start_server(hang_up, "127.0.0.1", 0) as closing:
        made = SharedConnection(Endpoint("127.0.0.1", closing.sockets[0].getsockname()[1], server.place.tls), 64)
        for tries in (1, 2):
            ended = await asyncio.gather(*(ask(made) for _ in range(20)), return_exceptions=True)
            assert all(isinstance(each, OSError) for each in ended)
            assert visits == tries


async def test_who_gives_up_on_a_connection_that_is_being_opened_does_not_disturb_the_others() -> None:
    async with sharing() as (server, made):
        tasks = [asyncio.create_task(ask(made)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        assert await asyncio.gather(*tasks[1:]) == [OK] * 2
        assert len(server.visits) == 1


async def test_a_connection_that_is_being_opened_when_all_are_to_end_ends() -> None:
    async with sharing(greets=False) as (server, made):
        task = asyncio.create_task(ask(made))
        await until(lambda: server.visits)
        made.close()
        await asyncio.wait([task])
        await until(lambda: server.visits[0].is_closed)
        assert task.cancelled()


async def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sharing() as (server, made):
        for _ in range(2):
            await ask(made)
        assert len(server.visits) == 1
        monkeypatch.setattr(shared, "IDLE_SECONDS", 0.0)
        await ask(made)
        assert len(server.visits) == 2
        await until(lambda: server.visits[0].is_closed)


@pytest.mark.parametrize("act", [Asked.refuse, Asked.refuse_and_close])
async def test_what_was_refused_is_sent_again(act: Act) -> None:
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    async with sharing(act=in_turn(act, act)) as (server, made):
        assert await ask(made, b"body", before_send=count) == OK
        assert [asked.body for asked in server.asked] == [b"body"] * 3
        assert calls == 3
        assert len(server.visits) == (1 if act == Asked.refuse else 3)


async def test_a_server_that_closes_answers_what_it_has_looked_at_and_gets_the_rest_again() -> None:
    def close_at(asked: Asked) -> None:
        if asked.body == b"20" and asked.visit is server.visits[0]:
            asked.refuse_and_close()
        elif not asked.visit.is_closed:
            asked.answer()

    async with sharing(act=close_at) as (server, made):
        kept = [asyncio.create_task(ask(made, b"%d" % number)) for number in range(20)]
        await asyncio.wait(kept)
        more = await asyncio.gather(*(ask(made, b"%d" % number) for number in range(20, 40)))
        assert [task.result() for task in kept] + more == [OK] * 40
        assert len(server.visits) == 2


async def test_a_server_that_refuses_always_is_not_asked_for_ever() -> None:
    async with sharing(act=Asked.refuse) as (server, made):
        with pytest.raises(StreamRefusedError):
            await ask(made)
        assert len(server.asked) == shared.ATTEMPTS


async def test_what_was_refused_stays_so_when_there_is_no_other_connection_in_time() -> None:
    def refuse(asked: Asked) -> None:
        server.greets = False
        asked.refuse_and_close()

    async with sharing(act=refuse) as (server, made):
        task = asyncio.create_task(ask(made, seconds=5.0))
        await until(lambda: server.knocks == 2)
        time_passes(6.0)
        with pytest.raises(StreamRefusedError, match="none in time"):
            await task
        assert len(server.asked) == 1


def time_passes(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    clock = loop.time
    loop.time = lambda: clock() + seconds  # type: ignore[method-assign]


async def test_a_connection_that_breaks_is_replaced_for_whoever_comes_next() -> None:
    async with sharing(act=in_turn(lambda asked: asked.visit.transport.abort())) as (server, made):
        with pytest.raises(ConnectionLostError):
            await ask(made)
        assert await ask(made) == OK
        assert len(server.visits) == 2


async def test_whoever_may_not_send_is_asked_when_there_is_room_and_leaves_it_to_others() -> None:
    class NotNowError(Exception):
        pass

    asked_at: list[int] = []

    def refuse() -> None:
        asked_at.append(len(server.asked))
        raise NotNowError

    async with sharing(act=in_turn(say_nothing), most=1) as (server, made):
        first = asyncio.create_task(ask(made, b"first"))
        await until(lambda: server.asked)
        barred = [asyncio.create_task(ask(made, b"barred", before_send=refuse)) for _ in range(3)]
        last = asyncio.create_task(ask(made, b"last"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert asked_at == []
        server.asked[0].answer()
        assert [await first, await last] == [OK] * 2
        assert asked_at == [1] * 3
        assert [type(task.exception()) for task in barred] == [NotNowError] * 3
        assert [asked.body for asked in server.asked] == [b"first", b"last"]


async def test_nobody_is_asked_whether_to_send_when_there_is_no_connection() -> None:
    async with serving("h2") as server:
        nowhere = Endpoint(server.place.host, server.place.port, server.old)
    asked = False

    def ask_me() -> None:
        nonlocal asked
        asked = True

    with pytest.raises(ConnectionRefusedError):
        await ask(SharedConnection(nowhere, 64), before_send=ask_me)
    assert not asked


async def test_a_time_out_ends_the_request_and_the_next_one_goes_another_way() -> None:
    async with sharing(act=in_turn(say_nothing)) as (server, made):
        with pytest.raises(TimeoutError):
            await ask(made, seconds=0.05)
        assert await ask(made) == OK
        assert len(server.visits) == 2


@pytest.mark.parametrize("speaks", [[], ["http/1.1"]])
async def test_a_server_that_does_not_speak_it_is_found_out_once_for_all(speaks: list[str]) -> None:
    async with serving(*speaks) as server:
        made = SharedConnection(server.place, 64)
        ended = await asyncio.gather(*(ask(made) for _ in range(20)), return_exceptions=True)
        assert {type(each) for each in ended} == {Http2UnsupportedError}
        assert server.knocks == 1


async def test_a_server_that_closes_at_the_beginning_is_no_connection() -> None:
    async with sharing(greets=False) as (server, made):
        task = asyncio.create_task(ask(made))
        await until(lambda: server.visits)
        server.visits[0].transport.abort()
        with pytest.raises(
            ConnectionError, match="does not answer in HTTP/2, which it offers: the server closed the connection"
        ):
            await task


async def test_who_gives_up_early_leaves_a_connection_that_has_fallen_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENT_SECONDS", 0.05)
    async with sharing(act=in_turn(Asked.answer, say_nothing, say_nothing)) as (server, made):
        await ask(made)
        for seconds in (0.01, 0.2):
            assert len(server.visits) == 1
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(seconds):
                    await made.request(GET, b"", Within(30.0))
        assert await ask(made) == OK
        assert len(server.visits) == 2


async def test_a_silent_connection_without_room_is_left_by_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENT_SECONDS", 0.02)
    monkeypatch.setattr(shared, "PROBE_SECONDS", 0.1)
    async with serving("h2", act=in_turn(say_nothing)) as server:
        made = SharedConnection(server.place, 1)
        silent = asyncio.create_task(ask(made))
        await until(lambda: server.asked)
        assert await ask(made) == OK
        assert len(server.visits) == 2
        silent.cancel()
        await asyncio.wait([silent])
        made.close()


async def test_who_has_waited_for_long_is_not_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "PROBE_SECONDS", 0.01)
    async with sharing(act=in_turn(say_nothing), most=1) as (server, made):
        first = asyncio.create_task(ask(made, b"first"))
        await until(lambda: server.asked)
        early = asyncio.create_task(ask(made, b"early"))
        await asyncio.wait([early], timeout=0.1)
        late = asyncio.create_task(ask(made, b"late"))
        await asyncio.wait([late], timeout=0.015)
        server.asked[0].answer()
        await asyncio.gather(first, early, late)
        assert [asked.body for asked in server.asked] == [b"first", b"early", b"late"]


async def test_who_gives_up_waiting_for_room_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sharing(act=in_turn(say_nothing), most=1) as (server, made):
        first = asyncio.create_task(ask(made, b"first"))
        await until(lambda: server.asked)
        waiting = [asyncio.create_task(ask(made, b"%d" % number)) for number in range(3)]
        await asyncio.wait(waiting, timeout=0.02)
        server.asked[0].answer()
        for task in waiting[:2]:
            task.cancel()
        await asyncio.wait([first, *waiting])
        assert waiting[2].result() == OK
        assert made._connection is not None
        assert made._connection.slots._free == 1


async def test_a_connection_that_ends_as_soon_as_it_begins_is_not_opened_over_and_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    really = shared._open_connection

    async def opened(place: Endpoint, most: int) -> connection.Http2Connection:
        made = await really(place, most)
        made.retire()  # as a GOAWAY does that comes a turn later
        return made

    monkeypatch.setattr(shared, "_open_connection", opened)
    async with sharing() as (server, made):
        with pytest.raises(ConnectionError, match="ends what it has just begun"):
            await ask(made)
        assert server.knocks == 1


async def test_whoever_asks_after_the_end_is_told_so() -> None:
    async with sharing() as (server, made):
        made.close()
        with pytest.raises(ConnectionError, match="nobody is to be asked"):
            await ask(made)
        assert server.knocks == 0


@pytest.mark.parametrize("how", ["request", "connection"])
async def test_a_server_that_wants_http_1_1_for_a_request_does_not_speak_it(how: str) -> None:
    def want_another(asked: Asked) -> None:
        if how == "request":
            asked.visit.judge.reset_stream(asked.stream, 13)
        else:
            asked.visit.judge.close_connection(13, last_stream_id=0)
        asked.visit.flush()

    async with sharing(act=want_another) as (_, made):
        with pytest.raises(Http2UnsupportedError):
            await ask(made)
