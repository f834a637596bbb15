"""The cases of kube-scheduler's tests of its queue, under their names.

| test of upstream                          | here |
|-------------------------------------------|------|
| TestPriorityQueue_Add, _AddWithReversePriorityLessFunc, TestPop, _Pop | here; reversed in test_changed_profiles |
| Test_InFlightPods                         | every row with hints; a pod taken twice cannot happen |
| TestPriorityQueue_AddUnschedulableIfNotPresent, _Backoff | here |
| TestPriorityQueue_Update, _UpdateWhenInflight | here; a pod that is not here is added by the intake |
| TestPriorityQueue_Delete                  | test_pending: removed from wherever it was |
| TestPriorityQueue_Activate                | here |
| TestPriorityQueue_moveToActiveQ, _moveToBackoffQ | here |
| TestPriorityQueue_MoveAllToActiveOrBackoffQueue… | here |
| TestPriorityQueue_AssignedPodAdded_, _AssignedPodUpdated | the hints of the plugins, in plugins/test_hints |
| …_NominatedPodsForNode, _NominatedPodDeleted, _UpdateNominatedPodForNode | test_nominations |
| TestRecentlyTriedPodsGoBack, TestPodFailedSchedulingMultipleTimesDoesNotBlockNewerPod, TestHighPriority… | here |
| TestFlushUnschedulablePodsLeftoverSetsFlag…, TestGatedPodFlushFrequency | here |
| …_initPodMaxInUnschedulablePodsDuration, TestPodTimestamp, TestBackOffFlow | here |
| TestMoveAllToActiveOrBackoffQueue_PreEnqueueChecks | ``by`` and ``up_to_priority`` in test_pending, test_preemptors |
| Test_isPodWorthRequeuing                  | here; wildcards there are ``activate`` and the flush here |
| TestBackoffQueue_…, TestBackoffQueueOrdering | test_backing_off |
| metrics, signatures                       | tests of those |
| PopSpecificPod, Close; without hints | there is no such thing here |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from scheduler_runtime.catalog import Action, ClusterEvent
from scheduler_runtime.pending import Entry, Pending, Place

PV = ClusterEvent("PersistentVolume", Action.ADD)
NODE = ClusterEvent("Node", Action.ADD)
POD = ClusterEvent("Pod", Action.UPDATE_POD_LABEL)


@dataclass(frozen=True)
class Pod:
    uid: str
    priority: int = 0


@dataclass(frozen=True)
class Happened:
    resource: str
    action: Action = Action.ADD


PV_ADDED, NODE_ADDED, NOT_WANTED = Happened("PersistentVolume"), Happened("Node"), Happened("Node", Action.DELETE)
LABELLED = Happened("Pod", Action.UPDATE_POD_LABEL)


@dataclass(frozen=True)
class Gate:
    plugin: str


@dataclass
class Profile:
    """Plugin foo hears of volumes and nodes and of the pod's labels, bar of volumes; two gates may be closed."""

    closed: set[str] = field(default_factory=set)
    skips: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def pre_enqueue(self, pod: Pod) -> Gate | None:
        self.asked.append(pod.uid)
        return next((Gate(gate) for gate in ("gate", "other gate") if gate in self.closed), None)

    def sort_key(self, entry: Entry) -> Any:
        return (-entry.pod.priority, entry.added_at)

    def events(self) -> Mapping[str, Iterable[ClusterEvent]]:
        return {"foo": (PV, NODE, POD), "bar": (PV,), "gate": (NODE,), "other gate": ()}

    def hint(self, plugin: str, event: Any, pod: Pod) -> bool:
        return plugin not in self.skips


@dataclass
class Queue:
    """Pods by name, and the time."""

    profile: Profile = field(default_factory=Profile)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.pending = Pending({"": self.profile})

    def add(self, *pods: Pod) -> None:
        for pod in pods:
            self.pending.add(pod, "", self.now)

    def take(self) -> str:
        entry = self.pending.take(self.now)
        return entry.uid if entry else ""

    def take_all(self) -> list[str]:
        return list(iter(self.take, ""))

    def park(self, uid: str, *plugins: str, waits_for: str = "") -> None:
        self.pending.park(uid, plugins, self.now, {waits_for} - {""})

    def parked(self, *plugins: str) -> None:
        """Pod p has been rejected by these."""
        self.add(Pod("p"))
        assert self.take() == "p"
        self.park("p", *plugins)

    def entry(self, uid: str = "p") -> Entry:
        return next(entry for entry in self.pending.entries() if entry.uid == uid)

    def place(self, uid: str = "p") -> Place:
        return self.entry(uid).place

    def happened(self, event: Happened = NODE_ADDED) -> None:
        self.pending.happened(event, self.now)


