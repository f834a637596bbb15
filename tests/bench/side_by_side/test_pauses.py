"""The pauses of an event loop are recorded, with their cause."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator

import pytest

from bench.side_by_side import pauses
from bench.side_by_side.pauses import Collections, Pause, Pauses, with_heartbeat

LONG = 0.05


def work(seconds: float) -> None:
    """Use the processor."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def test_work_that_lets_nothing_else_happen_is_a_pause() -> None:
    recorder = Pauses()

    async def scheduler() -> int:
        await asyncio.sleep(0.02)
        work(LONG)
        await asyncio.sleep(0.02)
        return 3

    assert await with_heartbeat(scheduler, recorder)() == 3
    longest, _ = recorder.longest()
    assert longest >= LONG - pauses.HEARTBEAT_SECONDS


async def test_waiting_for_the_processor_is_no_pause() -> None:
    recorder = Pauses()

    async def scheduler() -> int:
        await asyncio.sleep(0.02)
        time.sleep(LONG)  # noqa: ASYNC251 - as it is when another process runs
        await asyncio.sleep(0.02)
        return 0

    await with_heartbeat(scheduler, recorder)()
    assert recorder.loop == []


@pytest.fixture
def recorded() -> Iterator[Pauses]:
    recorder = Pauses()
    collections = Collections(recorder)
    gc.callbacks.append(collections.observe)
    yield recorder
    gc.callbacks.remove(collections.observe)


def test_collections_are_recorded(recorded: Pauses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "LEAST_SECONDS", 0.0)
    gc.collect()
    assert recorded.collector
    assert recorded.longest()[1] > 0


def test_the_longest_is_of_the_requested_time() -> None:
    recorder = Pauses(loop=[Pause(1, 0.3), Pause(2, 0.1)], collector=[Pause(1, 0.2)])
    assert recorder.longest() == (0.3, 0.2)
    assert recorder.longest(since=2) == (0.1, 0)
    assert recorder.longest(until=2) == (0.3, 0.2)
