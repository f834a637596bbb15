"""A time of day that is set is told of; one that is kept right is not."""

from __future__ import annotations

import asyncio
import logging

import pytest

from scheduler_runtime.app.watchdog import clock_jumps as wall_clock
from scheduler_runtime.app.watchdog.clock_jumps import ClockJumps
from tests.support.leases import Clock


@pytest.mark.parametrize(
    ("hours", "said"), [(1, "jumped by +3600 s"), (-24, "jumped by -86400 s")], ids=["forward", "back"]
)
def test_a_jump_is_told_of_once(hours: int, said: str, caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    wall, clock = Clock(), Clock()
    watching = ClockJumps(told.append, wall=wall, clock=clock)
    wall.now += hours * 3600
    for _ in range(3):
        watching.look()
        wall.now += 5
        clock.now += 5
    assert told == [f"the time of day on this machine {said}"]
    (line,) = caplog.records
    assert (line.levelno, said in line.message) == (logging.WARNING, True)


def test_a_clock_that_is_kept_right_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    wall, clock = Clock(), Clock()
    watching = ClockJumps(told.append, wall=wall, clock=clock)
    for _ in range(100):
        wall.now += 5.5
        clock.now += 5
        watching.look()
    assert (told, caplog.records) == ([], [])


async def test_it_looks_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wall_clock, "LOOK_SECONDS", 0.01)
    told, wall = asyncio.Queue[str](), Clock()
    watching = asyncio.create_task(ClockJumps(told.put_nowait, wall=wall).run())
    await asyncio.sleep(0)
    wall.now += 1e6
    try:
        async with asyncio.timeout(5):
            assert "jumped" in await told.get()
    finally:
        watching.cancel()
