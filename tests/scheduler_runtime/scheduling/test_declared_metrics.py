"""The metrics that are declared, judged by what kube-scheduler 1.36 declares, also those that no pod here comes to."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from scheduler_runtime import testing
from scheduler_runtime.app.scheduler import Scheduler
from scheduler_runtime.metrics import Counter, Histogram, Metric
from scheduler_runtime.reload.plan import DocumentText
from scheduler_runtime.scheduling.metrics import Metrics
from tests.support.processes import assembled
from tests.support.scripted import Script, serving

DOCUMENT = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles: [{schedulerName: p}]
"""


class Family(NamedTuple):
    """What is declared of a metric; the bounds are those of a histogram's buckets."""

    kind: str
    labels: frozenset[str]
    bounds: tuple[str, ...] = ()


def counter(*labels: str) -> Family:
    return Family("counter", frozenset(labels))


def gauge(*labels: str) -> Family:
    return Family("gauge", frozenset(labels))


def histogram(first: float, factor: float, count: int, *labels: str) -> Family:
    """One with ``count`` bounds, from the first one on each ``factor`` times the one before."""
    return Family("histogram", frozenset(labels), rounded(first * factor**number for number in range(count)))


def rounded(bounds: Iterable[float]) -> tuple[str, ...]:
    """Bounds without what computing adds to them."""
    return tuple(f"{bound:.9g}" for bound in bounds)


OF_ATTEMPT = ("result", "profile")
STABLE = {
    "schedule_attempts_total": counter(*OF_ATTEMPT),
    "scheduling_attempt_duration_seconds": histogram(0.001, 2, 15, *OF_ATTEMPT),
    "pod_scheduling_attempts": histogram(1, 2, 5),
    "framework_extension_point_duration_seconds": histogram(0.0001, 2, 12, "extension_point", "status", "profile"),
    "pending_pods": gauge("queue"),
    "queue_incoming_pods_total": counter("queue", "event"),
    "preemption_attempts_total": counter(),
    "preemption_victims": histogram(1, 2, 7),
}
BETA = {
    "pod_scheduling_sli_duration_seconds": histogram(0.01, 2, 20, "attempts"),
    "plugin_evaluation_total": counter("plugin", "extension_point", "profile"),
    "unschedulable_pods": gauge("plugin", "profile"),
    "permit_wait_duration_seconds": histogram(0.001, 2, 15, "result"),
    "goroutines": gauge("operation"),
}
ALPHA = {
    "scheduling_algorithm_duration_seconds": histogram(0.001, 2, 15),
    "plugin_execution_duration_seconds": histogram(0.00001, 1.5, 20, "plugin", "extension_point", "status"),
    "preemption_goroutines_duration_seconds": histogram(0.01, 2, 20, "result"),
    "preemption_goroutines_execution_total": counter("result"),
    "cache_size": gauge("type"),
    "inflight_events": gauge("event"),
    "pod_scheduled_after_flush_total": counter(),
}
"""Those of level ALPHA that are here; which are not is told in docs/endpoints.md."""


def declared(metric: Metric) -> Family:
    """What a metric is declared as; of a gauge, what its numbers have."""
    match metric:
        case Counter():
            return counter(*metric._labels)
        case Histogram():
            return Family(metric.kind, frozenset(metric._labels), rounded(metric._bounds))
        case _:
            return Family(metric.kind, frozenset(name for _, labels, _ in metric.samples() for name, _ in labels))


def reject_a_pod(process: Scheduler) -> None:
    """Have a pod wait that a plugin rejected: without one a gauge has no number."""
    pod, now = testing.pod("a"), time.monotonic()
    process.queue.add(pod, "p", now)
    process.queue.take(now)
    process.queue.park(pod.uid, ["NodeAffinity"], now)


async def test_metrics_are_declared_as_kube_scheduler_declares_them(tmp_path: Path) -> None:
    metrics = Metrics()
    async with serving(Script()) as client:
        process, _ = await assembled(tmp_path, DocumentText(DOCUMENT), client, metrics=metrics)
        reject_a_pod(process)
        ours = {metric.name: declared(metric) for metric in metrics._all()}
    assert {name: family for name, family in ours.items() if name.startswith("scheduler_")} == {
        f"scheduler_{name}": family for name, family in {**STABLE, **BETA, **ALPHA}.items()
    }