@pytest.fixture
def queue() -> Queue:
    return Queue()


# TestPriorityQueue_Add, TestPop


def test_add(queue: Queue) -> None:
    queue.add(Pod("medium", 5), Pod("unschedulable", 1), Pod("high", 9))
    assert queue.take_all() == ["high", "medium", "unschedulable"]


def test_pop_pods_from_both_active_and_backoff_when_nothing_is_active(queue: Queue) -> None:
    queue.parked("foo")
    queue.happened()
    queue.add(Pod("low", -1))
    assert queue.take_all() == ["low", "p"]


# Test_InFlightPods


def test_pod_and_interested_events_are_kept_while_it_is_in_flight(queue: Queue) -> None:
    queue.add(Pod("p"))
    queue.happened(PV_ADDED)
    assert queue.take() == "p"
    queue.happened(PV_ADDED)
    queue.happened(NOT_WANTED)
    assert queue.pending.kept_events() == [PV_ADDED]


def test_events_are_dropped_as_pods_come_back(queue: Queue) -> None:
    queue.add(Pod("a"), Pod("b"))
    assert queue.take() == "a"
    queue.happened(PV_ADDED)
    assert queue.take() == "b"
    queue.happened(NODE_ADDED)
    queue.pending.retry("a", 0)
    assert (queue.place("a"), queue.pending.kept_events()) == (Place.BACKOFF, [NODE_ADDED])
    queue.pending.retry("b", 0)
    assert queue.pending.kept_events() == []


def test_one_intermediate_pod_comes_back(queue: Queue) -> None:
    queue.add(Pod("a"), Pod("b"), Pod("c"))
    for event in (PV_ADDED, NODE_ADDED, LABELLED):
        queue.take()
        queue.happened(event)
    queue.pending.retry("b", 0)
    assert queue.pending.kept_events() == [PV_ADDED, NODE_ADDED, LABELLED]


@pytest.mark.parametrize(
    ("plugin", "event", "skips", "place"),
    [
        pytest.param("foo", NODE_ADDED, "", Place.BACKOFF, id="the-failed-plugin-has-a-hint-that-queues"),
        pytest.param("foo", NODE_ADDED, "foo", Place.PARKED, id="the-failed-plugin-has-a-hint-that-skips"),
        pytest.param("bar", NODE_ADDED, "", Place.PARKED, id="no-events-that-can-make-the-pod-schedulable"),
        pytest.param("", NODE_ADDED, "", Place.BACKOFF, id="no-failed-plugin"),
    ],
)
def test_a_pod_comes_back_after(queue: Queue, plugin: str, event: Happened, skips: str, place: Place) -> None:
    queue.profile.skips = {skips}
    queue.add(Pod("p"))
    assert queue.take() == "p"
    queue.happened(event)
    queue.park("p", *[plugin] if plugin else [])
    assert queue.place() is place


def test_events_before_popping_are_ignored_when_the_pod_comes_back(queue: Queue) -> None:
    queue.add(Pod("other"), Pod("p"))
    assert queue.take() == "other"
    queue.happened(NODE_ADDED)
    assert queue.take() == "p"
    queue.park("p", "foo")
    assert queue.place() is Place.PARKED


def test_a_pending_plugin_whose_hint_queues_makes_the_pod_active(queue: Queue) -> None:
    queue.add(Pod("p"))
    assert queue.take() == "p"
    queue.happened(NODE_ADDED)
    queue.happened(PV_ADDED)
    queue.park("p", "foo", "bar", waits_for="bar")
    assert queue.place() is Place.ACTIVE


# Test_isPodWorthRequeuing, with MoveAllToActiveOrBackoffQueueWithQueueingHint


