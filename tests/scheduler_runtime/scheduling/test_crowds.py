"""Crowds of pods that are slow, or fit nowhere, beside others: these have their node within half a second.

Everything between the queue and the API server is real; the crowds are small in ``make test`` and as large as they may
get in ``make nightly``. Seconds are those of the loop's CPU: what else the machine does counts for nothing.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Action, Cycle, Event, NodeTable, Plugin, Pod
from tests.support.scheduling import Scene, running

OTHERS = 20
LONGEST_SECONDS = 0.5
FULL = pytest.mark.nightly(reason="ten thousand attempts take minutes")
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]


class Slow(Plugin):
    """Takes 60 ms of CPU for pods that are labelled so."""

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        until = time.thread_time() + (0.06 if "slow" in pod.labels else 0)
        while time.thread_time() < until:
            pass


async def waits(scene: Scene) -> list[float]:
    """The seconds that others wait for their node, one after the other."""
    seconds = []
    for number in range(OTHERS):
        began = time.thread_time()
        scene.queue.add(testing.pod(f"other-{number}", schedulerName="test"), "test", time.monotonic())
        async with asyncio.timeout(60):
            while len(scene.binds.bound) <= number:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        seconds.append(time.thread_time() - began)
        await asyncio.sleep(0.05)
    return seconds


@pytest.mark.parametrize("number", [100, pytest.param(10_000, marks=FULL)])
async def test_others_are_bound_beside_pods_whose_every_attempt_is_slow(number: int) -> None:
    async with running(Slow) as scene:
        for index in range(number):
            pod = testing.pod(
                f"slow-{index}", {"cpu": "100", "memory": str(index)}, namespace="slow", labels={"slow": ""},
                schedulerName="test",
            )  # fmt: skip
            scene.queue.add(pod, "test", time.monotonic())
        async with asyncio.timeout(60):
            while not scene.queue.yielding:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        seconds = await waits(scene)
    assert sorted(seconds)[-2] < LONGEST_SECONDS, seconds  # all objects may be collected once meanwhile


@pytest.mark.parametrize("number", [1_000, pytest.param(50_000, marks=FULL)])
async def test_others_are_bound_while_an_event_wakes_a_crowd_that_fails_once_more(number: int) -> None:
    async with running() as scene:
        for index in range(number):
            pod = testing.pod(
                f"large-{index}", {"cpu": "100", "memory": str(index)}, nodeSelector={"pool": "x"},
                schedulerName="test",
            )  # fmt: skip
            entry_time = time.monotonic()
            scene.queue.add(pod, "test", entry_time)
        async with asyncio.timeout(600):
            while scene.queue._active:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        old = scene.cache.table.node(0)
        new = testing.node("n", cpu="4", labels={"pool": "x"})
        scene.cache.set_node(new)
        scene.queue.on_event(Event("Node", Action.UPDATE_NODE_LABEL, old, new), time.monotonic())
        seconds = await waits(scene)
    assert sorted(seconds)[-2] < LONGEST_SECONDS, seconds  # all objects may be collected once meanwhile
