"""A loop that is stuck is noticed from another thread; one that turns, or has not begun, is not complained of."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject
from scheduler_runtime.app.self_checks import describe_stuck_hook
from scheduler_runtime.component import heartbeat as heartbeats
from scheduler_runtime.component.heartbeat import STUCK_SECONDS, Heartbeat
from tests.support.eventually import eventually
from tests.support.leases import Clock


async def test_only_a_loop_that_is_stuck_is_complained_of() -> None:
    clock = Clock()
    heartbeat = Heartbeat("a decision or a plugin", clock=clock)
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


async def test_what_holds_the_loop_up_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "BEAT_SECONDS", 0.01)
    lags: list[float] = []
    beating = asyncio.create_task(Heartbeat("nothing", lags.append).run())
    await asyncio.sleep(0.05)
    time.sleep(0.3)  # noqa: ASYNC251 - that is what is measured
    await asyncio.sleep(0.05)
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    assert 0.2 < max(lags) < 5
    assert min(lags) < 0.1
    assert len(lags) > 2


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
    heartbeat = Heartbeat("a plugin", clock=clock)
    loop = threading.Thread(target=asyncio.run, args=(decide_for_ever(heartbeat),))
    loop.start()

    def problem() -> str:
        clock.now += STUCK_SECONDS
        return describe_stuck_hook(heartbeat) or ""

    try:
        eventually(lambda: "filter of plugin Stuck for default/p does not end" in problem(), 10, every=0.01)
        assert "default/p" not in str(heartbeat.check())
    finally:
        Stuck.over.set()
        loop.join()
