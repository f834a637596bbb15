"""A loop that is stuck is noticed from another thread; one that turns, or has not begun, is not complained of."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject
from scheduler_runtime.app.self_checks import STUCK_SECONDS, Heartbeat
from tests.support.eventually import eventually
from tests.support.leases import Clock


async def test_only_a_loop_that_is_stuck_is_complained_of() -> None:
    clock = Clock()
    heartbeat = Heartbeat(clock)
    clock.now += 500
    assert heartbeat.check() is None
    beating = asyncio.create_task(heartbeat.run())
    await asyncio.sleep(0)
    clock.now += STUCK_SECONDS
    assert heartbeat.check() is None
    clock.now += 3
    assert heartbeat.check() == "nothing has gone on for 63 s: a decision or a plugin does not end"
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    assert heartbeat.check() is None


class Stuck(Plugin):
    """Does not return before the test is over."""

    over = threading.Event()

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        self.over.wait()
        yield Reject(nodes.unschedulable, "cordoned")


async def decide_for_ever(heartbeat: Heartbeat) -> None:
    """A loop that is stuck as soon as it has begun."""
    beating = asyncio.create_task(heartbeat.run())
    await asyncio.sleep(0)
    decides = testing.framework({"plugins": {"multiPoint": {"enabled": [{"name": "Stuck"}]}}}, Stuck)
    decides.schedule(testing.pod("p"), testing.Cluster(testing.node("a"), testing.node("b")))
    beating.cancel()


def test_who_does_not_end_is_named_with_the_pod() -> None:
    clock = Clock()
    heartbeat = Heartbeat(clock)
    loop = threading.Thread(target=asyncio.run, args=(decide_for_ever(heartbeat),))
    loop.start()

    def problem() -> str:
        clock.now += STUCK_SECONDS
        return heartbeat.describe_stuck_hook() or ""

    try:
        eventually(lambda: "filter of plugin Stuck for default/p does not end" in problem(), 10, every=0.01)
        assert "default/p" not in str(heartbeat.check())
    finally:
        Stuck.over.set()
        loop.join()
