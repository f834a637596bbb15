"""Slow pods, and pods that fail again and again, beside others; time is a number that the test chooses."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from scheduler_runtime.api import Pod
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.scheduling.pending.attempt_budget import BURST_SECONDS, SHARE, SLOW_SECONDS
from tests.scheduler_runtime.scheduling.pending.pods import pod
from tests.scheduler_runtime.scheduling.pending.test_scheduling_queue import NODE_ADDED, Profile, take_all


@pytest.fixture
def pending() -> SchedulingQueue:
    return SchedulingQueue({"default": Profile()})


def in_namespace(uid: str, namespace: str, priority: int = 0) -> Pod:
    made = pod(uid, priority)
    return replace(made, metadata=replace(made.metadata, namespace=namespace))


def attempt(pending: SchedulingQueue, seconds: float, now: float, *, fails: bool = True) -> str:
    """Try the next pod, which takes so much CPU and is parked or bound; return its uid."""
    entry = pending.take(now)
    assert entry is not None
    pending.charge(entry, seconds, now, cpu_seconds=seconds, has_failed=fails)
    if fails:
        pending.park(entry.uid, {"Fit"}, now)
    else:
        pending.mark_binding(entry.uid)
    return entry.uid


def test_a_slow_pod_yields_to_others_for_five_times_what_it_took_too_much(pending: SchedulingQueue) -> None:
    pending.add(pod("slow", priority=9), "default", 0)
    assert attempt(pending, 1.0, now=0) == "slow"
    pending.activate(["slow"], 1)
    pending.add(pod("first"), "default", 1)
    pending.add(pod("second"), "default", 1)
    pause = (1.0 - BURST_SECONDS) / SHARE
    assert attempt(pending, 0.001, pause - 0.1, fails=False) == "first"
    assert pending.yielding == 1
    assert attempt(pending, 1.0, pause + 0.1) == "slow"
    assert attempt(pending, 0.001, pause + 0.2, fails=False) == "second"


def test_it_need_not_wait_while_nobody_else_is_ready(pending: SchedulingQueue) -> None:
    pending.add(pod("slow"), "default", 0)
    for now in range(5):
        assert attempt(pending, 1.0, now) == "slow"
        pending.activate(["slow"], now)
    # What it used while nobody waited is not held against it.
    pending.add(pod("other"), "default", 5)
    assert attempt(pending, 0.001, 5, fails=False) == "other"
    pending.add(pod("later"), "default", 5)
    assert attempt(pending, 1.0, 5 + (1.0 - BURST_SECONDS) / SHARE) == "slow"


def test_of_a_template_that_was_slow_no_other_pod_has_to_be_tried_first(pending: SchedulingQueue) -> None:
    template = pod("slow-0")
    for number in range(100):
        of_template = pod(f"slow-{number}")
        pending.add(replace(of_template, spec=template.spec), "default", 0)
    pending.add(pod("other"), "default", 1)
    assert attempt(pending, 0.3, 1) == "slow-0"
    assert attempt(pending, 0.001, 1, fails=False) == "other"


def test_a_namespace_with_many_slow_specs_yields_until_its_pods_were_tried(pending: SchedulingQueue) -> None:
    for number in range(100):
        pending.add(in_namespace(f"slow-{number}", "bad"), "default", 0)
    pending.add(in_namespace("other", "good"), "default", 1)
    tried = [attempt(pending, 0.3, 1) for _ in range(11)]
    assert tried == [*(f"slow-{number}" for number in range(10)), "other"]


def test_a_namespace_is_not_remembered_for_ever(pending: SchedulingQueue) -> None:
    for number in range(30):
        pending.add(in_namespace(f"slow-{number}", "any"), "default", number)
    for number in range(29):
        attempt(pending, 0.06, 30 * number, fails=False)
    pending.add(in_namespace("other", "good"), "default", 1000)
    assert attempt(pending, 0.3, 1000) == "slow-29"


def test_pods_that_fail_once_more_yield_to_new_ones_when_they_are_many(pending: SchedulingQueue) -> None:
    for number in range(1000):
        pending.add(pod(f"woken-{number}"), "default", 0)
    for _ in range(1000):
        attempt(pending, 0.001, 0)
    assert pending.take(0) is None
    pending.on_event(NODE_ADDED, 100)
    pending.add(pod("new"), "default", 100)
    spent, tried = 0.0, 0
    while attempt(pending, 0.001, 100 + spent) != "new":
        tried, spent = tried + 1, spent + 0.001
    assert spent <= 2 * BURST_SECONDS
    assert pending.yielding == 1000 - tried


def test_the_order_of_others_is_as_if_there_were_no_budget(pending: SchedulingQueue) -> None:
    for number, priority in enumerate([1, 5, 3, 5]):
        pending.add(pod(f"{number}", priority), "default", number)
    for _ in range(4):
        attempt(pending, SLOW_SECONDS / 2, 4)
    pending.on_event(NODE_ADDED, 100)
    pending.add(pod("new", 4), "default", 100)
    assert take_all(pending, 100) == ["1", "3", "new", "2", "0"]


def test_those_that_yield_keep_their_order_and_can_be_removed(pending: SchedulingQueue) -> None:
    for number, priority in enumerate([1, 5, 3]):
        pending.add(in_namespace(f"{number}", "bad", priority), "default", number)
    for _ in range(3):
        attempt(pending, 1.0, 4)
    pending.activate(["0", "1", "2"], 5)
    pending.add(pod("other"), "default", 5)
    assert attempt(pending, 0.001, 5, fails=False) == "other"
    assert pending.yielding == 3
    pending.remove("2")
    assert take_all(pending, 5) == ["1", "0"]