@pytest.mark.parametrize(
    ("waits_for", "skips", "later", "place"),
    [
        pytest.param("foo", "", 0, Place.ACTIVE, id="queue-from-the-pending-plugin-is-immediately"),
        pytest.param("bar", "", 0, Place.ACTIVE, id="the-pending-plugin-counts-more-than-the-unschedulable-one"),
        pytest.param("bar", "bar", 0, Place.BACKOFF, id="queue-from-the-unschedulable-plugin-is-after-backoff"),
        pytest.param("", "", 0, Place.BACKOFF, id="queue-if-the-pod-is-backing-off"),
        pytest.param("", "", 2, Place.ACTIVE, id="queue-if-the-pod-is-not-backing-off"),
        pytest.param("", "foo bar", 2, Place.PARKED, id="skip"),
    ],
)
def test_an_event_moves_to(queue: Queue, waits_for: str, skips: str, later: float, place: Place) -> None:
    queue.add(Pod("p"))
    assert queue.take() == "p"
    queue.park("p", "foo", "bar", waits_for=waits_for)
    queue.profile.skips = set(skips.split())
    queue.now += later
    queue.happened(PV_ADDED)
    assert queue.place() is place


def test_a_hint_is_not_called_when_the_gate_is_not_interested(queue: Queue) -> None:
    queue.profile.closed = {"gate"}
    queue.add(Pod("p"))
    queue.profile.closed = set()
    queue.happened(PV_ADDED)
    assert queue.place() is Place.GATED
    queue.happened(NODE_ADDED)
    assert queue.place() is Place.ACTIVE


def test_a_pod_that_stays_gated_is_put_away_again(queue: Queue) -> None:
    queue.profile.closed = {"gate"}
    queue.add(Pod("p"))
    queue.happened(NODE_ADDED)
    assert (queue.place(), queue.profile.asked) == (Place.GATED, ["p", "p"])


# TestPriorityQueue_Update


def test_a_pod_that_is_active_stays_there_and_stands_anew(queue: Queue) -> None:
    queue.add(Pod("p"), Pod("q", 3))
    queue.profile.closed = {"gate"}
    queue.pending.update(Pod("p", 5), [LABELLED], 0)
    assert (queue.profile.asked, queue.take_all()) == (["p", "q"], ["p", "q"])


def test_a_pod_that_is_still_backing_off_is_updated_there(queue: Queue) -> None:
    queue.parked("foo")
    queue.happened()
    queue.profile.closed = {"gate"}
    queue.pending.update(Pod("p", 5), [LABELLED], 0)
    assert (queue.place(), queue.entry().pod.priority) == (Place.BACKOFF, 5)


@pytest.mark.parametrize(
    ("skips", "later", "place"),
    [
        pytest.param("", 0.5, Place.BACKOFF, id="its-backoff-has-not-expired"),
        pytest.param("", 2, Place.ACTIVE, id="its-backoff-has-expired"),
        pytest.param("foo", 2, Place.PARKED, id="the-hint-skips"),
    ],
)
def test_when_a_parked_pod_is_updated(queue: Queue, skips: str, later: float, place: Place) -> None:
    queue.parked("foo")
    queue.profile.skips = {skips}
    queue.pending.update(Pod("p", 5), [LABELLED], later)
    assert queue.place() is place


def test_update_when_in_flight(queue: Queue) -> None:
    queue.add(Pod("p"))
    assert queue.take() == "p"
    queue.pending.update(Pod("p", 5), [LABELLED], 0)
    assert queue.place() is Place.IN_FLIGHT
    queue.park("p", "foo")
    assert queue.place() is Place.BACKOFF


def test_any_rejecting_plugin_lets_an_update_ask_the_gates(queue: Queue) -> None:
    queue.parked("foo")
    queue.profile.closed = {"gate"}
    queue.happened(NODE_ADDED)
    assert queue.place() is Place.GATED
    queue.profile.closed = set()
    queue.pending.update(Pod("p", 5), [LABELLED], 5)
    assert queue.place() is Place.ACTIVE


# TestPriorityQueue_Activate


def test_activate_leaves_alone_what_is_active_binding_or_unknown(queue: Queue) -> None:
    queue.add(Pod("binding"))
    assert queue.take() == "binding"
    queue.pending.settle("binding")
    queue.add(Pod("p"))
    queue.pending.activate(["p", "binding", "unknown"], 0)
    assert (queue.place(), queue.place("binding"), len(queue.pending)) == (Place.ACTIVE, Place.BINDING, 2)


def test_activate_a_pod_that_is_parked(queue: Queue) -> None:
    queue.parked("foo")
    queue.pending.activate(["p"], 0)
    assert queue.place() is Place.ACTIVE


