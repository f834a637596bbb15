"""Pods on their way to a node: called back because another needs the room more, and waited for at the end."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Answer, Cycle, NodeTable, Nomination, Plugin, Pod, Reject, Verdicts, Wait
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.support.scheduling import Scene, running

NEVER: list[asyncio.Event] = []
DONE: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    NEVER.clear()
    DONE.clear()


class Holds(Plugin):
    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        return Wait(30)

    def let_go(self) -> None:
        for waiting in self.handle.waiting_pods():
            waiting.allow("Holds")


class Prepares(Plugin):
    """Prepares a binding without end."""

    async def pre_bind(self, pod: Pod, node: str, state: Any) -> None:
        NEVER.append(asyncio.Event())
        await NEVER[-1].wait()


class PreparesStubbornly(Prepares):
    """Does not want to hear that it should stop."""

    async def pre_bind(self, pod: Pod, node: str, state: Any) -> None:
        try:
            await super().pre_bind(pod, node, state)
        except asyncio.CancelledError:
            DONE.append(pod.name)


async def wait_for_permit(scene: Scene) -> Pod:
    pod = scene.add("a")
    await scene.until(lambda: scene.underway.waiting_for_permit)
    return pod


async def prepared(scene: Scene) -> Pod:
    pod = scene.add("a")
    await scene.until(lambda: NEVER)
    return pod


async def test_a_pod_that_is_preempted_at_permit_backs_off_and_gives_its_room_back() -> None:
    async with running(Holds) as scene:
        pod = await wait_for_permit(scene)
        assert scene.underway.preempt(pod, "Needs")
        await scene.until(lambda: scene.place(pod) is QueuePlace.BACKOFF)
        assert (scene.cpu, scene.binds.bound) == (0, [])
        assert await scene.conditions() == [("SchedulerError", "waiting on permit for pod: preempted")]


async def test_before_1_36_a_pod_at_permit_is_rejected() -> None:
    async with running(Holds, version="v1.35.4") as scene:
        pod = await wait_for_permit(scene)
        assert scene.underway.preempt(pod, "DefaultPreemption")
        await scene.until(lambda: scene.place(pod) is QueuePlace.PARKED)
        assert await scene.conditions() == [("Unschedulable", "0/1 nodes are available: 1 preempted.")]


async def test_a_pod_that_was_just_let_go_is_not_preempted() -> None:
    async with running(Holds) as scene:
        pod = await wait_for_permit(scene)
        holds: Any = scene.frameworks["test"].plugin("Holds")
        holds.let_go()
        assert not scene.underway.preempt(pod, "Needs")
        await scene.until(lambda: scene.binds.bound == [("a", "n")])


@pytest.mark.parametrize("prepares", [Prepares, PreparesStubbornly])
async def test_a_pod_that_is_prepared_stops_and_backs_off(prepares: type[Plugin]) -> None:
    async with running(prepares) as scene:
        pod = await prepared(scene)
        assert scene.underway.preempt(pod, "Needs")
        await scene.until(lambda: scene.place(pod) is QueuePlace.BACKOFF)
        assert (scene.cpu, scene.binds.bound) == (0, [])
        assert await scene.conditions() == [("SchedulerError", "preempted by Needs")]


async def test_before_1_36_a_pod_that_is_prepared_is_not_preempted() -> None:
    async with running(Prepares, version="v1.35.4") as scene:
        pod = await prepared(scene)
        assert not scene.underway.preempt(pod, "Needs")
        NEVER[-1].set()
        await scene.until(lambda: scene.binds.bound == [("a", "n")])


async def test_it_is_too_late_for_a_pod_that_is_being_bound_and_for_one_of_somebody_else() -> None:
    async with running() as scene:
        scene.binds.hold["a"] = asyncio.Event()
        pod = scene.add("a")
        await scene.until(lambda: scene.place(pod) is QueuePlace.BINDING)
        assert not scene.underway.preempt(pod, "Needs")
        scene.binds.hold["a"].set()


class MakesRoom(Plugin):
    """Makes room when the test lets it."""

    def post_filter(self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle) -> Nomination:
        async def work() -> None:
            NEVER.append(asyncio.Event())
            await NEVER[-1].wait()
            DONE.append(f"room for {pod.name}")

        return Nomination("n", work())


@pytest.mark.parametrize("is_in_time", [True, False])
async def test_finishing_waits_for_work_that_makes_room(is_in_time: bool) -> None:
    async with running(MakesRoom) as scene:
        scene.add("big", cpu="5")
        await scene.until(lambda: NEVER)
        if is_in_time:
            asyncio.get_running_loop().call_later(0.05, NEVER[-1].set)
        assert await scene.underway.finish(5 if is_in_time else 0.01) is is_in_time
        assert ("room for big" in DONE) is is_in_time
        assert not scene.underway._making_room


async def test_what_a_plugin_begins_to_make_room_is_done_and_the_node_is_nominated() -> None:
    async with running(MakesRoom) as scene:
        scene.add("big", cpu="5")
        await scene.until(lambda: NEVER)
        NEVER[-1].set()
        await scene.until(lambda: DONE == ["room for big"])
        await scene.conditions()
        (patch,) = scene.script.requests("PATCH")
        assert patch.body["status"]["nominatedNodeName"] == "n"


class AtOnce(Plugin):
    """Makes room before anything else is decided."""

    def post_filter(self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle) -> Nomination:
        async def work() -> None:
            await asyncio.sleep(0.05)
            DONE.append(f"room for {pod.name}")

        return Nomination("elsewhere", work(), at_once=True)


async def test_work_that_is_to_be_done_at_once_is_done_before_the_next_decision() -> None:
    async with running(AtOnce) as scene:
        scene.cache.set_node(testing.node("elsewhere", unschedulable=True))
        scene.add("big", cpu="5", priority=9)
        scene.add("small")
        await scene.until(lambda: scene.binds.bound == [("small", "n")])
        assert DONE == ["room for big"]
