"""Effects of events and pod updates on waiting pods: Test_isPodWorthRequeuing, TestPriorityQueue_Update."""

from __future__ import annotations

import pytest

from scheduler_runtime.scheduling.pending import QueuePlace
from tests.scheduler_runtime.scheduling.pending.pods import pod
from tests.scheduler_runtime.scheduling.pending.upstream.queueing import LABELLED, NODE_ADDED, PV_ADDED, Queue

# Test_isPodWorthRequeuing, with MoveAllToActiveOrBackoffQueueWithQueueingHint


@pytest.mark.parametrize(
    ("pending", "skips", "later", "place"),
    [
        pytest.param("foo", "", 0, QueuePlace.ACTIVE, id="queue-from-the-pending-plugin-is-immediately"),
        pytest.param("bar", "", 0, QueuePlace.ACTIVE, id="the-pending-plugin-counts-more-than-the-unschedulable-one"),
        pytest.param("bar", "bar", 0, QueuePlace.BACKOFF, id="queue-from-the-unschedulable-plugin-is-after-backoff"),
        pytest.param("", "", 0, QueuePlace.BACKOFF, id="queue-if-the-pod-is-backing-off"),
        pytest.param("", "", 2, QueuePlace.ACTIVE, id="queue-if-the-pod-is-not-backing-off"),
        pytest.param("", "foo bar", 2, QueuePlace.PARKED, id="skip"),
    ],
)
def test_an_event_moves_to(queue: Queue, pending: str, skips: str, later: float, place: QueuePlace) -> None:
    queue.add(pod("p"))
    assert queue.take() == "p"
    queue.park("p", "foo", "bar", pending=pending)
    queue.profile.skips = set(skips.split())
    queue.now += later
    queue.on_event(PV_ADDED)
    assert queue.place() is place


def test_a_hint_is_not_called_when_the_gate_is_not_interested(queue: Queue) -> None:
    queue.profile.closed = {"gate"}
    queue.add(pod("p"))
    queue.profile.closed = set()
    queue.on_event(PV_ADDED)
    assert queue.place() is QueuePlace.GATED
    queue.on_event(NODE_ADDED)
    assert queue.place() is QueuePlace.ACTIVE


def test_a_pod_that_stays_gated_is_put_away_again(queue: Queue) -> None:
    queue.profile.closed = {"gate"}
    queue.add(pod("p"))
    queue.on_event(NODE_ADDED)
    assert (queue.place(), queue.profile.gate_calls) == (QueuePlace.GATED, ["p", "p"])


# TestPriorityQueue_Update


def test_a_pod_that_is_active_stays_there_and_stands_anew(queue: Queue) -> None:
    queue.add(pod("p"), pod("q", 3))
    queue.profile.closed = {"gate"}
    queue.pending.update(pod("p", 5), [LABELLED], 0)
    assert (queue.profile.gate_calls, queue.take_all()) == (["p", "q"], ["p", "q"])


def test_a_pod_that_is_still_backing_off_is_updated_there(queue: Queue) -> None:
    queue.parked("foo")
    queue.on_event()
    queue.profile.closed = {"gate"}
    queue.pending.update(pod("p", 5), [LABELLED], 0)
    assert (queue.place(), queue.entry().pod.spec.priority) == (QueuePlace.BACKOFF, 5)


@pytest.mark.parametrize(
    ("skips", "later", "place"),
    [
        pytest.param("", 0.5, QueuePlace.BACKOFF, id="its-backoff-has-not-expired"),
        pytest.param("", 2, QueuePlace.ACTIVE, id="its-backoff-has-expired"),
        pytest.param("foo", 2, QueuePlace.PARKED, id="the-hint-skips"),
    ],
)
def test_when_a_parked_pod_is_updated(queue: Queue, skips: str, later: float, place: QueuePlace) -> None:
    queue.parked("foo")
    queue.profile.skips = {skips}
    queue.pending.update(pod("p", 5), [LABELLED], later)
    assert queue.place() is place


def test_update_when_in_flight(queue: Queue) -> None:
    queue.add(pod("p"))
    assert queue.take() == "p"
    queue.pending.update(pod("p", 5), [LABELLED], 0)
    assert queue.place() is QueuePlace.IN_FLIGHT
    queue.park("p", "foo")
    assert queue.place() is QueuePlace.BACKOFF


def test_any_rejecting_plugin_lets_an_update_ask_the_gates(queue: Queue) -> None:
    queue.parked("foo")
    queue.profile.closed = {"gate"}
    queue.on_event(NODE_ADDED)
    assert queue.place() is QueuePlace.GATED
    queue.profile.closed = set()
    queue.pending.update(pod("p", 5), [LABELLED], 5)
    assert queue.place() is QueuePlace.ACTIVE
