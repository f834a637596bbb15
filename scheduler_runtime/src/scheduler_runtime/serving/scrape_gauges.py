"""What of a process is looked up when somebody asks for its metrics, instead of being counted."""

from __future__ import annotations

import asyncio
from collections import Counter as Counts
from collections.abc import Callable
from typing import Protocol, get_args

from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.gates import gates
from scheduler_runtime.config import Verdict
from scheduler_runtime.reload.reloader import Reloader
from scheduler_runtime.scheduling.binding_cycle import BindingCycle
from scheduler_runtime.scheduling.extenders import ExtenderFactory
from scheduler_runtime.scheduling.metrics import Labels, Metrics, Samples
from scheduler_runtime.scheduling.metrics.event_names import event_name
from scheduler_runtime.scheduling.pending import QueuePlace, SchedulingQueue
from scheduler_runtime.serving.leadership_view import LeadershipView
from scheduler_runtime.state.cache import Cache

QUEUES = (QueuePlace.ACTIVE, QueuePlace.BACKOFF, QueuePlace.PARKED, QueuePlace.GATED)


class Parts(Protocol):
    """The parts of a process that are asked."""

    cache: Cache
    pending: SchedulingQueue
    binder: BindingCycle

    @property
    def election(self) -> LeadershipView: ...

    extenders: ExtenderFactory


def show(metrics: Metrics, parts: Parts, target: Target) -> None:
    """Let ``metrics`` ask ``parts`` from now on. To be called in the event loop."""
    pending, election, loop = parts.pending, parts.election, asyncio.get_running_loop()
    for name, text, read in (
        ("pending_pods", "Pods that wait for a node, by where they wait.", lambda: _waiting(pending)),
        ("unschedulable_pods", "Waiting pods that a plugin rejected, by plugin.", lambda: _rejected(pending)),
        ("inflight_events", "Pods in flight, and the events kept for them.", lambda: _kept(pending)),
        ("cache_size", "Nodes, pods on them, and pods that only we know to be there.", lambda: _sizes(parts.cache)),
        ("goroutines", "Work under way in the background, by its kind.", lambda: _work(parts)),
    ):
        metrics.show(f"scheduler_{name}", text, read)
    if election.name:
        leader: Labels = (("name", election.name),)
        text = "Whether this process leads."
        metrics.show("leader_election_master_status", text, lambda: {leader: float(election.is_leader)})
    metrics.show("python_tasks", "Tasks of the event loop.", lambda: tasks(loop))
    metrics.show("kubernetes_feature_enabled", "Feature gates that are on.", _features(target))


def show_document(metrics: Metrics, changing: Reloader, source: str) -> None:
    """Let ``metrics`` tell what becomes of the documents that are at ``source``."""
    text = "Whether the newest document is not in force, and why."
    metrics.show("berth_document_not_followed", text, lambda: _verdicts(changing))
    text = "Documents that were refused, by where they were found."
    refusals: Labels = (("source", source),)
    metrics.show("berth_document_refusals_total", text, lambda: {refusals: changing.refusals}, "counter")


def tasks(loop: asyncio.AbstractEventLoop) -> Samples:
    """How many tasks ``loop`` has. May be asked from another thread."""
    return {(): len(asyncio.all_tasks(loop))}


def _verdicts(changing: Reloader) -> Samples:
    return {(("why", verdict),): float(verdict == changing.loaded.verdict) for verdict in get_args(Verdict)}


def _waiting(pending: SchedulingQueue) -> Samples:
    counts = pending.counts()
    return {(("queue", place.value),): counts.get(place, 0) for place in QUEUES}


def _rejected(pending: SchedulingQueue) -> Samples:
    waiting = (entry for entry in pending.entries() if entry.place in QUEUES)
    counts = Counts((plugin, entry.profile) for entry in waiting for plugin in entry.plugins)
    return {(("plugin", plugin), ("profile", profile)): number for (plugin, profile), number in counts.items()}


def _kept(pending: SchedulingQueue) -> Samples:
    counts = Counts(event_name(event) for event in pending.kept_events())
    counts["PodPop"] = pending.counts().get(QueuePlace.IN_FLIGHT, 0)
    return {(("event", event),): number for event, number in counts.items()}


def _sizes(cache: Cache) -> Samples:
    held = cache.snapshot()
    assumed = sum(each.assumed for each in held)
    sizes = {"nodes": len(cache.table), "pods": len(held), "assumed_pods": assumed}
    return {(("type", kind),): number for kind, number in sizes.items()}


def _work(parts: Parts) -> Samples:
    work = {"binding": len(parts.binder), "prioritizing_extender": parts.extenders.scoring}
    return {(("operation", kind),): number for kind, number in work.items()}


def _features(target: Target) -> Callable[[], Samples]:
    stages = {"alpha": "ALPHA", "beta": "BETA", "ga": "", "deprecated": "DEPRECATED"}
    found: Samples = {
        (("name", name), ("stage", stages[gate.stage])): float(target.enabled(name))
        for name, gate in gates(target.minor).items()
    }
    return lambda: found
