"""From the queue to the node or back: loop and binding cycle with a real framework, in memory up to HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.api import Action, Answer, ClusterEvent, Handle, NodeTable, Plugin, Pod, Reject, Wait, WaitingPod
from scheduler_runtime.framework import DECISION
from scheduler_runtime.scheduling.binding_sender import AlreadyBoundError, FencedError, PodGoneError
from scheduler_runtime.scheduling.pending import QueuePlace
from scheduler_runtime.scheduling.pods_underway import BindingSlots
from scheduler_runtime.scheduling.reporting import outbox
from tests.support.scheduling import Scene, running
from tests.support.scripted import Script, hangs, says, serving

UNRESERVED: list[str] = []
HANDLES: list[Handle] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    UNRESERVED.clear()
    HANDLES.clear()


async def test_a_pod_gets_its_node_and_says_so() -> None:
    async with running() as scene:
        pod = scene.add("a")
        await scene.until(lambda: scene.binds.bound)
        assert scene.binds.bound == [("a", "n")]
        assert await scene.events() == [("Scheduled", "Successfully assigned default/a to n")]
        assert (scene.cpu, scene.cache.is_assumed(pod.uid), scene.place(pod)) == (1000, True, QueuePlace.BINDING)
        assert 'scheduler_schedule_attempts_total{result="scheduled",profile="test"} 1' in scene.metrics.text()


async def test_a_pod_that_fits_nowhere_is_parked_with_its_reasons() -> None:
    async with running() as scene:
        pod = scene.add("big", cpu="5")
        text = (
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        )
        assert await eventually_events(scene, 1) == [("FailedScheduling", text)]
        assert await scene.conditions() == [("Unschedulable", text)]
        assert scene.place(pod) is QueuePlace.PARKED
        assert scene.cpu == 0


async def test_what_one_pod_took_the_next_one_sees() -> None:
    async with running() as scene:
        first, second = scene.add("a", cpu="3"), scene.add("b", cpu="3")
        await scene.until(lambda: scene.place(second) is QueuePlace.PARKED)
        assert scene.cache.is_assumed(first.uid)
        assert scene.cpu == 3000


async def test_refused_binding_gives_the_room_back() -> None:
    async with running() as scene:
        scene.binds.trouble["a"] = RuntimeError("the API server says no")
        pod = scene.add("a")
        ((reason, note),) = await eventually_events(scene, 1)
        assert (reason, note) == (
            "FailedScheduling",
            'running Bind plugin "DefaultBinder": the API server says no',
        )
        assert (await scene.conditions())[0] == ("SchedulerError", note)
        assert scene.cpu == 0
        del scene.binds.trouble["a"]
        await scene.until(lambda: scene.binds.bound)
        assert scene.place(pod) is QueuePlace.BINDING


async def test_a_failed_binding_wakes_those_whom_its_room_may_help() -> None:
    async with running() as scene:
        scene.binds.hold["a"] = asyncio.Event()
        scene.add("a", cpu="3")
        waiting = scene.add("b", cpu="3")
        await scene.until(lambda: scene.place(waiting) is QueuePlace.PARKED)
        scene.queue.remove("uid-of-a")
        scene.binds.trouble["a"] = PodGoneError("deleted")
        scene.binds.hold["a"].set()
        await scene.until(lambda: scene.binds.bound == [("b", "n")])


@pytest.mark.parametrize("error", [PodGoneError("x"), AlreadyBoundError("x"), FencedError("x")])
async def test_what_another_decided_is_not_reported_as_a_failure(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody has to be told, but it was an attempt, and a decision."""
    caplog.set_level(DECISION)
    async with running() as scene:
        scene.binds.trouble["a"] = error
        pod = scene.add("a")
        await scene.until(lambda: scene.place(pod) is QueuePlace.BACKOFF)
        scene.queue.remove(pod.uid)
        assert (await scene.events(), await scene.conditions(), scene.cpu) == ([], [], 0)
        assert 'scheduler_schedule_attempts_total{result="error",profile="test"} 1' in scene.metrics.text()
    assert [(record.message, record.levelno) for record in caplog.records] == [("not bound", DECISION)]


