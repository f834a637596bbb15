"""A pod that preempts others: parked by a filter, then held by a gate until its victims are on their way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from scheduler_runtime.api import Action, ClusterEvent, Event, Pod, QueueEntry
from scheduler_runtime.framework import QueueGate
from scheduler_runtime.scheduling.pending import QueuePlace, SchedulingQueue
from tests.support.preempting import HIGH, LOW, MID, pod

DELETED = Event("Pod", Action.DELETE, pod("victim"), None)
NODE_ADDED = Event("Node", Action.ADD)


class Profile:
    """Fit rejects and is helped by pods that go and nodes that come; Preempts holds back, and leaves hints to Fit."""

    def __init__(self) -> None:
        self.holds = False

    @property
    def queue(self) -> Profile:
        return self

    def pre_enqueue(self, pod: Pod) -> QueueGate | None:
        return QueueGate("Preempts", "victims are still there") if self.holds else None

    def sort_key(self, entry: QueueEntry) -> Any:
        return -entry.pod.spec.priority, entry.added_at

    @property
    def events(self) -> Mapping[str, Iterable[ClusterEvent]]:
        nodes = ClusterEvent("Node", Action.ADD)
        return {"Fit": (ClusterEvent("Pod", Action.DELETE), nodes), "Preempts": (ClusterEvent("Pod", Action.DELETE),)}

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        return plugin == "Fit"


class Preemptor:
    """One preemptor, parked while its victims are told to go."""

    def __init__(self) -> None:
        self.profile = Profile()
        self.pending = SchedulingQueue({"test": self.profile})
        self.pending.add(pod("p", HIGH), "test", 0)
        assert self.pending.take(0)
        self.profile.holds = True
        self.pending.park("p", ["Fit"], 0)

    @property
    def place(self) -> QueuePlace:
        (entry,) = self.pending.entries()
        return entry.place

    def take(self, now: float) -> str:
        entry = self.pending.take(now)
        return entry.uid if entry else ""


@pytest.fixture
def preemptor() -> Preemptor:
    return Preemptor()


def test_it_waits_while_victims_are_still_to_be_deleted(preemptor: Preemptor) -> None:
    preemptor.pending.on_event(DELETED, 5)
    assert preemptor.take(5) == ""
    assert preemptor.place is QueuePlace.GATED


def test_the_last_victim_that_goes_lets_it_go(preemptor: Preemptor) -> None:
    preemptor.pending.on_event(DELETED, 5)
    preemptor.profile.holds = False
    preemptor.pending.on_event(DELETED, 6)
    assert preemptor.take(6) == "p"


def test_what_its_gate_did_not_ask_for_does_not_wake_it(preemptor: Preemptor) -> None:
    preemptor.pending.on_event(DELETED, 5)
    preemptor.profile.holds = False
    preemptor.pending.on_event(NODE_ADDED, 6)
    assert preemptor.place is QueuePlace.GATED


def test_parked_again_it_hears_again_what_those_hear_that_rejected_it(preemptor: Preemptor) -> None:
    preemptor.pending.on_event(DELETED, 5)
    preemptor.profile.holds = False
    preemptor.pending.on_event(DELETED, 6)
    assert preemptor.take(6) == "p"
    preemptor.pending.park("p", ["Fit"], 6)
    preemptor.pending.on_event(NODE_ADDED, 30)
    assert preemptor.take(30) == "p"


def test_when_its_victims_stay_it_is_activated(preemptor: Preemptor) -> None:
    preemptor.pending.on_event(DELETED, 5)
    preemptor.pending.activate(["p"], 6)
    assert preemptor.place is QueuePlace.GATED
    preemptor.profile.holds = False
    preemptor.pending.activate(["p"], 7)
    assert preemptor.take(7) == "p"


def test_room_that_was_reserved_for_a_pod_helps_only_those_no_more_important() -> None:
    pending = SchedulingQueue({"test": Profile()})
    for name, priority in (("low", LOW), ("mid", MID), ("high", HIGH)):
        pending.add(pod(name, priority), "test", 0)
    while entry := pending.take(0):
        pending.park(entry.uid, ["Fit"], 0)
    pending.on_event(DELETED, 5, up_to_priority=MID)
    assert {entry.uid for entry in pending.entries() if entry.place is not QueuePlace.PARKED} == {"low", "mid"}
