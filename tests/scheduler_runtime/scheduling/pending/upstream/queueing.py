"""A queue, its plugins and the time, for the cases of kube-scheduler's tests of its queue, under their names.

| test of upstream                          | here |
|-------------------------------------------|------|
| TestPriorityQueue_Add, _AddWithReversePriorityLessFunc, TestPop, _Pop | here; reversed in ../test_changed_profiles |
| Test_InFlightPods                         | every row with hints; a pod taken twice cannot happen |
| TestPriorityQueue_AddUnschedulableIfNotPresent, _Backoff | here |
| TestPriorityQueue_Update, _UpdateWhenInflight | here; a pod that is not here is added by the cluster updates |
| TestPriorityQueue_Delete                  | ../test_scheduling_queue: removed from wherever it was |
| TestPriorityQueue_Activate                | here |
| TestPriorityQueue_moveToActiveQ, _moveToBackoffQ | here |
| TestPriorityQueue_MoveAllToActiveOrBackoffQueue… | here |
| TestPriorityQueue_AssignedPodAdded_, _AssignedPodUpdated | the hints of the plugins, in plugins/test_hints |
| …_NominatedPodsForNode, _NominatedPodDeleted, _UpdateNominatedPodForNode | test_nominations |
| TestRecentlyTriedPodsGoBack, TestPodFailedSchedulingMultipleTimesDoesNotBlockNewerPod, TestHighPriority… | here |
| TestFlushUnschedulablePodsLeftoverSetsFlag…, TestGatedPodFlushFrequency | here |
| …_initPodMaxInUnschedulablePodsDuration, TestPodTimestamp, TestBackOffFlow | here |
| TestMoveAllToActiveOrBackoffQueue_PreEnqueueChecks | ``by`` in test_scheduling_queue, priorities in test_preemptors |
| Test_isPodWorthRequeuing                  | here; wildcards there are ``activate`` and the flush here |
| TestBackoffQueue_…, TestBackoffQueueOrdering | ../test_places |
| metrics, signatures                       | tests of those |
| PopSpecificPod, Close; without hints | there is no such thing here |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime.api import Action, ClusterEvent, Event, Pod, QueueEntry
from scheduler_runtime.framework import QueueGate
from scheduler_runtime.scheduling.pending import QueuedPod, QueuePlace, SchedulingQueue
from tests.scheduler_runtime.scheduling.pending.pods import pod

PV = ClusterEvent("PersistentVolume", Action.ADD)
NODE = ClusterEvent("Node", Action.ADD)
POD = ClusterEvent("Pod", Action.UPDATE_POD_LABEL)


PV_ADDED, NODE_ADDED = Event("PersistentVolume", Action.ADD), Event("Node", Action.ADD)
UNREGISTERED, LABELLED = Event("Node", Action.DELETE), Event("Pod", Action.UPDATE_POD_LABEL)


@dataclass
class Profile:
    """Plugin foo hears of volumes and nodes and of the pod's labels, bar of volumes; two gates may be closed."""

    closed: set[str] = field(default_factory=set)
    skips: set[str] = field(default_factory=set)
    gate_calls: list[str] = field(default_factory=list)

    @property
    def queue(self) -> Profile:
        return self

    def pre_enqueue(self, pod: Pod) -> QueueGate | None:
        self.gate_calls.append(pod.uid)
        return next((QueueGate(gate, "closed") for gate in ("gate", "other gate") if gate in self.closed), None)

    def sort_key(self, entry: QueueEntry) -> Any:
        return (-entry.pod.spec.priority, entry.added_at)

    @property
    def events(self) -> Mapping[str, Iterable[ClusterEvent]]:
        return {"foo": (PV, NODE, POD), "bar": (PV,), "gate": (NODE,), "other gate": ()}

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        return plugin not in self.skips


@dataclass
class Queue:
    """Pods by name, and the time."""

    profile: Profile = field(default_factory=Profile)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.pending = SchedulingQueue({"": self.profile})

    def add(self, *pods: Pod) -> None:
        for new in pods:
            self.pending.add(new, "", self.now)

    def take(self) -> str:
        entry = self.pending.take(self.now)
        return entry.uid if entry else ""

    def take_all(self) -> list[str]:
        return list(iter(self.take, ""))

    def park(self, uid: str, *plugins: str, pending: str = "") -> None:
        self.pending.park(uid, plugins, self.now, {pending} - {""})

    def parked(self, *plugins: str) -> None:
        """Pod p has been rejected by these."""
        self.add(pod("p"))
        assert self.take() == "p"
        self.park("p", *plugins)

    def entry(self, uid: str = "p") -> QueuedPod:
        return next(entry for entry in self.pending.entries() if entry.uid == uid)

    def place(self, uid: str = "p") -> QueuePlace:
        return self.entry(uid).place

    def on_event(self, event: Event = NODE_ADDED) -> None:
        self.pending.on_event(event, self.now)
