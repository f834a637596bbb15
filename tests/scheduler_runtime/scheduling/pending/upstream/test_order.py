"""Order of the queue: TestRecentlyTriedPodsGoBack, TestHighPriority…, TestBackOffFlow, TestPodTimestamp."""

from __future__ import annotations

from tests.scheduler_runtime.scheduling.pending.pods import pod
from tests.scheduler_runtime.scheduling.pending.upstream.queueing import Queue


def test_recently_tried_pods_go_back(queue: Queue) -> None:
    queue.add(*[pod(f"p{number}") for number in range(5)])
    first = queue.take()
    queue.now = 0.5
    queue.park(first, "foo")
    queue.now = 5
    queue.on_event()
    assert queue.take_all() == ["p1", "p2", "p3", "p4", "p0"]


def test_pod_failed_scheduling_multiple_times_does_not_block_newer_pod(queue: Queue) -> None:
    queue.parked("foo")
    queue.now = 20
    queue.on_event()
    assert queue.take() == "p"
    queue.park("p", "foo")
    queue.now = 19
    queue.add(pod("newer"))
    queue.now = 40
    queue.on_event()
    assert queue.take_all() == ["newer", "p"]


def test_high_priority_backoff(queue: Queue) -> None:
    queue.add(pod("medium"), pod("high", 9))
    assert queue.take() == "high"
    queue.park("high", "foo")
    queue.on_event()
    assert queue.take() == "medium"


def test_back_off_flow(queue: Queue) -> None:
    queue.add(pod("p"))
    for seconds in (1, 2, 4, 8, 10, 10, 10):
        assert queue.take() == "p"
        queue.park("p", "foo")
        queue.on_event()
        over_at = queue.pending.wake_at()
        assert over_at is not None
        assert queue.now + seconds <= over_at <= queue.now + seconds + 1
        queue.now = over_at


def test_pods_are_sorted_by_when_they_came_to_wait_also_from_where_they_were_parked(queue: Queue) -> None:
    queue.add(pod("a"), pod("b"))
    assert queue.take_all() == ["a", "b"]
    for uid in ("b", "a"):
        queue.now += 1
        queue.park(uid, "foo")
    queue.now = 9
    queue.on_event()
    assert queue.take_all() == ["b", "a"]
