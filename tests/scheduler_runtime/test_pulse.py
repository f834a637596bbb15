"""A loop that is stuck is noticed from another thread; one that turns, or has not begun, is not complained of."""

from __future__ import annotations

import asyncio

from scheduler_runtime.pulse import LONGEST_SECONDS, Pulse
from tests.support.leases import Clock


async def test_only_a_loop_that_is_stuck_is_complained_of() -> None:
    clock = Clock()
    pulse = Pulse(clock)
    clock.now += 500
    assert pulse.check() is None
    beating = asyncio.create_task(pulse.run())
    await asyncio.sleep(0)
    clock.now += LONGEST_SECONDS
    assert pulse.check() is None
    clock.now += 3
    assert pulse.check() == "nothing has gone on for 63 s: a decision or a plugin does not end"
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    assert pulse.check() is None
