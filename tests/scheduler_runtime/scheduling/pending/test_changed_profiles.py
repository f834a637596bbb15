"""Waiting pods when the plugins of their profile change; time is a number that the test chooses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from scheduler_runtime.api import Action, ClusterEvent, Event, Pod, QueueEntry
from scheduler_runtime.framework import QueueGate
from scheduler_runtime.scheduling.pending import BackingOff, QueuePlace, SchedulingQueue
from tests.scheduler_runtime.scheduling.pending.pods import pod

NODE_ADDED = Event("Node", Action.ADD)


@dataclass(frozen=True)
class Profile:
    """Sorts by priority, in one direction or the other, perhaps by a key of another type, and may gate every pod."""

    falling: bool = False
    gates: bool = False
    plugin: str = "Fit"

    @property
    def queue(self) -> Profile:
        return self

    def pre_enqueue(self, pod: Pod) -> QueueGate | None:
        return QueueGate("Gates", "all are gated") if self.gates else None

    def sort_key(self, entry: QueueEntry) -> Any:
        return (-entry.pod.spec.priority, "") if self.falling else entry.pod.spec.priority

    @property
    def events(self) -> Mapping[str, Iterable[ClusterEvent]]:
        return {self.plugin: (ClusterEvent("Node", Action.ADD),)}

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        return True


@pytest.fixture
def profiles() -> dict[str, Profile]:
    return {"a": Profile()}


@pytest.fixture
def pending(profiles: dict[str, Profile]) -> SchedulingQueue:
    return SchedulingQueue(profiles)


def place(pending: SchedulingQueue, uid: str) -> QueuePlace:
    return next(entry.place for entry in pending.entries() if entry.uid == uid)


def take_all(pending: SchedulingQueue, now: float) -> list[str]:
    uids = []
    while entry := pending.take(now):
        uids.append(entry.uid)
    return uids


def park(pending: SchedulingQueue, uid: str, now: float) -> None:
    pending.add(pod(uid), "a", now)
    assert take_all(pending, now) == [uid]
    pending.park(uid, {"Fit"}, now)


def test_pods_are_taken_in_the_new_order(pending: SchedulingQueue, profiles: dict[str, Profile]) -> None:
    for rank in (1, 3, 2):
        pending.add(pod(f"rank-{rank}", rank), "a", 0)
    profiles["a"] = Profile(falling=True)
    pending.change_profiles({"a"}, 0)
    assert take_all(pending, 0) == ["rank-3", "rank-2", "rank-1"]


def test_a_parked_pod_is_tried_again_once_it_has_backed_off(
    pending: SchedulingQueue, profiles: dict[str, Profile]
) -> None:
    park(pending, "p", 0)
    profiles["a"] = Profile(plugin="Other")
    pending.change_profiles({"a"}, 0.5)
    assert place(pending, "p") is QueuePlace.BACKOFF
    assert take_all(pending, 2) == ["p"]


def test_a_pod_in_flight_is_tried_again_if_the_old_plugins_reject_it(
    pending: SchedulingQueue, profiles: dict[str, Profile]
) -> None:
    pending.add(pod("p"), "a", 0)
    assert take_all(pending, 0) == ["p"]
    profiles["a"] = Profile(plugin="Other")
    pending.change_profiles({"a"}, 0)
    pending.park("p", {"Fit"}, 0)
    assert place(pending, "p") is QueuePlace.BACKOFF
    assert take_all(pending, 0) == ["p"]


def test_new_gates_close_and_old_ones_open(pending: SchedulingQueue, profiles: dict[str, Profile]) -> None:
    pending.add(pod("p"), "a", 0)
    profiles["a"] = Profile(gates=True)
    pending.change_profiles({"a"}, 0)
    assert place(pending, "p") is QueuePlace.GATED
    profiles["a"] = Profile()
    pending.change_profiles({"a"}, 0)
    assert place(pending, "p") is QueuePlace.ACTIVE


def test_what_new_plugins_registered_wakes_the_pods_that_they_reject(
    pending: SchedulingQueue, profiles: dict[str, Profile]
) -> None:
    park(pending, "p", 0)
    pending.on_event(NODE_ADDED, 0)  # who wants this is known from here on
    profiles["a"] = Profile(plugin="Other")
    pending.change_profiles({"a"}, 9)
    assert take_all(pending, 9) == ["p"]
    pending.park("p", {"Other"}, 9)
    pending.on_event(NODE_ADDED, 30)
    assert place(pending, "p") is QueuePlace.ACTIVE


@pytest.mark.parametrize("state", ["active", "parked", "in flight"])
def test_the_pods_of_a_removed_profile_are_returned(
    pending: SchedulingQueue, profiles: dict[str, Profile], state: str
) -> None:
    profiles["b"] = Profile()
    pending.add(pod("stays"), "b", 0)
    take_all(pending, 0)
    if state == "parked":
        park(pending, "p", 0)
    else:
        pending.add(pod("p"), "a", 0)
    if state == "in flight":
        take_all(pending, 0)
    del profiles["a"]
    assert pending.change_profiles({"a"}, 1) == [pod("p")]
    assert [entry.uid for entry in pending.entries()] == ["stays"]
    pending.park("p", {"Fit"}, 1)
    assert take_all(pending, 400) == []


def test_others_are_left_alone(pending: SchedulingQueue, profiles: dict[str, Profile]) -> None:
    park(pending, "p", 0)
    profiles["b"] = Profile()
    pending.change_profiles({"b"}, 0.5)
    assert place(pending, "p") is QueuePlace.PARKED


def test_pods_back_off_as_long_as_is_configured_now(profiles: dict[str, Profile]) -> None:
    backing_off = BackingOff()
    pending = SchedulingQueue(profiles, backing_off=backing_off)
    backing_off.change_seconds(4, 8)
    park(pending, "p", 0)
    pending.on_event(NODE_ADDED, 3)
    assert place(pending, "p") is QueuePlace.BACKOFF
    assert pending.wake_at() == 5


def test_pods_that_back_off_stand_in_the_new_order(pending: SchedulingQueue, profiles: dict[str, Profile]) -> None:
    for rank in (1, 3, 2):
        pending.add(pod(f"rank-{rank}", rank), "a", 0)
    for uid in take_all(pending, 0):
        pending.park(uid, {"Fit"}, 0)
    pending.on_event(NODE_ADDED, 0)
    profiles["a"] = Profile(falling=True)
    pending.change_profiles({"a"}, 0)
    assert {place(pending, f"rank-{rank}") for rank in (1, 2, 3)} == {QueuePlace.BACKOFF}
    assert take_all(pending, 0) == ["rank-3", "rank-2", "rank-1"]


def test_a_pod_that_backs_off_is_kept_back_by_a_new_gate(
    pending: SchedulingQueue, profiles: dict[str, Profile]
) -> None:
    park(pending, "p", 0)
    pending.on_event(NODE_ADDED, 0)
    profiles["a"] = Profile(gates=True)
    pending.change_profiles({"a"}, 0)
    assert place(pending, "p") is QueuePlace.GATED
