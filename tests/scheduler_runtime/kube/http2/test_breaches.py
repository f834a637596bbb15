"""A server that does not keep the rules is told which one, and what was under way is lost."""

from __future__ import annotations

import pytest
from h2 import events

from scheduler_runtime.kube.http.transport import ConnectionLostError, Response
from scheduler_runtime.kube.http2 import connection, frames
from tests.scheduler_runtime.kube.http2.peer import POST, Peer, ask, greeted, outcome, outcomes

WHOLE = frames.END_HEADERS | frames.END_STREAM
OK = b"\x88"
PROTOCOL, FLOW, SIZE, COMPRESSION = (
    frames.PROTOCOL_ERROR,
    frames.FLOW_CONTROL_ERROR,
    frames.FRAME_SIZE_ERROR,
    frames.COMPRESSION_ERROR,
)


def of(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return frames.frame(kind, flags, stream, payload)


@pytest.mark.parametrize(
    ("data", "code", "why"),
    [
        pytest.param(
            b"HTTP/1.1 400 Bad Request\r\n\r\n", SIZE, "exceeds SETTINGS_MAX_FRAME_SIZE", id="another-protocol"
        ),
        pytest.param(
            of(frames.DATA, 0, 1, bytes(16_385)),
            SIZE,
            "DATA on stream 1 exceeds SETTINGS_MAX_FRAME_SIZE with 16385 bytes",
            id="a-large-frame",
        ),
        pytest.param(
            of(frames.HEADERS, 0, 1, OK) * 2,
            PROTOCOL,
            "HEADERS on stream 1 where CONTINUATION on stream 1 is required",
            id="interrupted-fields",
        ),
        pytest.param(
            of(frames.HEADERS, 0, 1, OK) + of(frames.CONTINUATION, 4, 3),
            PROTOCOL,
            "CONTINUATION on stream 3 where CONTINUATION on stream 1 is required",
            id="others-fields",
        ),
        pytest.param(
            of(frames.CONTINUATION, 4, 1, OK),
            PROTOCOL,
            "CONTINUATION on stream 1 without HEADERS",
            id="fields-without-beginning",
        ),
        pytest.param(of(frames.HEADERS, WHOLE, 1, b"\xbe"), COMPRESSION, "not granted", id="a-table"),
        pytest.param(of(frames.HEADERS, WHOLE, 1, b"\x3f\xe1\x1f\x88"), COMPRESSION, "not granted", id="a-table-size"),
        pytest.param(of(frames.HEADERS, WHOLE, 1), PROTOCOL, "without the pseudo-header field :status", id="no-fields"),
        pytest.param(
            of(frames.HEADERS, WHOLE, 1, b"\x08\x03100"),
            PROTOCOL,
            "without the pseudo-header field :status",
            id="only-a-promise",
        ),
        pytest.param(
            of(frames.DATA, 1, 1, b"x"), PROTOCOL, "without the pseudo-header field :status", id="only-a-body"
        ),
        pytest.param(
            of(frames.HEADERS, WHOLE, 9, OK),
            PROTOCOL,
            "HEADERS on stream 9, which the client never opened",
            id="an-answer-to-nothing",
        ),
        pytest.param(
            of(frames.DATA, 0, 0, b"x"),
            PROTOCOL,
            "DATA on stream 0, which the client never opened",
            id="data-of-the-connection",
        ),
        pytest.param(
            of(frames.RST_STREAM, 0, 2, bytes(4)),
            PROTOCOL,
            "RST_STREAM on stream 2, which the client never opened",
            id="an-end-of-nothing",
        ),
        pytest.param(of(frames.PUSH_PROMISE, 4, 1, bytes(4)), PROTOCOL, "PUSH_PROMISE on stream 1", id="push-promise"),
        pytest.param(of(frames.DATA, frames.PADDED, 1, b"\x05abc"), PROTOCOL, "padding", id="too-much-padding"),
        pytest.param(of(frames.DATA, frames.PADDED, 1), PROTOCOL, "padding", id="no-padding"),
        pytest.param(of(frames.HEADERS, 0x24, 1, b"abc"), PROTOCOL, "padding", id="no-priority"),
        pytest.param(
            of(frames.WINDOW_UPDATE, 0, 0, bytes(4)),
            PROTOCOL,
            "WINDOW_UPDATE on stream 0 with an increment of 0",
            id="a-window-of-0",
        ),
        pytest.param(
            frames.window_update(0, 2**31 - 1), FLOW, "window of stream 0 exceeds 2^31-1", id="a-window-too-large"
        ),
        pytest.param(
            frames.settings({4: 2**31}),
            FLOW,
            "SETTINGS_INITIAL_WINDOW_SIZE is 2147483648",
            id="a-first-window-too-large",
        ),
        pytest.param(frames.settings({5: 0}), PROTOCOL, "SETTINGS_MAX_FRAME_SIZE is 0", id="frames-of-nothing"),
        pytest.param(
            frames.settings({5: 1 << 24}), PROTOCOL, "SETTINGS_MAX_FRAME_SIZE is 16777216", id="frames-too-large"
        ),
        pytest.param(
            of(frames.SETTINGS, 0, 0, bytes(5)),
            SIZE,
            "SETTINGS on stream 0 has a length of 5 bytes",
            id="half-a-setting",
        ),
        pytest.param(
            of(frames.SETTINGS, 0, 1), PROTOCOL, "SETTINGS on stream 1 instead of stream 0", id="settings-of-a-request"
        ),
        pytest.param(
            of(frames.PING, 0, 0, bytes(7)), SIZE, "PING on stream 0 has a length of 7 bytes", id="a-short-ping"
        ),
        pytest.param(
            of(frames.RST_STREAM, 0, 1, bytes(3)),
            SIZE,
            "RST_STREAM on stream 1 has a length of 3 bytes",
            id="a-short-end",
        ),
        pytest.param(
            of(frames.WINDOW_UPDATE, 0, 1, bytes(5)),
            SIZE,
            "WINDOW_UPDATE on stream 1 has a length of 5 bytes",
            id="a-long-window",
        ),
        pytest.param(
            of(frames.GOAWAY, 0, 0, bytes(7)), SIZE, "GOAWAY on stream 0 has a length of 7 bytes", id="a-short-goodbye"
        ),
    ],
)
async def test_a_breach_is_reported_by_its_code_and_ends_the_connection(data: bytes, code: int, why: str) -> None:
    async with greeted(initial_window_size=10) as peer:
        peer.reads = False
        task = ask(peer, POST, bytes(100))
        await peer.settle()
        peer.tell(data)
        lost = await outcome(task)
        assert isinstance(lost, ConnectionLostError)
        assert str(lost).startswith("the server does not keep to HTTP/2: ")
        assert why in str(lost)
        assert goaway_code(peer) == code
        assert peer.is_closed


@pytest.mark.parametrize(
    "data", [frames.settings({frames.INITIAL_WINDOW_SIZE: 2**31 - 1}), frames.window_update(1, 2**31 - 1)]
)
async def test_the_window_of_a_request_may_not_grow_too_large(data: bytes) -> None:
    async with greeted(initial_window_size=100_000) as peer:
        peer.reads = False
        task = ask(peer, POST, bytes(90_000))  # of which some has to wait for the window of the connection
        await peer.settle()
        peer.judge.increment_flow_control_window(200_000, stream_id=1)
        await peer.settle()
        peer.tell(data)
        assert "window of stream 1 exceeds 2^31-1" in str(await outcome(task))
        assert goaway_code(peer) == FLOW


def goaway_code(peer: Peer) -> int:
    peer.hear()
    return int(peer.events_of(events.ConnectionTerminated)[0].error_code)


async def test_fields_that_never_end_are_a_breach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LONGEST_HEADER_BLOCK", 10_000)
    async with greeted() as peer:
        task = ask(peer)
        await peer.settle()
        peer.tell(of(frames.HEADERS, 0, 1, OK) + of(frames.CONTINUATION, 0, 1, bytes(6000)) * 2)
        assert "field block of stream 1 exceeds 10000 bytes" in str(await outcome(task))
        assert goaway_code(peer) == frames.ENHANCE_YOUR_CALM


async def test_fields_that_come_a_byte_at_a_time_are_a_breach_before_they_cost_anything() -> None:
    async with greeted() as peer:
        task = ask(peer)
        await peer.settle()
        peer.tell(of(frames.HEADERS, 0, 1, OK) + of(frames.CONTINUATION, 0, 1, b"\x88") * 100_000)
        assert "field block of stream 1 comes in more than 32 frames" in str(await outcome(task))
        assert goaway_code(peer) == frames.ENHANCE_YOUR_CALM


async def test_fields_may_come_in_as_many_frames_as_their_size_needs() -> None:
    async with greeted() as peer:
        task = ask(peer)
        await peer.settle()
        padding = b"\x00\x01a\x7f\x80\x7f" + bytes(16_255)  # a field of 16 kB
        block = OK + padding * 8
        parts = [block[at : at + frames.DEFAULT_FRAME_SIZE] for at in range(0, len(block), frames.DEFAULT_FRAME_SIZE)]
        rest = [of(frames.CONTINUATION, 0, 1, part) for part in parts[1:]] + [of(frames.CONTINUATION, 4, 1)]
        peer.tell(of(frames.HEADERS, frames.END_STREAM, 1, parts[0]) + b"".join(rest))
        assert await outcome(task) == Response(200, b"")


async def test_a_server_that_asks_for_replies_and_reads_none_is_left() -> None:
    async with greeted() as peer:
        task = ask(peer)
        await peer.settle()
        peer.buffered = connection.MOST_UNSENT_BYTES + 1
        peer.tell(of(frames.PING, 0, 0, bytes(8)))
        assert "does not read them" in str(await outcome(task))


async def test_nothing_is_written_to_a_socket_that_failed() -> None:
    async with greeted() as peer:
        task = ask(peer)
        await peer.settle()
        peer.is_dead = True
        peer.tell(of(frames.PING, 0, 0, bytes(8)) * 100)
        await peer.settle()
        peer.connection.connection_lost(ConnectionResetError("reset"))
        assert isinstance(await outcome(task), ConnectionLostError)


async def test_a_server_that_does_not_begin_with_its_settings_gets_no_request() -> None:
    peer = Peer()
    peer.connection.connection_made(peer)
    peer.tell(frames.frame(frames.PING, 0, 0, bytes(8)))
    assert peer.connection.ready.done()
    assert not peer.connection.accepts_requests
    assert goaway_code(peer) == frames.PROTOCOL_ERROR
    assert peer.is_closed


async def test_a_breach_does_not_undo_what_was_answered_before_it() -> None:
    async with greeted() as peer:
        tasks = [ask(peer), ask(peer)]
        await peer.settle()
        peer.tell(of(frames.HEADERS, WHOLE, 1, OK) + of(frames.PUSH_PROMISE, 0, 3) + of(frames.HEADERS, WHOLE, 3, OK))
        assert [type(result) for result in await outcomes(tasks)] == [Response, ConnectionLostError]


@pytest.mark.parametrize("speaks", [None, "http/1.1"])
async def test_a_server_that_does_not_speak_http2_hears_none(speaks: str | None) -> None:
    peer = Peer(speaks=speaks)
    peer.connection.connection_made(peer)
    assert peer.connection.ready.done()
    assert not peer.connection.is_http2
    assert (peer.writes, peer.is_closed) == ([], True)
