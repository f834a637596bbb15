"""Requests that end other than by a response, and the effect on the others and on the connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

import pytest
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from scheduler_runtime.kube.http.transport import READ_SECONDS, ConnectionLostError, Response
from scheduler_runtime.kube.http2 import Http2UnsupportedError, StreamRefusedError, frames
from tests.scheduler_runtime.kube.http2.peer import POST, Peer, ask, greeted, outcome, outcomes


def kinds(ended: Iterable[object]) -> set[type]:
    return set(map(type, ended))


async def test_what_the_server_has_not_looked_at_when_it_closes_is_refused_and_the_rest_is_answered() -> None:
    async with greeted() as peer:
        tasks = [ask(peer) for _ in range(4)]
        await peer.settle()
        peer.judge.close_connection(last_stream_id=3)
        goaway = peer.judge.data_to_send()
        fields = peer.judge.encoder.encode([(":status", "200")])
        peer.tell(goaway)
        assert kinds(await outcomes(tasks[2:])) == {StreamRefusedError}
        assert not peer.connection.accepts_requests
        for stream in (3, 1):
            assert not peer.is_closed
            peer.tell(frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, fields))
        assert await outcomes(tasks[:2]) == [Response(200, b"")] * 2
        assert peer.is_closed


async def test_who_waits_for_room_when_the_server_closes_waits_no_longer() -> None:
    async with greeted(max_concurrent_streams=1) as peer:
        tasks = [ask(peer) for _ in range(3)]
        await peer.settle()
        peer.tell(frames.goaway(frames.NO_ERROR))
        assert kinds(await outcomes(tasks)) == {StreamRefusedError}


async def test_a_server_that_says_why_it_closes_is_quoted() -> None:
    async with greeted() as peer:
        task = ask(peer)
        await peer.settle()
        peer.tell(frames.frame(frames.GOAWAY, 0, 0, b"\0\0\0\1\0\0\0\x0btoo_many_pings"))
        peer.connection.connection_lost(None)
        lost = await outcome(task)
        assert isinstance(lost, ConnectionLostError)
        assert str(lost) == "the server gave the connection up (HTTP/2 error 11: too_many_pings)"


@pytest.mark.parametrize("code", list(ErrorCodes))
async def test_a_request_that_the_server_ends_is_lost_unless_it_was_refused(code: ErrorCodes) -> None:
    async with greeted() as peer:
        tasks = [ask(peer, POST, b"{}"), ask(peer)]
        await peer.settle()
        peer.judge.reset_stream(1, code)
        peer.answer(3)
        await peer.settle()
        surely_not_done = {
            ErrorCodes.REFUSED_STREAM: StreamRefusedError,
            ErrorCodes.HTTP_1_1_REQUIRED: Http2UnsupportedError,
        }
        assert isinstance(await outcome(tasks[0]), surely_not_done.get(code, ConnectionLostError))
        assert tasks[1].result() == Response(200, b"")
        assert peer.connection.accepts_requests


async def test_a_server_that_ends_an_answered_request_has_answered_it() -> None:
    async with greeted() as peer:
        task = ask(peer, POST, b"{}")
        await peer.settle()
        peer.answer(1, 200, b"all")
        peer.tell(peer.judge.data_to_send() + frames.rst_stream(1, frames.NO_ERROR))
        assert await outcome(task) == Response(200, b"all")


@pytest.mark.parametrize(
    ("error", "why"), [(None, "the server closed the connection"), (OSError("broken pipe"), "broken pipe")]
)
async def test_all_requests_are_lost_with_the_connection(error: Exception | None, why: str) -> None:
    async with greeted() as peer:
        tasks = [ask(peer) for _ in range(70)]
        await peer.settle()
        peer.connection.connection_lost(error)
        ended = await outcomes(tasks)
        assert [str(error) for error in ended[:64]] == [why] * 64
        assert (kinds(ended[:64]), kinds(ended[64:])) == ({ConnectionLostError}, {StreamRefusedError})


async def test_a_request_that_nobody_waits_for_any_more_is_called_off_and_the_others_go_on() -> None:
    async with greeted() as peer:
        tasks = [ask(peer, POST, b"{}"), ask(peer)]
        await peer.settle()
        tasks[0].cancel()
        await peer.settle()
        assert [request.reset for request in peer.received.values()] == [frames.CANCEL, None]
        peer.answer(3)
        await peer.settle()
        assert tasks[1].result() == Response(200, b"")
        assert peer.connection.accepts_requests


class Clock:
    """The time of the event loop, and of whoever looks past it, as a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self.now = loop.time()
        for owner, name in ((loop, "time"), (time, "monotonic")):
            monkeypatch.setattr(owner, name, lambda: self.now)


