"""A time of day that is set is reported; one that is corrected a little is not."""

from __future__ import annotations

import asyncio
import logging

import pytest

from scheduler_runtime.app import self_checks
from scheduler_runtime.app.self_checks import ClockJumps
from tests.support.leases import Clock


@pytest.mark.parametrize(
    ("hours", "words"), [(1, "jumped by +3600 s"), (-24, "jumped by -86400 s")], ids=["forward", "back"]
)
def test_a_jump_is_reported_once(hours: int, words: str, caplog: pytest.LogCaptureFixture) -> None:
    reports: list[str] = []
    wall, clock = Clock(), Clock()
    watching = ClockJumps(reports.append, wall_clock=wall, clock=clock)
    wall.now += hours * 3600
    for _ in range(3):
        watching.compare()
        wall.now += 5
        clock.now += 5
    assert reports == [f"the time of day on this machine {words}"]
    (line,) = caplog.records
    assert (line.levelno, words in line.message) == (logging.WARNING, True)


def test_a_clock_that_is_corrected_a_little_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    reports: list[str] = []
    wall, clock = Clock(), Clock()
    watching = ClockJumps(reports.append, wall_clock=wall, clock=clock)
    for _ in range(100):
        wall.now += 5.5
        clock.now += 5
        watching.compare()
    assert (reports, caplog.records) == ([], [])


async def test_clocks_are_compared_periodically(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_checks, "CLOCK_SECONDS", 0.01)
    reports, wall = asyncio.Queue[str](), Clock()
    watching = asyncio.create_task(ClockJumps(reports.put_nowait, wall_clock=wall).run())
    await asyncio.sleep(0)
    wall.now += 1e6
    try:
        async with asyncio.timeout(5):
            assert "jumped" in await reports.get()
    finally:
        watching.cancel()
