"""Pods that are taken, and what happens meanwhile: TestPop, Test_InFlightPods."""

from __future__ import annotations

import pytest

from scheduler_runtime.api import Event
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.scheduler_runtime.scheduling.pending.pods import pod
from tests.scheduler_runtime.scheduling.pending.upstream.queueing import (
    LABELLED,
    NODE_ADDED,
    PV_ADDED,
    UNREGISTERED,
    Queue,
)

# TestPriorityQueue_Add, TestPop


def test_add(queue: Queue) -> None:
    queue.add(pod("medium", 5), pod("unschedulable", 1), pod("high", 9))
    assert queue.take_all() == ["high", "medium", "unschedulable"]


def test_pop_pods_from_both_active_and_backoff_when_nothing_is_active(queue: Queue) -> None:
    queue.parked("foo")
    queue.on_event()
    queue.add(pod("low", -1))
    assert queue.take_all() == ["low", "p"]


# Test_InFlightPods


def test_pod_and_interested_events_are_recorded_while_it_is_in_flight(queue: Queue) -> None:
    queue.add(pod("p"))
    queue.on_event(PV_ADDED)
    assert queue.take() == "p"
    queue.on_event(PV_ADDED)
    queue.on_event(UNREGISTERED)
    assert queue.pending.recorded_events() == [PV_ADDED]


def test_events_are_dropped_as_pods_come_back(queue: Queue) -> None:
    queue.add(pod("a"), pod("b"))
    assert queue.take() == "a"
    queue.on_event(PV_ADDED)
    assert queue.take() == "b"
    queue.on_event(NODE_ADDED)
    queue.pending.retry("a", 0)
    assert (queue.place("a"), queue.pending.recorded_events()) == (QueuePlace.BACKOFF, [NODE_ADDED])
    queue.pending.retry("b", 0)
    assert queue.pending.recorded_events() == []


def test_one_intermediate_pod_comes_back(queue: Queue) -> None:
    queue.add(pod("a"), pod("b"), pod("c"))
    for event in (PV_ADDED, NODE_ADDED, LABELLED):
        queue.take()
        queue.on_event(event)
    queue.pending.retry("b", 0)
    assert queue.pending.recorded_events() == [PV_ADDED, NODE_ADDED, LABELLED]


@pytest.mark.parametrize(
    ("plugin", "event", "skips", "place"),
    [
        pytest.param("foo", NODE_ADDED, "", QueuePlace.BACKOFF, id="the-failed-plugin-has-a-hint-that-queues"),
        pytest.param("foo", NODE_ADDED, "foo", QueuePlace.PARKED, id="the-failed-plugin-has-a-hint-that-skips"),
        pytest.param("bar", NODE_ADDED, "", QueuePlace.PARKED, id="no-events-that-can-make-the-pod-schedulable"),
        pytest.param("", NODE_ADDED, "", QueuePlace.BACKOFF, id="no-failed-plugin"),
    ],
)
def test_a_pod_comes_back_after(queue: Queue, plugin: str, event: Event, skips: str, place: QueuePlace) -> None:
    queue.profile.skips = {skips}
    queue.add(pod("p"))
    assert queue.take() == "p"
    queue.on_event(event)
    queue.park("p", *[plugin] if plugin else [])
    assert queue.place() is place


def test_events_before_popping_are_ignored_when_the_pod_comes_back(queue: Queue) -> None:
    queue.add(pod("other"), pod("p"))
    assert queue.take() == "other"
    queue.on_event(NODE_ADDED)
    assert queue.take() == "p"
    queue.park("p", "foo")
    assert queue.place() is QueuePlace.PARKED


def test_a_pending_plugin_whose_hint_queues_makes_the_pod_active(queue: Queue) -> None:
    queue.add(pod("p"))
    assert queue.take() == "p"
    queue.on_event(NODE_ADDED)
    queue.on_event(PV_ADDED)
    queue.park("p", "foo", "bar", pending="bar")
    assert queue.place() is QueuePlace.ACTIVE
