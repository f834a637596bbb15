"""A queue, its plugins and the time, for the cases of kube-scheduler's tests of its queue, under their names.

| test of upstream                          | here |
|-------------------------------------------|------|
| TestPriorityQueue_Add, _AddWithReversePriorityLessFunc, TestPop, _Pop | here; reversed in ../test_changed_profiles |
| Test_InFlightPods                         | every row with hints; a pod taken twice cannot happen |
| TestPriorityQueue_AddUnschedulableIfNotPresent, _Backoff | here |
| TestPriorityQueue_Update, _UpdateWhenInflight | here; a pod that is not here is added by the intake |
| TestPriorityQueue_Delete                  | ../test_pending: removed from wherever it was |
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
| TestBackoffQueue_…, TestBackoffQueueOrdering | ../test_backing_off |
| metrics, signatures                       | tests of those |
| PopSpecificPod, Close; without hints | there is no such thing here |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime.catalog import Action, ClusterEvent
from scheduler_runtime.scheduling.pending import QueuedPod, QueuePlace, SchedulingQueue

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

    def sort_key(self, entry: QueuedPod) -> Any:
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
        self.pending = SchedulingQueue({"": self.profile})

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

    def entry(self, uid: str = "p") -> QueuedPod:
        return next(entry for entry in self.pending.entries() if entry.uid == uid)

    def place(self, uid: str = "p") -> QueuePlace:
        return self.entry(uid).place

    def on_event(self, event: Happened = NODE_ADDED) -> None:
        self.pending.on_event(event, self.now)