async def unanswered(peer: Peer, *seconds: float) -> list[asyncio.Task[Response]]:
    tasks = [ask(peer, seconds=limit) for limit in seconds]
    await peer.settle()
    return tasks


async def test_a_request_ends_at_its_deadline_and_neither_sooner_nor_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    async with greeted() as peer:
        began = clock.now
        tasks = await unanswered(peer, 30.0, 10.0, 20.0)
        for due, now in ((tasks[1], 10.0), (tasks[2], 20.0), (tasks[0], 30.0)):
            clock.now = began + now - 0.001
            await peer.settle()
            assert not due.done()
            clock.now = began + now
            await peer.settle()
            assert isinstance(due.exception(), TimeoutError)
        assert [request.reset for request in peer.received.values()][1:] == [frames.CANCEL] * 2
        assert peer.is_closed


async def test_a_connection_on_which_something_was_late_answers_what_is_under_way_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    async with greeted(max_concurrent_streams=2) as peer:
        late, timely, waiting = await unanswered(peer, 1.0, 60.0, 60.0)
        clock.now += 1.0
        await peer.settle()
        assert isinstance(late.exception(), TimeoutError)
        assert isinstance(waiting.exception(), StreamRefusedError)
        assert not peer.is_closed
        assert isinstance(await outcome(ask(peer)), StreamRefusedError)
        peer.answer(3, 200, b"in time")
        await peer.settle()
        assert timely.result().body == b"in time"
        assert peer.is_closed


async def test_what_was_answered_while_we_stood_still_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    async with greeted() as peer:
        read_first, read_next, lost = await unanswered(peer, 1.0, 1.0, 1.0)
        clock.now += 5.0
        peer.answer(1)
        peer.tell(peer.judge.data_to_send())
        await peer.settle()
        peer.answer(3)
        await peer.settle()
        assert (read_first.result().status, read_next.result().status) == (200, 200)
        assert not lost.done()
        clock.now += READ_SECONDS
        await peer.settle()
        assert isinstance(lost.exception(), TimeoutError)
        assert peer.is_closed


async def test_a_request_that_is_not_sent_yet_ends_at_once_after_a_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    async with greeted() as peer:
        (task,) = await unanswered(peer, 1.0)
        peer.buffered = 1
        clock.now += 5.0
        await peer.settle()
        assert isinstance(task.exception(), TimeoutError)


async def test_what_has_still_to_leave_after_its_deadline_does_not_leave_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    async with greeted() as peer:
        peer.reads = False
        task = ask(peer, POST, b"x" * 100_000, seconds=1.0)
        await peer.settle()
        clock.now += 5.0
        peer.judge.increment_flow_control_window(100_000)
        peer.judge.increment_flow_control_window(100_000, stream_id=1)
        await peer.settle()
        assert isinstance(task.exception(), TimeoutError)
        assert not peer.received[1].is_complete


async def test_an_early_deadline_counts_when_an_earlier_request_has_a_late_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    async with greeted() as peer:
        _, early = await unanswered(peer, 60.0), await unanswered(peer, 1.0)
        clock.now += 1.0
        await peer.settle()
        assert isinstance(early[0].exception(), TimeoutError)


async def test_only_as_many_requests_are_under_way_as_the_server_allows() -> None:
    async with greeted(max_concurrent_streams=3) as peer:
        tasks = [ask(peer) for _ in range(9)]
        await peer.settle()
        assert list(peer.received) == [1, 3, 5]
        peer.answer(3)
        await peer.settle()
        assert list(peer.received) == [1, 3, 5, 7]
        peer.judge.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: 1})
        for stream in (1, 5):
            peer.answer(stream)
            await peer.settle()
        assert list(peer.received) == [1, 3, 5, 7]
        peer.judge.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: 100})
        await peer.settle()
        assert len(peer.received) == 9
        for stream in list(peer.received)[3:]:
            peer.answer(stream)
        await peer.settle()
        assert all(task.result().status == 200 for task in tasks)


async def test_no_more_requests_are_under_way_than_we_want_however_many_the_server_allows() -> None:
    async with greeted(max_concurrent_streams=1000) as peer:
        for _ in range(100):
            ask(peer)
        await peer.settle()
        assert len(peer.received) == 64


async def test_a_connection_shows_its_state_and_its_streams() -> None:
    assert repr(Peer().connection) == "<Http2Connection: connecting, 0 streams>"
    async with greeted() as peer:
        task = ask(peer)
        await peer.settle()
        assert repr(peer.connection) == "<Http2Connection: open, 1 streams>"
        peer.connection.retire()
        assert repr(peer.connection) == "<Http2Connection: retired, 1 streams>"
        peer.connection.close()
        await outcome(task)
        assert repr(peer.connection) == "<Http2Connection: closed, 0 streams>"
