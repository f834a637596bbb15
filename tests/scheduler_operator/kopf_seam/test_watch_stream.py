"""The streams that kopf reads, whatever the API server sends."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from scheduler_operator.kopf_seam.watch_stream import (
    EXPIRED,
    EXPIRED_LINE,
    LONGEST_SPACING_SECONDS,
    EventStream,
    WatchState,
)


def line(kind: str, **of: Any) -> bytes:
    return json.dumps({"type": kind, "object": of}).encode() + b"\n"


ADDED = line("ADDED", metadata={"name": "calm"})
BOOKMARK = line("BOOKMARK", metadata={"resourceVersion": "7"})


class Sent:
    """Content in the chunks in which it arrives, cut off in the end if that is asked for."""

    def __init__(self, *chunks: bytes, cut: bool = False) -> None:
        self.chunks = chunks
        self.cut = cut

    async def iter_chunked(self, n: int, /) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk
        if self.cut:
            raise aiohttp.ClientPayloadError("Response payload is not completed")


async def read(watch: WatchState, sent: Sent) -> bytes:
    """What kopf gets to read: it reads no further than the event that has it list again."""
    text = b""
    async for chunk in EventStream(sent, watch).iter_chunked(2**20):
        text += chunk
        if chunk == EXPIRED_LINE:
            break
    return text


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_events_are_passed_on_whole_and_in_order(size: int) -> None:
    text = ADDED + BOOKMARK + line("DELETED", metadata={"name": "calm"}) + line("MODIFIED", metadata={"name": "ü"})
    watch = WatchState(began_at=0.0)
    assert await read(watch, Sent(*(text[at : at + size] for at in range(0, len(text), size)))) == text
    assert watch.end(now=100.0) == ""


@pytest.mark.parametrize(
    ("odd", "because"),
    [
        pytest.param(line("ERROR", code=410, reason="Expired"), EXPIRED, id="expired"),
        pytest.param(b'{"kind": "Status", "code": 410}\n', EXPIRED, id="expired-as-an-answer"),
        pytest.param(
            line("ERROR", code=500, reason="InternalError", message="no"), "500 InternalError: no", id="error"
        ),
        pytest.param(b"<html>\n", "b'<html>", id="garbage"),
        pytest.param(b"\xff\xfe\n", "no event", id="no-text"),
        pytest.param(b"[]\n", "no event", id="no-object"),
        pytest.param(ADDED[:20], "no event", id="half-an-event"),
        pytest.param(line("ADDED"), "no event", id="nothing-added"),
        pytest.param(line("ADDED", metadata={}), "no event", id="nameless"),
        pytest.param(line("RENAMED", metadata={"name": "calm"}), "no event", id="unheard-of"),
    ],
)
async def test_after_what_is_no_event_everything_is_listed_again(odd: bytes, because: str) -> None:
    watch = WatchState(began_at=0.0)
    assert await read(watch, Sent(ADDED + odd, b"never read\n")) == ADDED + EXPIRED_LINE
    assert because in watch.end(now=100.0)


async def test_a_cut_is_noted_and_left_to_kopf() -> None:
    watch = WatchState(began_at=0.0)
    with pytest.raises(aiohttp.ClientPayloadError):
        await read(watch, Sent(ADDED, ADDED[:9], cut=True))
    assert watch.end(now=100.0) == "the stream was cut off"


def test_streams_that_end_at_once_are_requested_less_and_less_often() -> None:
    watch, now, waits = WatchState(), 1000.0, []
    for _ in range(10):
        watch.began_at = now
        watch.end(now + 0.01)
        waits.append(watch.not_before - now)
        now = watch.not_before
    assert waits == sorted(waits)
    assert waits[0] == 1.0
    assert waits[-1] == LONGEST_SPACING_SECONDS


def test_a_stream_that_flowed_for_a_while_is_followed_at_once() -> None:
    watch = WatchState(began_at=1000.0, early_ends=5)
    watch.end(1003.0)
    assert watch.not_before < 1003.0


@pytest.mark.parametrize(
    ("seconds", "because"), [(0.1, "the stream ended early"), (50, "the stream ended early"), (90, "")]
)
def test_an_end_in_good_order_is_worth_a_word_only_when_it_is_early(seconds: float, because: str) -> None:
    assert WatchState(began_at=1000.0).end(1000.0 + seconds) == because


def test_what_has_not_started_does_not_end() -> None:
    watch = WatchState()
    assert watch.end(1000.0) == ""
    assert watch.not_before == 0.0
