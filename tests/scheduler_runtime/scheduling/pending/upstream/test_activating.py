"""Pods made active on purpose, and the gates on the way: TestPriorityQueue_Activate, _moveToActiveQ, …BackoffQ."""

from __future__ import annotations

from scheduler_runtime.scheduling.pending import QueuePlace
from tests.scheduler_runtime.scheduling.pending.pods import pod
from tests.scheduler_runtime.scheduling.pending.upstream.queueing import NODE_ADDED, Queue

# TestPriorityQueue_Activate


def test_activate_leaves_alone_what_is_active_binding_or_unknown(queue: Queue) -> None:
    queue.add(pod("binding"))
    assert queue.take() == "binding"
    queue.pending.mark_binding("binding")
    queue.add(pod("p"))
    queue.pending.activate(["p", "binding", "unknown"], 0)
    assert (queue.place(), queue.place("binding"), len(queue.pending)) == (QueuePlace.ACTIVE, QueuePlace.BINDING, 2)


def test_activate_a_pod_that_is_parked(queue: Queue) -> None:
    queue.parked("foo")
    queue.pending.activate(["p"], 0)
    assert queue.place() is QueuePlace.ACTIVE


def test_activate_a_pod_that_backs_off_without_asking_its_gates(queue: Queue) -> None:
    queue.parked("foo")
    queue.on_event()
    queue.profile.closed = {"gate"}
    queue.pending.activate(["p"], 0)
    assert queue.place() is QueuePlace.ACTIVE


def test_activate_a_pod_in_flight_lets_it_back_off_when_it_comes_back(queue: Queue) -> None:
    queue.add(pod("p"))
    assert queue.take() == "p"
    queue.pending.activate(["p"], 0)
    queue.park("p", "bar")
    assert queue.place() is QueuePlace.BACKOFF


# TestPriorityQueue_moveToActiveQ, _moveToBackoffQ


def test_gates_reject_a_pod_even_if_it_is_after_backoff(queue: Queue) -> None:
    queue.parked("foo")
    queue.profile.closed = {"gate"}
    queue.now = 9
    queue.on_event()
    assert queue.place() is QueuePlace.GATED
    assert queue.entry().plugins == {"foo", "gate"}


def test_gates_do_not_run_when_a_pod_completes_its_backoff(queue: Queue) -> None:
    queue.parked("foo")
    queue.on_event()
    queue.profile.closed = {"gate"}
    queue.now = 2
    assert queue.take() == "p"


def test_gates_reject_a_pod_that_is_activated_from_where_it_was_parked(queue: Queue) -> None:
    queue.parked("foo")
    queue.profile.closed = {"other gate"}
    queue.pending.activate(["p"], 0)
    assert (queue.place(), queue.entry().gate) == (QueuePlace.GATED, "other gate")


def test_gates_reject_a_pod_that_would_back_off_from_an_error(queue: Queue) -> None:
    queue.add(pod("p"))
    assert queue.take() == "p"
    queue.profile.closed = {"gate"}
    queue.pending.retry("p", 0)
    assert queue.place() is QueuePlace.GATED
    queue.profile.closed = set()
    queue.on_event(NODE_ADDED)
    assert queue.place() is QueuePlace.BACKOFF
    assert queue.take() == "p"  # it is a rejection now that it waits for, and may be taken early
