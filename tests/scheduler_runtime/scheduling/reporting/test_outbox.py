"""Messages that nobody waits for: in order, the newest last, and none after a drop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from scheduler_runtime.kube.client import ApiError
from scheduler_runtime.scheduling.reporting import outbox
from scheduler_runtime.scheduling.reporting.outbox import Outbox


class Letters:
    """Messages whose arrival the test chooses."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.arrived: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    def letter(self, text: str, *, is_slow: bool = False) -> Callable[[], Awaitable[None]]:
        if is_slow:
            self.gates[text] = asyncio.Event()

        async def send() -> None:
            self.started.append(text)
            if text in self.gates:
                await self.gates[text].wait()
            self.arrived.append(text)

        return send


@pytest.fixture
def letters() -> Letters:
    return Letters()


@contextlib.asynccontextmanager
async def open_box(senders: int = 4) -> AsyncIterator[Outbox]:
    box = Outbox(senders=senders)
    sending = asyncio.create_task(box.run())
    try:
        yield box
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_message_that_cannot_be_made_is_dropped_and_the_others_are_sent(letters: Letters) -> None:
    async def breaks() -> None:
        raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "half a character")

    box = Outbox(senders=1)
    box.put("broken", breaks)
    box.put("a", letters.letter("a"))
    async with asyncio.TaskGroup() as group:
        run = group.create_task(box.run())
        await box.drain()
        run.cancel()
    assert (letters.arrived, box.dropped) == (["a"], 1)


async def test_two_of_one_key_are_never_under_way_together(letters: Letters) -> None:
    async with open_box() as box:
        box.put("a", letters.letter("old", is_slow=True))
        await turns()
        box.put("a", letters.letter("new"))
        box.put("b", letters.letter("other"))
        await turns()
        assert (letters.started, letters.arrived) == (["old", "other"], ["other"])
        letters.gates["old"].set()
        await box.drain()
    assert letters.arrived == ["other", "old", "new"]


async def test_when_a_key_is_silenced_nothing_of_it_arrives_any_more(letters: Letters) -> None:
    async with open_box() as box:
        box.put("a", letters.letter("under way", is_slow=True))
        await turns()
        box.put("a", letters.letter("waiting"))
        silenced = asyncio.create_task(box.drop_and_wait("a"))
        await turns()
        assert not silenced.done()
        letters.gates["under way"].set()
        await silenced
        await box.drain()
    assert letters.arrived == ["under way"]


async def test_what_takes_long_to_arrive_is_silenced_before(letters: Letters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "SILENCE_SECONDS", 0.05)
    async with open_box() as box:
        box.put("a", letters.letter("late", is_slow=True))
        await turns()
        async with asyncio.timeout(5):
            await asyncio.gather(box.drop_and_wait("a"), box.drop_and_wait("a"))
        letters.gates["late"].set()
        box.put("a", letters.letter("new"))
        await box.drain()
    assert letters.arrived == ["new"]


async def test_a_sender_goes_on_after_many_cancelled_messages(
    letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "SILENCE_SECONDS", 0.01)
    async with open_box(senders=1) as box:
        for key in "abc":
            box.put(key, letters.letter(key, is_slow=True))
            await turns()
            await box.drop_and_wait(key)
        box.put("d", letters.letter("d"))
        await turns()
    assert (letters.started, letters.arrived) == (["a", "b", "c", "d"], ["d"])


async def test_a_cancelled_sender_ends_although_its_message_is_cancelled_in_the_same_turn(letters: Letters) -> None:
    box = Outbox(senders=1)
    sending = asyncio.create_task(box.run())
    box.put("a", letters.letter("a", is_slow=True))
    await turns()
    sending.cancel()
    asyncio.get_running_loop().call_soon(box._sending["a"]._cancel)
    await asyncio.wait([sending], timeout=5)
    assert sending.cancelled()


async def test_a_message_that_arrives_as_it_is_cancelled_does_not_cancel_the_next(
    letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "SILENCE_SECONDS", 0.01)
    async with open_box(senders=1) as box:
        box.put("a", letters.letter("a", is_slow=True))
        await turns()
        silenced = asyncio.create_task(box.drop_and_wait("a"))
        await asyncio.sleep(0)
        letters.gates["a"].set()
        time.sleep(0.02)  # noqa: ASYNC251 - the message arrives and its time is over in one turn
        await silenced
        box.put("b", letters.letter("b"))
        await turns()
    assert letters.arrived[-1] == "b"


async def test_what_pauses_between_two_tries_is_silenced_at_once() -> None:
    attempts: list[int] = []

    async def refused() -> None:
        attempts.append(1)
        raise ApiError(429, "", "later", 60)

    async with open_box() as box:
        box.put("a", refused)
        await turns()
        async with asyncio.timeout(1):
            await box.drop_and_wait("a")
    assert attempts == [1]


async def test_silence_about_what_nobody_spoke_of_takes_no_time() -> None:
    async with asyncio.timeout(0.1):
        await Outbox().drop_and_wait("a")


@pytest.mark.parametrize(
    ("refusal", "is_told"),
    [
        pytest.param(ApiError(403, "Forbidden", "no", causes=["NamespaceTerminating"]), False, id="namespace-ending"),
        pytest.param(ApiError(404, "NotFound", "no"), False, id="pod-gone"),
        pytest.param(ApiError(403, "Forbidden", "no"), True, id="forbidden"),
    ],
)
async def test_a_message_about_what_is_gone_or_going_is_no_trouble(
    refusal: ApiError, is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def send() -> None:
        raise refusal

    async with open_box() as box:
        box.put("event", send)
        await box.drain()
        assert box.dropped == is_told
    assert ("events or conditions cannot be written" in caplog.text) is is_told
