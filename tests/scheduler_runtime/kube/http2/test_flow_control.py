"""No more is sent than the other side takes, and no less; what we take is renewed in time."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from h2 import events
from h2.settings import SettingCodes
from hypothesis import given
from hypothesis import strategies as st

from scheduler_runtime.kube.http.transport import Response
from scheduler_runtime.kube.http2 import connection, frames
from scheduler_runtime.kube.http2.flow_control import FlowControl
from tests.scheduler_runtime.kube.http2.peer import POST, ask, greeted

BODY = bytes(range(256)) * 1000


@pytest.mark.parametrize("window", [1000, 16_384, 65_535, 1 << 20])
async def test_a_body_larger_than_the_window_arrives(window: int) -> None:
    async with greeted(initial_window_size=window) as peer:
        task = ask(peer, POST, BODY)
        while not peer.received or not peer.received[1].is_complete:
            await peer.settle()
        assert peer.received[1].body == BODY
        peer.answer(1)
        await peer.settle()
        assert task.result() == Response(200, b"")


async def test_nothing_is_sent_that_is_not_allowed_yet() -> None:
    async with greeted(initial_window_size=10) as peer:
        peer.reads = False
        for _ in range(3):
            ask(peer, POST, BODY[:15])
        await peer.settle()
        assert [request.body for request in peer.received.values()] == [BODY[:10]] * 3
        peer.judge.increment_flow_control_window(3, stream_id=3)
        await peer.settle()
        assert [len(request.body) for request in peer.received.values()] == [10, 13, 10]


async def test_a_window_may_shrink_below_what_was_sent() -> None:
    async with greeted(initial_window_size=20) as peer:
        peer.reads = False
        ask(peer, POST, BODY[:30])
        await peer.settle()
        peer.judge.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 5})
        await peer.settle()
        peer.judge.increment_flow_control_window(15, stream_id=1)
        await peer.settle()
        assert len(peer.received[1].body) == 20  # the window is 5 - 20 + 15
        peer.judge.increment_flow_control_window(1, stream_id=1)
        await peer.settle()
        assert len(peer.received[1].body) == 21
        peer.judge.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100})
        await peer.settle()
        assert peer.received[1].body == BODY[:30]


async def test_the_window_of_the_connection_is_shared() -> None:
    async with greeted(initial_window_size=1 << 20) as peer:
        peer.reads = False
        for _ in range(3):
            ask(peer, POST, BODY[:40_000])
        await peer.settle()
        assert sum(len(request.body) for request in peer.received.values()) == frames.DEFAULT_WINDOW
        peer.judge.increment_flow_control_window(80_000)
        await peer.settle()
        assert [request.body for request in peer.received.values()] == [BODY[:40_000]] * 3


async def test_larger_frames_are_sent_when_they_are_allowed() -> None:
    async with greeted(initial_window_size=1 << 20) as peer:
        peer.judge.update_settings({SettingCodes.MAX_FRAME_SIZE: 60_000})
        await peer.settle()
        ask(peer, POST, BODY[:60_000])
        await peer.settle()
        assert [len(event.data) for event in peer.events_of(events.DataReceived)] == [60_000]


async def test_a_cancelled_body_is_sent_no_further() -> None:
    async with greeted(initial_window_size=10) as peer:
        peer.reads = False
        task = ask(peer, POST, BODY)
        await peer.settle()
        task.cancel()
        await peer.settle()
        peer.judge.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1000})
        await peer.settle()
        assert (len(peer.received[1].body), peer.received[1].reset) == (10, frames.CANCEL)


async def test_our_own_window_is_renewed_before_it_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "RECEIVE_WINDOW", 100_000)
    async with greeted() as peer:
        for number in range(20):
            tasks = [ask(peer), ask(peer)]
            await peer.settle()
            assert peer.judge.remote_flow_control_window(4 * number + 1) >= 50_000
            peer.judge.send_headers(4 * number + 1, [(":status", "200")])
            for _ in range(2):
                peer.judge.send_data(4 * number + 1, bytes(15_000), pad_length=255)
            peer.judge.end_stream(4 * number + 1)
            tasks[1].cancel()
            await peer.settle()
            assert len(tasks[0].result().body) == 30_000


async def test_answers_that_nobody_waits_for_use_up_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "RECEIVE_WINDOW", 100_000)
    async with greeted() as peer:
        for stream in range(1, 41, 2):
            task = ask(peer)
            await peer.settle()
            task.cancel()
            await asyncio.sleep(0)  # its end is written, and not yet heard of, when the answer comes
            peer.answer(stream, 200, bytes(15_000))
            await peer.settle()
        assert not peer.is_closed


def sent(data: bytes) -> list[tuple[int, int, int]]:
    """Stream, length and flags of each frame."""
    parsed = []
    while data:
        high, low, _, flags, stream = frames.HEAD.unpack_from(data)
        length = high << 8 | low
        parsed.append((stream, length, flags))
        data = data[frames.HEAD.size + length :]
    return parsed


CHANGES = st.one_of(
    st.tuples(st.just("body"), st.integers(1, 50_000), st.just(0)),
    st.tuples(st.just("allow"), st.integers(1, 50_000), st.integers(0, 5)),
    st.tuples(st.just("resize"), st.integers(0, 100_000), st.just(0)),
)
END = [("resize", 1 << 20, 0), ("allow", 1 << 30, 0)]


@given(st.lists(CHANGES, max_size=30))
def test_everything_is_sent_once_and_as_soon_as_it_is_allowed(changes: list[tuple[str, int, int]]) -> None:
    """Judged by plain counting of what is allowed and what has gone, of each body and of all."""
    outflow, bodies, sent_bytes, initial = FlowControl(), dict[int, int](), Counter[int](), frames.DEFAULT_WINDOW
    allowed = Counter({0: frames.DEFAULT_WINDOW})
    for what, number, stream in [*changes, *END]:
        if what == "body":
            bodies[len(bodies) + 1] = number
            data = outflow.send(len(bodies), bytes(number))
        elif what == "allow":
            allowed[stream] += number if stream in (0, *outflow._pending) else 0
            data = outflow.window_update(stream, number)
        else:
            initial, data = number, outflow.set_initial_window(number)
        for stream_id, length, flags in sent(data):
            sent_bytes[stream_id] += length
            assert sent_bytes[stream_id] <= initial + allowed[stream_id]
            assert bool(flags & frames.END_STREAM) == (sent_bytes[stream_id] == bodies[stream_id])
        free = allowed[0] - sent_bytes.total()
        assert free >= 0
        for stream_id, size in bodies.items():
            assert sent_bytes[stream_id] == size or free == 0 or sent_bytes[stream_id] >= initial + allowed[stream_id]
    assert sent_bytes == bodies


async def test_requests_with_a_slot_are_sent_before_fewer_slots_are_acknowledged() -> None:
    async with greeted() as peer:
        peer.judge.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: 0})
        task = ask(peer)
        await asyncio.sleep(0)
        peer.tell(peer.judge.data_to_send())
        await peer.settle()  # the judge raises when it comes after the acknowledgement
        peer.answer(1)
        await peer.settle()
        assert task.result().status == 200
