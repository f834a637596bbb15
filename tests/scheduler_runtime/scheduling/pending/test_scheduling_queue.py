"""Places of waiting pods, and the events and times that wake them; time is a number that the test chooses."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from scheduler_runtime.api import Action, ClusterEvent, Event, Pod, QueueEntry
from scheduler_runtime.framework import QueueGate
from scheduler_runtime.scheduling.pending import BackingOff, QueuePlace, SchedulingQueue, scheduling_queue
from scheduler_runtime.scheduling.pending.requeue_rules import MAX_SLOW_HINTS, SLOW_HINT_SECONDS
from scheduler_runtime.scheduling.pending.scheduling_queue import MAX_WAKING, MIN_WOKEN, NOW, WAKING_SECONDS
from tests.scheduler_runtime.scheduling.pending.pods import pod

FITS = ClusterEvent("Node", Action.ADD)
LABELS = ClusterEvent("Node", Action.UPDATE_NODE_LABEL)
GATES = ClusterEvent("Pod", Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)


NODE_ADDED = Event("Node", Action.ADD)
NODE_LABELLED = Event("Node", Action.UPDATE_NODE_LABEL)
GATES_ELIMINATED = Event("Pod", Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)


@dataclass
class Profile:
    """Plugins Fit and Affinity reject, Gates keeps back, Mute registered nothing."""

    hints_no: frozenset[str] = frozenset()
    hinted: list[tuple[str, str]] = field(default_factory=list)

    @property
    def queue(self) -> Profile:
        return self

    def pre_enqueue(self, pod: Pod) -> QueueGate | None:
        return QueueGate("Gates", "it is gated") if pod.spec.scheduling_gates else None

    def sort_key(self, entry: QueueEntry) -> Any:
        return (-entry.pod.spec.priority, entry.added_at)

    @property
    def events(self) -> Mapping[str, Iterable[ClusterEvent]]:
        return {"Fit": (FITS,), "Affinity": (FITS, LABELS), "Gates": (GATES,), "Mute": ()}

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        self.hinted.append((plugin, pod.uid))
        return plugin not in self.hints_no


@pytest.fixture
def profile() -> Profile:
    return Profile()


@pytest.fixture
def pending(profile: Profile) -> SchedulingQueue:
    return SchedulingQueue({"default": profile})


def add(pending: SchedulingQueue, *pods: Pod, now: float = 0.0) -> None:
    for one in pods:
        pending.add(one, "default", now)


def take_all(pending: SchedulingQueue, now: float) -> list[str]:
    """Everything that can be taken now, in order. It stays in flight."""
    uids = []
    while entry := pending.take(now):
        uids.append(entry.uid)
    return uids


def place(pending: SchedulingQueue, uid: str) -> QueuePlace:
    return next(entry.place for entry in pending.entries() if entry.uid == uid)


def parked(pending: SchedulingQueue, *plugins: str, now: float = 0.0) -> str:
    """A pod that was tried once and rejected by ``plugins``."""
    add(pending, pod("p"), now=now)
    assert take_all(pending, now) == ["p"]
    pending.park("p", plugins, now)
    return "p"


def test_pods_leave_by_priority_and_then_in_the_order_they_came(pending: SchedulingQueue) -> None:
    add(pending, pod("low"), pod("high", 5), now=0)
    add(pending, pod("later", 5), pod("twin", 5), now=1)
    assert take_all(pending, 2) == ["high", "later", "twin", "low"]


def test_a_parked_pod_is_woken_by_what_its_plugin_registered_and_by_nothing_else(pending: SchedulingQueue) -> None:
    uid = parked(pending, "Fit")
    pending.on_event(NODE_LABELLED, 20)
    assert place(pending, uid) is QueuePlace.PARKED
    pending.on_event(NODE_ADDED, 20)
    assert take_all(pending, 20) == [uid]


def test_any_of_the_plugins_that_rejected_it_can_wake_a_pod(pending: SchedulingQueue) -> None:
    uid = parked(pending, "Fit", "Affinity")
    pending.on_event(NODE_LABELLED, 20)
    assert take_all(pending, 20) == [uid]


def test_a_hint_that_says_no_leaves_the_pod_parked(pending: SchedulingQueue, profile: Profile) -> None:
    uid = parked(pending, "Fit", "Affinity")
    profile.hints_no = frozenset({"Fit"})
    pending.on_event(NODE_ADDED, 20)
    assert profile.hinted == [("Fit", uid), ("Affinity", uid)]
    assert take_all(pending, 20) == [uid]
    pending.park(uid, ["Fit"], 20)
    pending.on_event(NODE_ADDED, 40)
    assert place(pending, uid) is QueuePlace.PARKED


def test_what_a_plugin_without_events_rejected_is_woken_by_time_alone(pending: SchedulingQueue) -> None:
    uid = parked(pending, "Mute")
    pending.on_event(NODE_LABELLED, 20)
    pending.on_event(NODE_ADDED, 290)
    assert take_all(pending, 290) == []
    assert take_all(pending, 331) == [uid]


def test_a_woken_pod_backs_off_first_but_not_when_nothing_else_is_active(pending: SchedulingQueue) -> None:
    uid = parked(pending, "Fit")
    pending.on_event(NODE_ADDED, 0.1)
    assert place(pending, uid) is QueuePlace.BACKOFF
    add(pending, pod("other"), now=0.2)
    assert [pending.take(0.3).uid, pending.take(0.3).uid] == ["other", uid]  # type: ignore[union-attr]


def test_a_woken_pod_does_not_leave_early_when_that_is_turned_off(profile: Profile) -> None:
    pending = SchedulingQueue({"default": profile}, backing_off=BackingOff(lets_go_early=False))
    uid = parked(pending, "Fit")
    pending.on_event(NODE_ADDED, 0.1)
    assert take_all(pending, 1.9) == []
    assert take_all(pending, 2.0) == [uid]


@pytest.mark.parametrize(("rejections", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (40, 10)])
def test_backoff_doubles_up_to_its_limit(pending: SchedulingQueue, rejections: int, seconds: float) -> None:
    add(pending, pod("p"))
    for _ in range(rejections):
        pending.activate(["p"], 0)
        assert take_all(pending, 0) == ["p"]
        pending.park("p", ["Fit"], 0)
    pending.on_event(NODE_ADDED, 0)
    assert pending.wake_at() == seconds + 1  # the second in which it ends has to be over


def test_a_pod_that_failed_backs_off_without_leaving_early(pending: SchedulingQueue) -> None:
    add(pending, pod("p"))
    assert take_all(pending, 0) == ["p"]
    pending.retry("p", 0)
    assert take_all(pending, 1.9) == []
    assert pending.wake_at() == 2.0
    assert take_all(pending, 2.0) == ["p"]
    pending.retry("p", 2.5)
    assert pending.wake_at() == 5.0


def test_a_rejection_ends_the_row_of_errors(pending: SchedulingQueue) -> None:
    add(pending, pod("p"))
    for now in (0, 10, 20):
        assert take_all(pending, now) == ["p"]
        pending.retry("p", now)
    assert take_all(pending, 30) == ["p"]
    pending.park("p", ["Fit"], 30)
    pending.on_event(NODE_ADDED, 30)
    assert pending.wake_at() == 32


def test_a_rejection_by_no_plugin_is_an_error(pending: SchedulingQueue) -> None:
    parked(pending, now=0)
    assert take_all(pending, 1) == []
    assert take_all(pending, 2) == ["p"]


def test_an_event_while_in_flight_is_not_missed(pending: SchedulingQueue) -> None:
    add(pending, pod("p"), pod("q"))
    assert pending.take(0) is not None
    pending.on_event(NODE_ADDED, 0)
    assert pending.take(0) is not None
    pending.park("p", ["Fit"], 0)
    pending.park("q", ["Fit"], 0)
    assert place(pending, "p") is QueuePlace.BACKOFF
    assert place(pending, "q") is QueuePlace.PARKED


def test_events_are_recorded_only_as_long_as_somebody_may_have_missed_them(pending: SchedulingQueue) -> None:
    add(pending, pod("p"), pod("q"))
    pending.take(0)
    pending.on_event(NODE_ADDED, 0)
    pending.take(0)
    pending.on_event(NODE_LABELLED, 0)
    assert len(pending.recorded_events()) == 2
    pending.mark_binding("p")
    assert len(pending.recorded_events()) == 1
    pending.remove("q")
    assert len(pending.recorded_events()) == 0
    pending.on_event(NODE_ADDED, 0)
    assert len(pending.recorded_events()) == 0


def test_a_change_of_the_pod_itself_while_in_flight_is_not_missed(pending: SchedulingQueue) -> None:
    add(pending, pod("p"), pod("q"))
    assert take_all(pending, 0) == ["p", "q"]
    pending.update(pod("p", 7), [NODE_LABELLED], 0)
    for uid in ("p", "q"):
        pending.park(uid, ["Affinity"], 0)
    assert place(pending, "p") is QueuePlace.BACKOFF
    assert place(pending, "q") is QueuePlace.PARKED
    assert next(pending.entries()).pod.spec.priority == 7


def test_a_change_of_a_parked_pod_wakes_it_if_its_plugin_registered_that(pending: SchedulingQueue) -> None:
    uid = parked(pending, "Affinity")
    pending.update(pod("p"), [GATES_ELIMINATED], 20)
    assert place(pending, uid) is QueuePlace.PARKED
    pending.update(pod("p"), [NODE_LABELLED], 20)
    assert take_all(pending, 20) == [uid]


def test_a_gated_pod_waits_until_it_has_no_gates(pending: SchedulingQueue) -> None:
    add(pending, pod("p", gated=True))
    assert take_all(pending, 0) == []
    pending.on_event(NODE_ADDED, 1)
    assert place(pending, "p") is QueuePlace.GATED
    pending.update(pod("p"), [GATES_ELIMINATED], 2)
    assert take_all(pending, 2) == ["p"]


def test_gates_run_again_whenever_a_pod_returns(pending: SchedulingQueue) -> None:
    add(pending, pod("p"))
    assert take_all(pending, 0) == ["p"]
    pending.update(pod("p", gated=True), [], 0)
    pending.retry("p", 0)
    assert take_all(pending, 5) == []
    assert place(pending, "p") is QueuePlace.GATED


def test_nothing_stays_parked_longer_than_five_minutes_and_a_half(pending: SchedulingQueue) -> None:
    uid = parked(pending, "Fit")
    times = range(0, 600, 5)
    woken = next(now for now in times if take_all(pending, now) == [uid])
    assert 300 < woken <= 335


def test_activate_brings_back_what_is_parked_or_backs_off(pending: SchedulingQueue) -> None:
    uid = parked(pending, "Fit")
    pending.activate([uid, "unknown"], 0)
    assert take_all(pending, 0) == [uid]
    pending.retry(uid, 0)
    pending.activate([uid], 0)
    assert take_all(pending, 0) == [uid]


@pytest.mark.parametrize("where", ["active", "in flight", "parked", "backoff", "binding"])
def test_a_removed_pod_is_nowhere_any_more(pending: SchedulingQueue, where: str) -> None:
    add(pending, pod("p"))
    if where != "active":
        assert take_all(pending, 0) == ["p"]
    if where == "parked":
        pending.park("p", ["Fit"], 0)
    if where == "backoff":
        pending.retry("p", 0)
    if where == "binding":
        pending.mark_binding("p")
    pending.remove("p")
    pending.remove("p")
    assert "p" not in pending
    pending.park("p", ["Fit"], 0)
    pending.retry("p", 0)
    pending.mark_binding("p")
    pending.on_event(NODE_ADDED, 20)
    assert (take_all(pending, 20), len(pending), pending.wake_at()) == ([], 0, None)


def test_a_binding_that_failed_comes_back_with_the_newest_pod(pending: SchedulingQueue) -> None:
    add(pending, pod("p"))
    assert take_all(pending, 0) == ["p"]
    pending.mark_binding("p")
    pending.update(pod("p", 9), [], 0)
    assert place(pending, "p") is QueuePlace.BINDING
    pending.retry("p", 1)
    entry = pending.take(3)
    assert entry is not None
    assert (entry.pod.spec.priority, entry.attempts) == (9, 2)


def test_profiles_share_one_order_and_keep_their_own_plugins(profile: Profile) -> None:
    other = Profile(hints_no=frozenset({"Fit"}))
    pending = SchedulingQueue({"default": profile, "other": other})
    pending.add(pod("a"), "default", 0)
    pending.add(pod("b", 3), "other", 0)
    assert take_all(pending, 0) == ["b", "a"]
    for uid in ("a", "b"):
        pending.park(uid, ["Fit"], 0)
    pending.on_event(NODE_ADDED, 20)
    assert take_all(pending, 20) == ["a"]
    assert other.hinted == [("Fit", "b")]


def test_counts_by_place(pending: SchedulingQueue) -> None:
    add(pending, pod("a"), pod("b"), pod("c", gated=True), pod("d", 9))
    entry = pending.take(0)
    assert entry is not None
    pending.park(entry.uid, ["Fit"], 0)
    assert pending.counts() == {QueuePlace.ACTIVE: 2, QueuePlace.GATED: 1, QueuePlace.PARKED: 1}


def test_a_standby_keeps_nothing_of_pods_that_others_bound(pending: SchedulingQueue) -> None:
    add(pending, pod("old", 9))
    for number in range(1000):
        add(pending, pod(f"p{number}"))
        pending.update(pod(f"p{number}", 1), [], 0)
        pending.remove(f"p{number}")
    assert len(pending._active._items) <= 2 * 1 + 64 + 1
    assert take_all(pending, 0) == ["old"]


def test_gates_run_before_a_pod_backs_off(pending: SchedulingQueue) -> None:
    uid = parked(pending, "Fit")
    pending.update(pod(uid, gated=True), [], 0.1)
    pending.on_event(NODE_ADDED, 0.2)
    assert place(pending, uid) is QueuePlace.GATED


def test_activate_is_remembered_for_a_pod_in_flight(pending: SchedulingQueue) -> None:
    add(pending, pod("p"))
    assert take_all(pending, 0) == ["p"]
    pending.activate(["p"], 0)
    pending.park("p", ["Mute"], 0)
    assert place(pending, "p") is QueuePlace.BACKOFF
    assert take_all(pending, 0) == ["p"]
    pending.park("p", ["Mute"], 0)
    assert place(pending, "p") is QueuePlace.PARKED


def test_a_pod_that_is_rejected_when_no_events_were_recorded_for_it_is_not_parked(pending: SchedulingQueue) -> None:
    add(pending, pod("p"))
    assert take_all(pending, 0) == ["p"]
    pending.mark_binding("p")
    pending.park("p", ["Fit"], 0)
    assert place(pending, "p") is QueuePlace.BACKOFF


def test_events_that_nobody_registered_are_not_recorded(pending: SchedulingQueue) -> None:
    add(pending, pod("p"))
    assert take_all(pending, 0) == ["p"]
    pending.on_event(Event("Node", Action.DELETE), 0)
    assert pending.recorded_events() == []


def test_a_pod_is_not_woken_by_what_its_own_waiting_brought_about(pending: SchedulingQueue) -> None:
    add(pending, pod("p"), pod("q"))
    assert take_all(pending, 0) == ["p", "q"]
    for uid in ("p", "q"):
        pending.park(uid, ["Fit"], 0)
    pending.on_event(NODE_ADDED, 20, caused_by="p")
    assert (place(pending, "p"), place(pending, "q")) == (QueuePlace.PARKED, QueuePlace.ACTIVE)


class SlowHints(Profile):
    """Each hint takes longer than parked pods may be woken at once."""

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        until = time.perf_counter() + WAKING_SECONDS / MIN_WOKEN
        while time.perf_counter() < until:
            pass
        return super().hint(plugin, event, pod)


def crowd(number: int) -> tuple[SchedulingQueue, SlowHints]:
    """So many parked pods."""
    profile = SlowHints()
    pending = SchedulingQueue({"default": profile})
    add(pending, *(pod(f"parked-{index}") for index in range(number)))
    for uid in take_all(pending, 0):
        pending.park(uid, {"Fit"}, 0)
    return pending, profile


def test_a_crowd_of_parked_pods_is_woken_a_few_at_a_time() -> None:
    pending, profile = crowd(200)
    pending.on_event(NODE_ADDED, 100)
    assert MIN_WOKEN <= len(profile.hinted) < 100
    assert pending.ready.is_set()
    assert pending.wake_at() == float("-inf")
    add(pending, pod("new", 9), now=100)
    assert [entry.uid for entry in [pending.take(100)] if entry] == ["new"]
    taken: set[str] = set()
    while len(taken) < 200:
        if entry := pending.take(100):
            taken.add(entry.uid)
    assert len(profile.hinted) == 200
    assert pending.wake_at() != float("-inf")


def test_a_pod_that_was_parked_after_the_event_is_not_woken_by_it() -> None:
    pending, profile = crowd(200)
    pending.on_event(NODE_ADDED, 100)
    while not (entry := pending.take(100)):
        pass
    pending.park(entry.uid, {"Fit"}, 100)
    pending.remove("parked-199")
    while pending.wake_at() == float("-inf"):
        pending.take(100)
    assert len(profile.hinted) == 199
    assert place(pending, entry.uid) is QueuePlace.PARKED


def test_events_do_not_pile_up_behind_a_crowd() -> None:
    pending, profile = crowd(100)
    profile.hints_no = frozenset({"Fit"})
    pending.on_event(NODE_ADDED, 100)
    assert pending.wake_at() == NOW
    for _ in range(2 * MAX_WAKING):
        pending.on_event(NODE_ADDED, 100)
    # The hints of so many events take two seconds: once there are too many, pods are woken without.
    assert len(profile.hinted) < MAX_WAKING * 100
    assert {place(pending, f"parked-{index}") for index in range(100)} == {QueuePlace.ACTIVE}


def test_events_that_are_finished_at_once_ask_hints_that_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling_queue, "FINISHING_SECONDS", 60)  # however slow the machine is
    pending = SchedulingQueue({"default": (profile := Profile())})
    profile.hints_no = frozenset({"Fit"})
    add(pending, *(pod(f"parked-{index}") for index in range(100)))
    for uid in take_all(pending, 0):
        pending.park(uid, {"Fit"}, 0)
    for _ in range(2 * MAX_WAKING):
        pending.on_event(NODE_ADDED, 100)
    while pending.wake_at() == NOW:
        assert pending.take(100) is None
    assert len(profile.hinted) == 2 * MAX_WAKING * 100
    assert {place(pending, f"parked-{index}") for index in range(100)} == {QueuePlace.PARKED}


class VerySlowHints(Profile):
    """Each hint takes longer than parked pods may be woken at once, as about a pod with thousands of terms."""

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        until = time.thread_time() + 5 * SLOW_HINT_SECONDS
        while time.thread_time() < until:
            pass
        return super().hint(plugin, event, pod)


def test_slow_hints_are_asked_twice_until_the_pod_changes() -> None:
    pending = SchedulingQueue({"default": (profile := VerySlowHints())}, backing_off=BackingOff(0, 0))
    profile.hints_no = frozenset({"Fit"})

    def wait() -> None:
        take_all(pending, 0)
        pending.park("p", {"Fit"}, 0)

    add(pending, pod("p"))
    wait()
    for version in (1, 2):
        for _ in range(MAX_SLOW_HINTS):
            pending.on_event(NODE_ADDED, 100)
            assert place(pending, "p") is QueuePlace.PARKED
        for _ in range(3):
            pending.on_event(NODE_ADDED, 100)
            assert place(pending, "p") is QueuePlace.ACTIVE
            wait()
        assert len(profile.hinted) == version * MAX_SLOW_HINTS
        pending.update(pod("p"), (), 100)


def test_few_slow_hints_are_asked_at_once() -> None:
    pending = SchedulingQueue({"default": (profile := VerySlowHints())})
    add(pending, *(pod(f"parked-{index}") for index in range(10)))
    for uid in take_all(pending, 0):
        pending.park(uid, {"Fit"}, 0)
    pending.on_event(NODE_ADDED, 100)
    assert len(profile.hinted) <= 4


def take_free(pending: SchedulingQueue, *held: str) -> str:
    """Take the next pod that is not held, and have it bound; empty when there is none."""
    entry = pending.take(0.0, is_held=lambda entry: entry.uid in held)
    if entry is None:
        return ""
    pending.mark_binding(entry.uid)
    return entry.uid


def test_a_held_pod_lets_others_go_first_and_comes_again_in_its_order() -> None:
    pending = SchedulingQueue({"default": Profile()})
    for uid, priority in (("first", 9), ("second", 8), ("other", 1)):
        pending.add(pod(uid, priority), "default", 0.0)
    assert take_free(pending, "first", "second") == "other"
    assert take_free(pending, "first", "second") == ""
    assert pending.counts() == {QueuePlace.ACTIVE: 2, QueuePlace.BINDING: 1}

    pending.release_held("default")
    pending.add(pod("higher", 10), "default", 0.0)
    assert [take_free(pending) for _ in range(3)] == ["higher", "first", ""]
    pending.release_held("default")
    assert take_free(pending) == "second"


def test_no_pod_leaves_its_backoff_early_while_others_are_held() -> None:
    pending = SchedulingQueue({"default": Profile()}, backing_off=BackingOff(10.0))
    pending.add(pod("rejected"), "default", 0.0)
    assert pending.take(0.0) is not None
    pending.park("rejected", {"Fit"}, 0.0)
    pending.on_event(NODE_ADDED, 0.0)
    assert pending.counts() == {QueuePlace.BACKOFF: 1}
    assert take_free(pending, "rejected") == ""
    entry = pending.take(0.0)
    assert entry is not None
    assert entry.uid == "rejected"


def test_a_held_pod_that_goes_is_forgotten() -> None:
    pending = SchedulingQueue({"default": Profile()})
    pending.add(pod("gone"), "default", 0.0)
    pending.add(pod("stays"), "default", 0.0)
    assert take_free(pending, "gone", "stays") == ""
    pending.remove("gone")
    pending.release_held("default")
    pending.release_held("default")
    assert [take_free(pending), take_free(pending)] == ["stays", ""]


def test_held_pods_of_a_changed_profile_are_active_again() -> None:
    pending = SchedulingQueue({"default": Profile()})
    pending.add(pod("held"), "default", 0.0)
    assert take_free(pending, "held") == ""
    pending.change_profiles(["default"], 0.0)
    assert take_free(pending) == "held"
