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
