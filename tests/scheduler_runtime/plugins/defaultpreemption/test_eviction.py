"""Eviction of the victims while their preemptor waits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from scheduler_runtime.api import SKIP, Action, Event, Pod
from scheduler_runtime.framework import Unschedulable
from scheduler_runtime.plugins.defaultpreemption import eviction
from tests.support.preempting import HIGH, LARGE, LOW, MID, SMALL, VERY_LARGE, Scene, pod


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eviction, "PAUSE_SECONDS", 0.0)


WAITING = "waiting for the preemption for this pod to be finished"
PREEMPTOR = pod("p", HIGH, VERY_LARGE)


def gate(scene: Scene) -> str:
    reject = scene.framework.queue.pre_enqueue(PREEMPTOR)
    return reject.reason if reject else ""


def deleted(victim: Pod) -> Pod:
    return replace(victim, metadata=replace(victim.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))


def work_of(scene: Scene, preemptor: Pod = PREEMPTOR) -> Any:
    outcome = scene.framework.schedule(preemptor, scene.cluster)
    assert isinstance(outcome, Unschedulable)
    assert outcome.nomination
    return outcome.nomination.work


def with_victims(*names: str) -> Scene:
    return Scene(["a"], [pod(name, LOW, SMALL, node="a", started=f"2026-01-01T00:00:0{name[-1]}Z") for name in names])


async def test_the_preemptor_waits_until_all_victims_are_told() -> None:
    scene = with_victims("v1", "v2", "v3")
    gates: dict[str, str] = {}
    scene.api.on_preempt = lambda victim: gates.update({victim.name: gate(scene)})
    work = work_of(scene)
    assert gate(scene) == WAITING
    await work
    assert [victim.split()[0] for victim in scene.api.victims] == ["v1", "v2", "v3"]
    assert gates == dict.fromkeys(("v1", "v2", "v3"), WAITING)
    assert gate(scene) == ""
    assert scene.activated == []  # what wakes it is the end of the victims


async def test_the_end_of_the_last_victim_lets_the_preemptor_go_before_the_answer_to_its_deletion() -> None:
    scene = with_victims("v1", "v2")
    gates: dict[str, list[str]] = {}

    def look(victim: Pod) -> None:
        before = gate(scene)
        scene.latest[victim.uid] = deleted(victim)
        while_it_leaves = gate(scene)
        scene.latest[victim.uid] = None
        gates[victim.name] = [before, while_it_leaves, gate(scene)]

    scene.api.on_preempt = look
    await work_of(scene)
    assert gates == {"v1": [WAITING] * 3, "v2": [WAITING, "", ""]}


async def test_after_a_failure_the_others_are_spared_and_the_preemptor_is_tried_again() -> None:
    scene = with_victims("v1", "v2", "v3")
    scene.api.refuses = {"v1"}
    await work_of(scene)
    assert scene.api.victims == ["v2 for p on a"]
    assert scene.activated == ["p"]
    assert gate(scene) == ""


async def test_when_the_last_victim_stays_the_preemptor_is_tried_again() -> None:
    scene = with_victims("v1")
    scene.api.refuses = {"v1"}
    await work_of(scene)
    assert (scene.activated, gate(scene)) == (["p"], "")


async def test_when_the_last_victim_went_unheard_the_preemptor_is_tried_again() -> None:
    scene = with_victims("v1", "v2")
    work = work_of(scene)
    scene.latest["v2"] = None  # another preemptor has deleted it, while this one was held
    await work
    assert (scene.activated, gate(scene)) == (["p"], "")


async def test_victims_that_leave_already_are_not_told_again() -> None:
    leaving = pod("v1", LOW, LARGE, node="a", deleted=True)
    assert work_of(Scene(["a"], [leaving])) is None
    scene = Scene(["a"], [leaving, pod("v2", LOW, SMALL, node="a")])
    await work_of(scene)
    assert scene.api.victims == ["v2 for p on a"]


async def test_pods_that_come_together_need_one_victim_each() -> None:
    """Each is nominated to the node, and so needs the room of those before it as well."""
    scene = with_victims("v1", "v2", "v3", "v4", "v5")
    crowd = [pod(f"p{number}", HIGH, SMALL) for number in range(4)]
    works = [work_of(scene, preemptor) for preemptor in crowd]
    assert scene.api.victim_counts == [1, 1, 1, 1]
    await asyncio.gather(*works)
    assert sorted(victim.split()[0] for victim in scene.api.victims) == ["v2", "v3", "v4", "v5"]


async def test_the_victim_of_another_preemptor_comes_first_and_a_new_one_wakes_the_preemptor() -> None:
    scene = with_victims("v1", "v2", "v3", "v4", "v5")
    await work_of(scene, pod("p1", HIGH, SMALL))
    await work_of(scene, pod("p2", HIGH, SMALL))
    assert scene.api.victims == ["v5 for p1 on a", "v4 for p2 on a"]
    scene.latest["v5"] = None
    work = work_of(scene, pod("p3", HIGH, SMALL))
    await work
    assert scene.api.victims[2:] == ["v3 for p3 on a"]
    assert scene.activated == []  # what it waits for is the end of v3


def test_a_preemptor_whose_node_has_claimed_victims_does_not_evict_elsewhere() -> None:
    scene = Scene(["a", "b"], [pod("v1", LOW, VERY_LARGE, node="a"), pod("v2", LOW, VERY_LARGE, node="b")])
    waits = pod("w", HIGH, VERY_LARGE, status={"nominatedNodeName": "a"})
    scene.nominations.observe(None, waits)
    scene.victims.claim(PREEMPTOR, [pod("v1")])
    assert scene.post_filter_message(waits) == "not eligible due to a terminating pod on the nominated node."
    scene.victims.release(PREEMPTOR, [pod("v1")])
    assert scene.nominated(waits) in ("a", "b")


async def test_victims_that_stay_are_claimed_no_longer_and_all_that_waited_for_them_are_tried_again() -> None:
    scene = with_victims("v1", "v2")
    in_line = pod("q", HIGH, SMALL, status={"nominatedNodeName": "a"})
    scene.nominations.observe(None, in_line)
    scene.api.refuses = {"v1"}
    work = work_of(scene, pod("p", HIGH, {"cpu": "400m", "memory": "400"}))
    assert "v1" in scene.victims
    assert "v2" in scene.victims
    await work
    assert "v1" not in scene.victims
    assert "v2" not in scene.victims
    assert scene.activated == ["p", "q"]


def test_of_equal_pods_one_that_leaves_anyway_is_the_victim() -> None:
    scene = Scene(["a"], [pod(name, LOW, SMALL, node="a", started="2026-01-01T00:00:00Z") for name in "vwxyz"])
    scene.victims.claim(pod("other", HIGH), [pod("w")])
    assert scene.nominated(pod("p", HIGH, SMALL)) == "a"
    assert scene.candidates == {"a": (["w"], 0)}


async def test_less_important_pods_nominated_to_the_node_have_to_look_elsewhere() -> None:
    scene = with_victims("v1")
    for name, priority in (("less", MID), ("equal", HIGH)):
        scene.nominations.nominate(pod(name, priority, status={"nominatedNodeName": "a"}), "a")
    await work_of(scene)
    assert scene.api.cleared == ["less"]


async def test_work_that_is_given_up_holds_nobody() -> None:
    scene = with_victims("v1")
    scene.api.hold = asyncio.Event()
    task = asyncio.ensure_future(work_of(scene))
    await asyncio.sleep(0.01)
    assert gate(scene) == WAITING
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert gate(scene) == ""


def test_without_asynchronous_preemption_the_work_is_done_at_once() -> None:
    scene = with_victims("v1")
    nomination = scene.refused(PREEMPTOR).nomination
    assert nomination
    assert not nomination.at_once
    scene = Scene(["a"], [pod("v1", LOW, SMALL, node="a")], feature_gates={"SchedulerAsyncPreemption": False})
    nomination = scene.refused(PREEMPTOR).nomination
    assert nomination
    assert nomination.at_once


def test_whether_a_deletion_helps_is_for_other_plugins_to_say() -> None:
    scene = with_victims("v1")
    assert scene.plugin.hint(Event("Pod", Action.DELETE, pod("v1"), None), PREEMPTOR) is SKIP
