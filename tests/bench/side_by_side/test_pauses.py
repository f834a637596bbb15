"""Pauses of an event loop are seen, by whom they were made."""

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
    found = Pauses()

    async def scheduler() -> int:
        await asyncio.sleep(0.02)
        work(LONG)
        await asyncio.sleep(0.02)
        return 3

    assert await with_heartbeat(scheduler, found)() == 3
    longest, _ = found.longest()
    assert longest >= LONG - pauses.HEARTBEAT_SECONDS


async def test_being_kept_from_the_processor_by_others_is_none() -> None:
    found = Pauses()

    async def scheduler() -> int:
        await asyncio.sleep(0.02)
        time.sleep(LONG)  # noqa: ASYNC251 - as it is when another process runs
        await asyncio.sleep(0.02)
        return 0

    await with_heartbeat(scheduler, found)()
    assert found.loop == []


@pytest.fixture
def heard() -> Iterator[Pauses]:
    found = Pauses()
    collections = Collections(found)
    gc.callbacks.append(collections.observe)
    yield found
    gc.callbacks.remove(collections.observe)


def test_what_the_collector_takes_is_written_down(heard: Pauses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "LEAST_SECONDS", 0.0)
    gc.collect()
    assert heard.collector
    assert heard.longest()[1] > 0


def test_the_longest_is_looked_for_in_the_time_that_is_asked_about() -> None:
    found = Pauses(loop=[Pause(1, 0.3), Pause(2, 0.1)], collector=[Pause(1, 0.2)])
    assert found.longest() == (0.3, 0.2)
    assert found.longest(since=2) == (0.1, 0)
    assert found.longest(until=2) == (0.3, 0.2)