async def test_a_confirmed_pod_is_not_forgotten_by_its_failed_binding() -> None:
    async with running() as scene:
        hold = scene.binds.hold["a"] = asyncio.Event()
        pod = scene.add("a")
        await scene.until(lambda: scene.cache.is_assumed(pod.uid))
        scene.queue.remove(pod.uid)
        scene.cache.add(replace(pod, spec=replace(pod.spec, node_name="n")))
        scene.binds.trouble["a"] = AlreadyBoundError("x")
        hold.set()
        await scene.until(lambda: not len(scene.underway))
        assert scene.cpu == 1000


async def eventually_events(scene: Scene, count: int) -> list[tuple[str, str]]:
    await scene.until(lambda: len(scene.script.requests("POST")) >= count)
    return await scene.events()


class Breaks(Plugin):
    """Fails for pods called broken."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterable[Reject]:
        if pod.name == "broken":
            raise ZeroDivisionError("a plugin's bug")
        return ()


async def test_a_plugin_that_fails_concerns_its_pod_alone() -> None:
    async with running(Breaks) as scene:
        broken = scene.add("broken", priority=9)
        scene.add("a")
        await scene.until(lambda: scene.binds.bound == [("a", "n")])
        assert scene.place(broken) is QueuePlace.BACKOFF
        notes = [note for reason, note in await scene.events() if reason == "FailedScheduling"]
        assert set(notes) == {"plugin Breaks failed in filter: ZeroDivisionError: a plugin's bug"}


class UnspeakableError(Exception):
    """An exception of which not even the text can be had."""

    def __str__(self) -> str:
        raise ZeroDivisionError


class Broken(Plugin):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterable[Reject]:
        if pod.name.startswith("broken"):
            raise {"broken-deep": RecursionError, "broken-large": OverflowError, "broken-memory": MemoryError}.get(
                pod.name, UnspeakableError
            )
        return ()


async def test_whatever_an_attempt_ends_in_its_pod_backs_off_and_the_loop_goes_on() -> None:
    async with running(Broken) as scene:
        broken = [scene.add(f"broken-{name}", priority=9) for name in ("deep", "large", "memory", "unspeakable")]
        scene.add("a")
        await scene.until(lambda: scene.binds.bound == [("a", "n")])
        assert {scene.place(pod) for pod in broken} == {QueuePlace.BACKOFF}
        assert (scene.cpu, len(scene.cache)) == (1000, 1)


class Holds(Plugin):
    """Holds every pod until the test lets it go."""

    def reserve(self, pod: Pod, node: str, state: Any) -> Reject | None:
        return None

    def unreserve(self, pod: Pod, node: str, state: Any) -> None:
        UNRESERVED.append(pod.name)

    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        HANDLES.append(self.handle)
        return Wait(30)


async def wait_for_permit(scene: Scene) -> WaitingPod:
    """The pod that a permit holds, once its task waits."""
    await scene.until(lambda: scene.underway.waiting_for_permit)
    (waiting,) = HANDLES[-1].waiting_pods()
    return waiting


async def test_a_pod_is_bound_when_its_permit_is_granted() -> None:
    async with running(Holds) as scene:
        pod = scene.add("a")
        waiting = await wait_for_permit(scene)
        assert (scene.place(pod), scene.binds.bound, scene.cpu) == (QueuePlace.IN_FLIGHT, [], 1000)
        waiting.allow("Holds")
        await scene.until(lambda: scene.binds.bound == [("a", "n")])
        assert UNRESERVED == []


async def test_a_pod_that_is_rejected_at_permit_is_parked_and_gives_its_room_back() -> None:
    async with running(Holds) as scene:
        pod = scene.add("a")
        (await wait_for_permit(scene)).reject("Holds", "its gang is not complete")
        await scene.until(lambda: scene.place(pod) is QueuePlace.PARKED)
        assert (scene.cpu, UNRESERVED) == (0, ["a"])
        assert await scene.events() == [("FailedScheduling", "0/1 nodes are available: 1 its gang is not complete.")]


class RejectsAtTheEnd(Plugin):
    """Takes room, and finds out before the binding that the pod cannot have it."""

    async def pre_bind(self, pod: Pod, node: str, state: Any) -> Reject | None:
        return Reject.pod("its volume is elsewhere")


async def test_a_pod_that_is_rejected_before_its_binding_backs_off_and_gives_its_room_back() -> None:
    async with running(RejectsAtTheEnd) as scene:
        pod = scene.add("a")
        await scene.until(lambda: scene.place(pod) is QueuePlace.BACKOFF)
        assert (scene.cpu, scene.binds.bound) == (0, [])
        assert await scene.events() == [("FailedScheduling", "0/1 nodes are available: 1 its volume is elsewhere.")]


class HoldsAndHearsOfRoom(Plugin):
    """Rejects at permit, and wants to hear of pods that leave."""

    events = (ClusterEvent("Pod", Action.DELETE),)

    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        HANDLES.append(self.handle)
        return Wait(30)


async def test_a_rejected_pod_is_not_woken_by_the_room_it_gives_back_but_others_are() -> None:
    async with running(HoldsAndHearsOfRoom) as scene:
        first = scene.add("a", cpu="3")
        waiting = await wait_for_permit(scene)
        second = scene.add("b", cpu="3")
        await scene.until(lambda: scene.place(second) is QueuePlace.PARKED)
        waiting.reject("HoldsAndHearsOfRoom", "not now")
        await scene.until(
            lambda: scene.place(first) is QueuePlace.PARKED and scene.place(second) is QueuePlace.IN_FLIGHT
        )
        assert [entry.attempts for entry in scene.queue.entries()] == [1, 2]


async def test_others_are_woken_when_plugins_give_back_what_a_deleted_pod_had() -> None:
    async with running(HoldsAndHearsOfRoom) as scene:
        first = scene.add("a", cpu="3")
        await wait_for_permit(scene)
        second = scene.add("b", cpu="3")
        await scene.until(lambda: scene.place(second) is QueuePlace.PARKED)
        scene.queue.remove(first.uid)
        scene.cache.remove(first.uid)
        scene.underway.stop_waiting(first)
        await scene.until(lambda: scene.place(second) is QueuePlace.IN_FLIGHT)


async def test_a_condition_in_the_outbox_is_withdrawn_when_the_pod_is_bound() -> None:
    script = Script()
    async with serving(script) as client:
        scene = Scene(script, client)
        pod = scene.add("a")
        scene.reporter.failed(pod, "it had no node", pod)
        await scene.loop.schedule_one()
        await scene.until(lambda: scene.binds.bound)
        sending = asyncio.create_task(scene.outbox.run())
        assert len(await scene.events()) == 2
        assert await scene.conditions() == []
        sending.cancel()


async def test_a_condition_under_way_arrives_before_the_binding() -> None:
    started, answer = asyncio.Event(), asyncio.Event()

    async def slow(request: Any) -> Any:
        started.set()
        await answer.wait()
        return await says({})(request)

    async with running() as scene:
        scene.reporter.events.change_mode("None")
        scene.script.answers.append(slow)
        earlier = testing.pod("a", schedulerName="test")
        scene.reporter.failed(earlier, "it had no node", earlier)
        await started.wait()
        scene.add("a")
        await scene.until(lambda: len(scene.underway))
        await asyncio.sleep(0.05)
        assert scene.binds.bound == []
        answer.set()
        await scene.until(lambda: scene.binds.bound)


async def test_a_condition_that_nobody_answers_does_not_keep_a_pod_from_its_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "SILENCE_SECONDS", 0.05)
    async with running() as scene:
        scene.script.otherwise = hangs
        earlier = testing.pod("a", schedulerName="test")
        scene.reporter.failed(earlier, "it had no node", earlier)
        await scene.until(lambda: scene.script.requests("PATCH"))
        scene.add("a")
        await scene.until(lambda: scene.binds.bound)


async def test_the_status_of_a_pod_that_waits_for_a_permit_names_the_node_it_is_about_to_have() -> None:
    async with running(Holds) as scene:
        pod = scene.add("a")
        waiting = await wait_for_permit(scene)
        assert await scene.statuses() == [{"nominatedNodeName": "n"}]
        waiting.reject("Holds", "not now")
        await scene.until(lambda: scene.place(pod) is not QueuePlace.IN_FLIGHT)
        assert (await scene.statuses())[1]["nominatedNodeName"] is None


async def test_a_pod_that_is_bound_at_once_is_not_announced() -> None:
    async with running() as scene:
        scene.add("a")
        await scene.until(lambda: scene.binds.bound)
        assert await scene.statuses() == []


async def test_a_pod_that_comes_to_wait_while_it_is_on_its_way_is_not_placed_twice() -> None:
    async with running() as scene:
        scene.binds.hold["a"] = asyncio.Event()
        pod = scene.add("a")
        await scene.until(lambda: len(scene.underway))
        scene.add("a")
        await scene.until(lambda: scene.place(pod) is QueuePlace.BINDING)
        assert scene.cpu == 1000
        scene.binds.hold["a"].set()
        await scene.until(lambda: scene.binds.bound == [("a", "n")])


async def test_a_task_that_ends_does_not_forget_the_next_one_of_its_pod() -> None:
    async with running() as scene:
        scene.binds.hold["a"] = asyncio.Event()
        pod = scene.add("a")
        await scene.until(lambda: len(scene.underway))
        first, ends = scene.underway._bindings[pod.uid].task, asyncio.Event()

        async def bind_again() -> None:
            await ends.wait()

        scene.underway.start(pod, scene.frameworks["test"], bind_again())
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await asyncio.sleep(0)
        assert pod.uid in scene.underway
        ends.set()
        await scene.until(lambda: pod.uid not in scene.underway)


async def test_a_pod_that_is_deleted_at_permit_gives_its_room_back_in_silence() -> None:
    async with running(Holds) as scene:
        pod = scene.add("a")
        await wait_for_permit(scene)
        scene.queue.remove(pod.uid)
        scene.underway.stop_waiting(pod)
        await scene.until(lambda: not len(scene.underway))
        assert (scene.cpu, UNRESERVED, await scene.events()) == (0, ["a"], [])


async def test_pods_that_wait_for_a_permit_take_no_slot() -> None:
    async with running(Holds, slots=BindingSlots(backlog=2)) as scene:
        for name in ("a", "b", "c", "d"):
            scene.add(name)
        await scene.until(lambda: len(scene.underway.waiting_for_permit) == 4)


async def test_decisions_wait_while_too_many_bindings_are_under_way() -> None:
    async with running(slots=BindingSlots(backlog=2)) as scene:
        go = asyncio.Event()
        scene.binds.hold = dict.fromkeys("abcd", go)
        for name in "abcd":
            scene.add(name)
        await scene.until(lambda: len(scene.underway) == 2)
        await asyncio.sleep(0.05)
        assert len(scene.underway) == 2
        go.set()
        await scene.until(lambda: len(scene.binds.bound) == 4)


async def test_finishing_waits_for_bindings_and_gives_up_the_late_ones() -> None:
    async with running() as scene:
        scene.binds.hold = {"a": asyncio.Event(), "b": asyncio.Event()}
        scene.add("a")
        scene.add("b")
        await scene.until(lambda: len(scene.underway) == 2)
        asyncio.get_running_loop().call_later(0.05, scene.binds.hold["a"].set)
        assert not await scene.underway.finish(0.3)
        assert scene.binds.bound == [("a", "n")]
        assert (len(scene.underway), scene.cpu) == (0, 1000)


async def test_a_pod_that_is_being_deleted_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(DECISION)
    async with running() as scene:
        pod = testing.pod("a", schedulerName="test")
        leaving = replace(pod, metadata=replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
        scene.queue.add(leaving, "test", 0)
        assert await eventually_events(scene, 1) == [("FailedScheduling", "skip schedule deleting pod: default/a")]
        assert (len(scene.queue), scene.binds.bound) == (0, [])
    assert [record.message for record in caplog.records] == ["skipped"]
