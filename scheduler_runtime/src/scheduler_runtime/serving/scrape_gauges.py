"""Gauges that are computed when ``/metrics`` is read, instead of being counted along the way.

Every function here is called in the thread of a scrape, while the event loop goes on: it reads copies.
"""

from __future__ import annotations

import asyncio
from collections import Counter as Counts
from collections.abc import Iterable
from typing import Any, Protocol, get_args

from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.target import gates_of
from scheduler_runtime.config import Verdict
from scheduler_runtime.kube.leader_election import Leadership
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.kube.watch.reflector import Reason
from scheduler_runtime.metrics import Labels, Samples
from scheduler_runtime.reload.reloader import Reloader
from scheduler_runtime.scheduling.extenders import ExtenderFactory
from scheduler_runtime.scheduling.metrics import Metrics, event_name
from scheduler_runtime.scheduling.pending import QueuePlace, SchedulingQueue
from scheduler_runtime.scheduling.pods_underway import PodsUnderway
from scheduler_runtime.state.cache import Cache

QUEUES = (QueuePlace.ACTIVE, QueuePlace.BACKOFF, QueuePlace.PARKED, QueuePlace.GATED)
STAGES = {"alpha": "ALPHA", "beta": "BETA", "ga": "", "deprecated": "DEPRECATED"}
"""Upstream's label values for the stages of feature gates."""


class MeasuredParts(Protocol):
    """The parts of a scheduler that have gauges."""

    cache: Cache
    queue: SchedulingQueue
    underway: PodsUnderway
    extenders: ExtenderFactory
    election: Leadership

    @property
    def reflectors(self) -> tuple[Reflector[Any], ...]:
        """Whatever the scheduler watches."""
        ...


def add_scheduler_gauges(metrics: Metrics, parts: MeasuredParts, target: Target) -> None:
    """Add the gauges of the scheduler's parts to ``metrics``. To be called in the event loop."""
    queue, cache, election, loop = parts.queue, parts.cache, parts.election, asyncio.get_running_loop()

    def background_work() -> Samples:
        work = {"binding": len(parts.underway), "prioritizing_extender": parts.extenders.scoring}
        return {(("operation", kind),): number for kind, number in work.items()}

    for name, text, read in (
        ("pending_pods", "Pods that wait for a node, by where they wait.", lambda: pods_by_place(queue)),
        ("unschedulable_pods", "Waiting pods that a plugin rejected, by plugin.", lambda: rejected_pods(queue)),
        ("inflight_events", "Pods in flight, and the events recorded for them.", lambda: recorded_events(queue)),
        ("cache_size", "Nodes, pods on them, and pods that only we know to be there.", lambda: cache_sizes(cache)),
        ("goroutines", "Work under way in the background, by its kind.", background_work),
    ):
        metrics.show(f"scheduler_{name}", text, read)
    metrics.show(
        "berth_yielding_pods",
        "Active pods that let others go first, because they are slow or fail again and again.",
        lambda: {(): queue.yielding},
    )
    # As upstream: without an election the metric does not exist.
    if election.name:
        leader: Labels = (("name", election.name),)
        text = "Whether this process leads."
        metrics.show("leader_election_master_status", text, lambda: {leader: float(election.is_leader)})
    metrics.show("python_tasks", "Tasks of the event loop.", lambda: count_tasks(loop))
    text = "Objects that are not used in their newest version: they cannot be read, or taking them in failed."
    metrics.show("berth_objects_set_aside", text, lambda: objects_set_aside(parts.reflectors))
    features: Samples = {
        (("name", name), ("stage", STAGES[gate.stage])): float(target.enabled(name))
        for name, gate in gates_of(target.minor).items()
    }
    metrics.show("kubernetes_feature_enabled", "Feature gates that are on.", lambda: features)


def add_document_gauges(metrics: Metrics, reloader: Reloader, source: str) -> None:
    """Add the gauges about the documents at ``source``: whether the newest is in force, and how many were refused."""

    def verdicts() -> Samples:
        return {(("why", verdict),): float(verdict == reloader.status.verdict) for verdict in get_args(Verdict)}

    text = "Whether the newest document is not in force, and why."
    metrics.show("berth_document_not_followed", text, verdicts)
    text = "Documents that were refused, by where they were found."
    refusals: Labels = (("source", source),)
    metrics.show("berth_document_refusals_total", text, lambda: {refusals: reloader.refusals}, "counter")


def count_tasks(loop: asyncio.AbstractEventLoop) -> Samples:
    """Return the number of tasks of ``loop``."""
    return {(): len(asyncio.all_tasks(loop))}


def objects_set_aside(reflectors: Iterable[Reflector[Any]]) -> Samples:
    """Return how many objects of each watched resource are set aside, and for which reason."""
    counts = Counts[tuple[str, str]]()
    for reflector in reflectors:
        resource = reflector.kind.path.rpartition("/")[2]
        counts.update(dict.fromkeys(((resource, reason) for reason in get_args(Reason)), 0))
        counts.update((resource, aside.reason) for aside in list(reflector.set_aside.values()))
    return {(("resource", resource), ("reason", reason)): number for (resource, reason), number in counts.items()}


def pods_by_place(queue: SchedulingQueue) -> Samples:
    """Return how many pods wait, by upstream's names of the places."""
    counts = queue.counts()
    return {(("queue", place.value),): counts.get(place, 0) for place in QUEUES}


def rejected_pods(queue: SchedulingQueue) -> Samples:
    """Return how many waiting pods each plugin rejected: a pod counts for every plugin that did."""
    waiting = (entry for entry in queue.entries() if entry.place in QUEUES)
    counts = Counts((plugin, entry.profile) for entry in waiting for plugin in entry.plugins)
    return {(("plugin", plugin), ("profile", profile)): number for (plugin, profile), number in counts.items()}


def recorded_events(queue: SchedulingQueue) -> Samples:
    """Return how many events are kept for the pods in flight."""
    counts = Counts(event_name(event) for event in queue.recorded_events())
    # Upstream records the taking of a pod among its events (active_queue.go), and this metric counts them together.
    counts["PodPop"] = queue.counts().get(QueuePlace.IN_FLIGHT, 0)
    return {(("event", event),): number for event, number in counts.items()}


def cache_sizes(cache: Cache) -> Samples:
    """Return the sizes of the cache, by upstream's names of its parts."""
    pods = cache.snapshot()
    sizes = {"nodes": len(cache.table), "pods": len(pods), "assumed_pods": sum(placed.assumed for placed in pods)}
    return {(("type", kind),): number for kind, number in sizes.items()}
