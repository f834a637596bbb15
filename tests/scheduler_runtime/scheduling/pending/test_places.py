"""Ends of backoffs and the order in which pods leave them: the cases of kube-scheduler's tests, by name."""

from __future__ import annotations

import pytest

from scheduler_runtime.scheduling.pending.places import NEVER_BEGAN, BackingOff
from scheduler_runtime.scheduling.pending.queued_pod import QueuedPod
from tests.scheduler_runtime.scheduling.pending.pods import pod

NOW = 1000.0


def entry(
    uid: str = "p", added_at: float = NOW, *, rejections: int = 0, errors: int = 0, priority: int = 1
) -> QueuedPod:
    waiting = QueuedPod(uid, pod(uid, priority), "", added_at, rejections=rejections, errors=errors)
    waiting.key = (-priority, added_at)
    waiting.plugins = frozenset() if errors else frozenset({"plugin"})
    return waiting


@pytest.mark.parametrize(
    ("rejections", "errors", "longest", "seconds"),
    [
        pytest.param(1, 0, 32, 1, id="the-first"),
        pytest.param(16, 0, 32, 32, id="backoff-by-UnschedulableCount"),
        pytest.param(5, 16, 32, 32, id="backoff-is-calculated-with-ConsecutiveErrorsCount"),
        pytest.param(5, 1, 32, 1, id="fewer-errors-than-rejections"),
        pytest.param(5, 0, 1000, 16, id="normal"),
        pytest.param(64, 0, 2.0**31, 2.0**31, id="overflow"),
    ],
)
def test_get_backoff_time(rejections: int, errors: int, longest: float, seconds: float) -> None:
    waits = entry(rejections=rejections, errors=errors)
    assert BackingOff(1, longest).ends_at(waits) == NOW + seconds


@pytest.mark.parametrize(
    ("rejections", "longest"),
    [pytest.param(0, 32, id="no-backoff"), pytest.param(16, 0, id="zero-maxBackoffDuration-means-no-backoff")],
)
def test_no_backoff(rejections: int, longest: float) -> None:
    backing_off = BackingOff(1, longest)
    assert backing_off.ends_at(entry(rejections=rejections)) == NEVER_BEGAN
    assert not backing_off.is_backing_off(entry(rejections=rejections), NOW)


def test_a_backoff_lasts_until_its_second_is_over() -> None:
    backing_off, waits = BackingOff(1, 10), entry(added_at=NOW + 0.7, rejections=1)
    assert backing_off.ends_at(waits) == NOW + 1
    assert backing_off.is_backing_off(waits, NOW + 1.999)
    assert not backing_off.is_backing_off(waits, NOW + 2)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([], [], id="both-queues-empty"),
        pytest.param([0, 1], [0], id="pods-only-in-backoffQ"),
        pytest.param([2, 3], [2], id="pods-only-in-errorBackoffQ"),
        pytest.param([0, 1, 2, 3], [0, 2], id="pods-in-both-queues-some"),
        pytest.param([0, 2], [0, 2], id="pods-in-both-queues-all"),
        pytest.param([1, 3], [], id="pods-in-both-queues-none"),
    ],
)
def test_pop_all_backoff_completed(pods: list[int], expected: list[int]) -> None:
    backing_off = BackingOff(1, 10)
    for number in pods:
        added_at = NOW + (1 if number % 2 else -2)
        backing_off.push(entry(f"{number}", added_at, rejections=number < 2, errors=number >= 2))
    assert [popped.uid for popped in backing_off.pop_ended(NOW)] == [f"{number}" for number in expected]
    assert (backing_off.next_end() is None) == (len(pods) == len(expected))


def test_pods_with_the_same_window_are_ordered_by_priority() -> None:
    backing_off = BackingOff(1, 10)
    added = [(0.0, 1), (-1.0, 1), (-1.999, 2), (-2.0, 1), (-2.0, 2), (-3.0, 1)]
    for number, (offset, priority) in enumerate(added):
        backing_off.push(entry(f"pod{number}", NOW + offset, rejections=1, priority=priority))
    assert [popped.uid for popped in backing_off.pop_ended(NOW)] == ["pod5", "pod4", "pod2", "pod3"]


def test_only_pods_that_were_rejected_leave_early() -> None:
    backing_off = BackingOff(1, 10)
    backing_off.push(entry("failed", NOW - 5, errors=1))
    backing_off.push(entry("rejected", NOW, rejections=1))
    early = backing_off.pop_early()
    assert early is not None
    assert (early.uid, backing_off.pop_early()) == ("rejected", None)
    assert backing_off.next_end() == NOW - 3
