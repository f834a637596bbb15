"""Reasons for queueing, in upstream's words: the labels of queue_incoming_pods_total."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_runtime.scheduling.pending import SchedulingQueue
from tests.scheduler_runtime.scheduling.pending.pods import pod
from tests.scheduler_runtime.scheduling.pending.test_scheduling_queue import GATES_ELIMINATED, NODE_ADDED, Profile

Came = list[tuple[str, Any]]


class Counted:
    """Keeps what is counted."""

    def __init__(self, came: Came) -> None:
        self._came = came

    def pod_queued(self, queue: str, cause: Any) -> None:
        self._came.append((queue, cause))


@pytest.fixture
def came() -> Came:
    return []


@pytest.fixture
def pending(came: Came) -> SchedulingQueue:
    return SchedulingQueue({"default": Profile()}, longest_parked=20, metrics=Counted(came))


def test_a_new_pod_is_active_or_gated(pending: SchedulingQueue, came: Came) -> None:
    pending.add(pod("a"), "default", 0)
    pending.add(pod("b", gated=True), "default", 0)
    assert came == [("active", "UnschedulablePodAdd"), ("unschedulable", "UnschedulablePodAdd")]


def test_one_that_was_rejected_waits_for_an_event_then_for_its_backoff(pending: SchedulingQueue, came: Came) -> None:
    pending.add(pod("a"), "default", 0)
    pending.take(0)
    pending.park("a", ["Fit"], 0)
    pending.on_event(NODE_ADDED, 0.5)
    pending.add(pod("b"), "default", 3)  # there is something active: the backoff is not cut short
    pending.take(3)
    assert came[1:] == [
        ("unschedulable", "ScheduleAttemptFailure"),
        ("backoff", NODE_ADDED),
        ("active", "UnschedulablePodAdd"),
        ("active", "BackoffComplete"),
    ]


def test_a_pod_popped_early_one_that_failed_and_one_that_is_activated(pending: SchedulingQueue, came: Came) -> None:
    pending.add(pod("a"), "default", 0)
    pending.take(0)
    pending.park("a", ["Fit"], 0)
    pending.on_event(NODE_ADDED, 0)
    pending.take(0)
    pending.retry("a", 0)
    pending.activate(["a"], 0)
    assert came[3:] == [
        ("active", "PopFromBackoffQ"),
        ("backoff", "ScheduleAttemptFailure"),
        ("active", "ForceActivate"),
    ]


def test_a_pod_without_gates_any_more_comes_because_of_that(pending: SchedulingQueue, came: Came) -> None:
    pending.add(pod("a", gated=True), "default", 0)
    pending.update(pod("a"), [GATES_ELIMINATED], 1)
    assert came[1:] == [("active", GATES_ELIMINATED)]


def test_only_the_time_wakes_one_that_waited_too_long_and_it_is_remembered(
    pending: SchedulingQueue, came: Came
) -> None:
    pending.add(pod("a"), "default", 1)
    pending.take(1)
    pending.park("a", ["Mute"], 1)
    again = pending.take(32)
    assert came[2:] == [("active", "UnschedulableTimeout")]
    assert again is not None
    assert (again.was_flushed, again.waits_since) == (True, 1)
    pending.park("a", ["Mute"], 32)
    assert not again.was_flushed


def test_a_change_of_place_within_a_queue_has_no_cause(pending: SchedulingQueue, came: Came) -> None:
    pending.add(pod("a"), "default", 0)
    pending.update(pod("a", priority=1), [], 1)
    assert came[1:] == [("active", "")]


def test_events_are_recorded_for_pods_in_flight(pending: SchedulingQueue) -> None:
    pending.add(pod("a"), "default", 0)
    pending.take(0)
    pending.on_event(NODE_ADDED, 0)
    assert pending.recorded_events() == [NODE_ADDED]
    pending.mark_binding("a")
    assert pending.recorded_events() == []
