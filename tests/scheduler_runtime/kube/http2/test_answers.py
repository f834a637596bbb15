"""Responses, in every form that a server may send."""

from __future__ import annotations

import pytest
from h2 import events
from hpack import Encoder

from scheduler_runtime.kube.http.transport import Response
from scheduler_runtime.kube.http2 import frames
from tests.scheduler_runtime.kube.http2.peer import POST, Fields, Peer, ask, greeted


async def answered(peer: Peer, *parts: bytes) -> Response:
    """What becomes of a request of which the server says ``parts``."""
    task = ask(peer)
    await peer.settle()
    peer.tell(b"".join(parts))
    await peer.settle()
    assert not peer.is_closed
    return task.result()


def block(*fields: tuple[str, str]) -> bytes:
    encoder = Encoder()
    encoder.header_table_size = 0
    return encoder.encode(fields)


def of(stream: int, kind: int, flags: int, payload: bytes = b"") -> bytes:
    return frames.frame(kind, flags, stream, payload)


OK = block((":status", "200"))
WHOLE = frames.END_HEADERS | frames.END_STREAM


async def test_an_answer_may_have_no_body() -> None:
    async with greeted() as peer:
        assert await answered(peer, of(1, frames.HEADERS, WHOLE, OK)) == Response(200, b"")


async def test_the_body_may_end_with_an_empty_frame() -> None:
    async with greeted() as peer:
        head = of(1, frames.HEADERS, frames.END_HEADERS, OK)
        data = of(1, frames.DATA, 0, b"all") + of(1, frames.DATA, frames.END_STREAM)
        assert await answered(peer, head, data) == Response(200, b"all")


async def test_padding_and_priority_are_no_part_of_an_answer() -> None:
    async with greeted(piece=3) as peer:
        flags = frames.END_HEADERS | frames.PADDED | frames.PRIORITY
        head = of(1, frames.HEADERS, flags, b"\x03" + bytes(4) + b"\x10" + OK + bytes(3))
        data = of(1, frames.DATA, frames.PADDED, b"\x02ab\0\0") + of(1, frames.DATA, frames.PADDED, b"\x00c")
        last = of(1, frames.DATA, frames.PADDED | frames.END_STREAM, b"\xff" + bytes(255))
        assert await answered(peer, head, data, last) == Response(200, b"abc")


async def test_what_precedes_an_answer_and_what_follows_it_is_passed_over() -> None:
    fields: Fields = [("retry-after", "9")]
    async with greeted() as peer:
        task = ask(peer)
        await peer.settle()
        for status in ("100", "103"):
            peer.judge.send_headers(1, [(":status", status), *fields])
        peer.judge.send_headers(1, [(":status", "201")])
        peer.judge.send_data(1, b"made")
        peer.judge.send_headers(1, [("grpc-status", "0"), *fields], end_stream=True)
        await peer.settle()
        assert task.result() == Response(201, b"made")


async def test_a_large_body_comes_in_many_frames() -> None:
    body = bytes(range(256)) * 4096
    async with greeted(piece=5000) as peer:
        task = ask(peer)
        await peer.settle()
        peer.judge.send_headers(1, [(":status", "200")])
        for start in range(0, len(body), 16_384):
            peer.judge.send_data(1, body[start : start + 16_384], end_stream=start + 16_384 >= len(body))
        await peer.settle()
        assert task.result().body == body


@pytest.mark.parametrize("piece", [1, 1000, 1 << 20])
async def test_fields_may_come_in_several_frames(piece: int) -> None:
    fields = block((":status", "429"), *((f"x-{number}", "y" * 500) for number in range(30)), ("retry-after", "12"))
    async with greeted(piece=piece) as peer:
        parts = [fields[start : start + 4096] for start in range(0, len(fields), 4096)]
        head = of(1, frames.HEADERS, 0, parts[0])
        middle = [of(1, frames.CONTINUATION, 0, part) for part in parts[1:]]
        last = of(1, frames.CONTINUATION, frames.END_HEADERS)
        body = of(1, frames.DATA, frames.END_STREAM, b"later")
        assert await answered(peer, head, *middle, last, body) == Response(429, b"later", "12")


async def test_an_answer_that_comes_before_all_was_sent_ends_the_sending() -> None:
    async with greeted(initial_window_size=10) as peer:
        peer.reads = False
        task = ask(peer, POST, b"x" * 100)
        await peer.settle()
        peer.answer(1, 413, b"too much")
        await peer.settle()
        assert task.result() == Response(413, b"too much")
        assert (peer.received[1].is_complete, peer.received[1].reset) == (False, frames.CANCEL)


async def test_pings_are_answered_and_answers_to_pings_are_not() -> None:
    async with greeted() as peer:
        peer.judge.ping(b"12345678")
        await peer.settle()
        assert [event.ping_data for event in peer.events_of(events.PingAckReceived)] == [b"12345678"]
        peer.tell(of(0, frames.PING, frames.ACK, b"87654321"))
        await peer.settle()
        assert not peer.events_of(events.PingReceived)


async def test_frames_of_kinds_that_we_do_not_know_are_passed_over() -> None:
    async with greeted() as peer:
        unknown = of(1, 0xEE, 0xFF, b"anything") + of(0, 2, 0, bytes(5))
        assert await answered(peer, unknown, of(1, frames.HEADERS, WHOLE, OK)) == Response(200, b"")
