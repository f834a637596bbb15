"""Pods that have waited long: TestFlushUnschedulablePodsLeftoverSetsFlag…, TestGatedPodFlushFrequency."""

from __future__ import annotations

import pytest

from scheduler_runtime.scheduling.pending import SchedulingQueue
from tests.scheduler_runtime.scheduling.pending.pods import pod
from tests.scheduler_runtime.scheduling.pending.upstream.queueing import Queue


def test_high_priority_flush_unschedulable_pods_leftover(queue: Queue) -> None:
    queue.add(pod("medium"), pod("high", 9))
    for uid in queue.take_all():
        queue.park(uid, "bar")
    queue.now = 331
    assert queue.take_all() == ["high", "medium"]


@pytest.mark.parametrize(
    ("before", "after", "flagged"),
    [
        pytest.param(False, False, True, id="flag-is-set-when-pod-is-not-gated"),
        pytest.param(True, False, True, id="flag-is-set-when-pod-is-no-longer-gated"),
        pytest.param(False, True, False, id="flag-is-unset-when-pod-is-newly-gated"),
        pytest.param(True, True, False, id="flag-is-unset-when-pod-is-still-gated"),
    ],
)
def test_flush_sets_flag(queue: Queue, before: bool, after: bool, flagged: bool) -> None:
    queue.parked("foo")
    queue.profile.closed = {"gate"} if before else set()
    queue.pending.activate(["p"], 0)
    if not before:
        assert queue.take() == "p"
        queue.park("p", "foo")
    queue.profile.closed = {"gate"} if after else set()
    queue.now = 331
    assert queue.take() == ("" if after else "p")
    assert queue.entry().was_flushed is flagged


def test_gated_pod_flush_frequency(queue: Queue) -> None:
    queue.profile.closed = {"gate"}
    queue.add(pod("p"))
    for now in range(0, 1000, 10):
        queue.now = now
        assert queue.take() == ""
    assert len(queue.profile.gate_calls) == 1 + 3  # when it came, and once in five minutes and a half at most


def test_max_in_unschedulable_pods_duration(queue: Queue) -> None:
    queue.pending = SchedulingQueue({"": queue.profile}, longest_parked=30)
    queue.parked("bar")
    queue.now = 61
    assert queue.take() == "p"