def test_activate_a_pod_that_backs_off_without_asking_its_gates(queue: Queue) -> None:
    queue.parked("foo")
    queue.happened()
    queue.profile.closed = {"gate"}
    queue.pending.activate(["p"], 0)
    assert queue.place() is Place.ACTIVE


def test_activate_a_pod_in_flight_lets_it_back_off_when_it_comes_back(queue: Queue) -> None:
    queue.add(Pod("p"))
    assert queue.take() == "p"
    queue.pending.activate(["p"], 0)
    queue.park("p", "bar")
    assert queue.place() is Place.BACKOFF


# TestPriorityQueue_moveToActiveQ, _moveToBackoffQ


def test_gates_reject_a_pod_even_if_it_is_after_backoff(queue: Queue) -> None:
    queue.parked("foo")
    queue.profile.closed = {"gate"}
    queue.now = 9
    queue.happened()
    assert queue.place() is Place.GATED
    assert queue.entry().plugins == {"foo", "gate"}


def test_gates_are_not_asked_when_a_pod_completes_its_backoff(queue: Queue) -> None:
    queue.parked("foo")
    queue.happened()
    queue.profile.closed = {"gate"}
    queue.now = 2
    assert queue.take() == "p"


def test_gates_reject_a_pod_that_is_activated_from_where_it_was_parked(queue: Queue) -> None:
    queue.parked("foo")
    queue.profile.closed = {"other gate"}
    queue.pending.activate(["p"], 0)
    assert (queue.place(), queue.entry().gate) == (Place.GATED, "other gate")


def test_gates_reject_a_pod_that_would_back_off_from_an_error(queue: Queue) -> None:
    queue.add(Pod("p"))
    assert queue.take() == "p"
    queue.profile.closed = {"gate"}
    queue.pending.retry("p", 0)
    assert queue.place() is Place.GATED
    queue.profile.closed = set()
    queue.happened(NODE_ADDED)
    assert queue.place() is Place.BACKOFF
    assert queue.take() == "p"  # it is a rejection now that it waits for, and may be taken early


# Order


def test_recently_tried_pods_go_back(queue: Queue) -> None:
    queue.add(*[Pod(f"p{number}") for number in range(5)])
    first = queue.take()
    queue.now = 0.5
    queue.park(first, "foo")
    queue.now = 5
    queue.happened()
    assert queue.take_all() == ["p1", "p2", "p3", "p4", "p0"]


def test_pod_failed_scheduling_multiple_times_does_not_block_newer_pod(queue: Queue) -> None:
    queue.parked("foo")
    queue.now = 20
    queue.happened()
    assert queue.take() == "p"
    queue.park("p", "foo")
    queue.now = 19
    queue.add(Pod("newer"))
    queue.now = 40
    queue.happened()
    assert queue.take_all() == ["newer", "p"]


def test_high_priority_backoff(queue: Queue) -> None:
    queue.add(Pod("medium"), Pod("high", 9))
    assert queue.take() == "high"
    queue.park("high", "foo")
    queue.happened()
    assert queue.take() == "medium"


def test_back_off_flow(queue: Queue) -> None:
    queue.add(Pod("p"))
    for seconds in (1, 2, 4, 8, 10, 10, 10):
        assert queue.take() == "p"
        queue.park("p", "foo")
        queue.happened()
        over_at = queue.pending.wake_at()
        assert over_at is not None
        assert queue.now + seconds <= over_at <= queue.now + seconds + 1
        queue.now = over_at


# The flush


def test_high_priority_flush_unschedulable_pods_leftover(queue: Queue) -> None:
    queue.add(Pod("medium"), Pod("high", 9))
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
    queue.add(Pod("p"))
    for now in range(0, 1000, 10):
        queue.now = now
        assert queue.take() == ""
    assert len(queue.profile.asked) == 1 + 3  # when it came, and once in five minutes and a half at most


def test_max_in_unschedulable_pods_duration(queue: Queue) -> None:
    queue.pending = Pending({"": queue.profile}, longest_parked=30)
    queue.parked("bar")
    queue.now = 61
    assert queue.take() == "p"


# TestPodTimestamp


def test_pods_are_sorted_by_when_they_came_to_wait_also_from_where_they_were_parked(queue: Queue) -> None:
    queue.add(Pod("a"), Pod("b"))
    assert queue.take_all() == ["a", "b"]
    for uid in ("b", "a"):
        queue.now += 1
        queue.park(uid, "foo")
    queue.now = 9
    queue.happened()
    assert queue.take_all() == ["b", "a"]
