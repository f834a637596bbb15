"""The metrics of a small scheduler, and the truth about it."""

from __future__ import annotations

import re
from typing import Any

from bench.cluster.process_stats import ProcessState
from bench.soak.metrics import Truth
from scheduler_runtime.metrics import Labels
from scheduler_runtime.scheduling.metrics import Attempt, Metrics

STATE = ProcessState(
    cpu_seconds=2.0,
    resident_bytes=100e6,
    virtual_bytes=900e6,
    files=20,
    most_files=1024,
    threads=9,
    age_seconds=60.0,
    started_at=1000.0,
)
TRUTH = Truth(
    nodes=3,
    bound=5,
    waiting=2,
    gated=1,
    bound_by_it=4,
    refused=1,
    evicted=2,
    answers={("POST", "201"): 10, ("POST", "409"): 1, ("DELETE", "200"): 2},
    refusals=1,
    asks={("n1", "cpu"): 0.5, ("n1", "memory"): 1024.0, ("", "cpu"): 2.0},
    before=STATE,
    after=STATE,
    leads=True,
)
"""Of a leader that has bound four pods, two of them in its second profile, and was too late for one."""


def page() -> str:
    """The page of that leader."""
    metrics = Metrics()
    for profile, number in (("a", 1), ("a", 1), ("b", 1), ("b", 2)):
        _count_attempt(metrics, profile, "Bind", "Success")
        metrics.observe_scheduled(profile, Attempt(began=10.0, number=number, waits_since=8.0), 10.2)
    for profile, status in (("a", "Success"), ("b", "Unschedulable"), ("b", "Unschedulable")):
        _count_attempt(metrics, profile, "PostFilter", status)
        metrics.observe_attempt("unschedulable", profile, 0.1)
        metrics.count_preemption_attempt()
    _count_attempt(metrics, "a", "Bind", "Error")  # the pod was gone
    metrics.observe_victims(2)
    metrics.observe_preemption("success", 0.3)
    metrics.count_slow_attempt("b")
    for lag in (0.0, 0.001, 0.2):
        metrics.observe_loop_lag(lag)
    for _ in range(3):
        metrics.plugin("NodeAffinity", "PreFilter", "Success").observe(0.001)
        metrics.plugin("NodeAffinity", "Filter", "Success").observe(0.001)
    for point in ("PreFilter", "Filter"):
        metrics.evaluations("NodeAffinity", point, "a").add(8)
    for _ in range(8):
        metrics.pod_queued("active", "UnschedulablePodAdd")
        metrics.point("PreEnqueue", "Success", "a").observe(0.001)
    _count_requests(metrics)
    _set_gauges(metrics)
    return with_process(metrics.text())


def _count_attempt(metrics: Metrics, profile: str, last: str, status: str) -> None:
    metrics.decision_seconds.observe(0.01)
    for point in ("PreFilter", "Filter"):
        metrics.point(point, "Success", profile).observe(0.001)
    metrics.point(last, status, profile).observe(0.001)


def _count_requests(metrics: Metrics) -> None:
    server = metrics.requests.for_host("server")
    for code, method, many in ((201, "POST", 10), (409, "POST", 1), (200, "DELETE", 2), (200, "GET", 3)):
        for _ in range(many):
            server.count(code, method, (0.0, 0.02, 300, 500))
    server.count(200, "GET")  # a watch


def _set_gauges(metrics: Metrics) -> None:
    gauges: dict[str, dict[Labels, float]] = {
        "scheduler_cache_size": {_of(type="nodes"): 3, _of(type="pods"): 5, _of(type="assumed_pods"): 0},
        "scheduler_pending_pods": {
            _of(queue=queue): many
            for queue, many in (("active", 0), ("backoff", 1), ("unschedulable", 1), ("gated", 1))
        },
        "scheduler_unschedulable_pods": {
            _of(plugin="SchedulingGates", profile="a"): 1,
            _of(plugin="NodeResourcesFit", profile="b"): 2,
        },
        "scheduler_inflight_events": {_of(event="PodPop"): 0},
        "scheduler_goroutines": {_of(operation="binding"): 0},
        "leader_election_master_status": {_of(name="kube-scheduler"): 1},
        "kubernetes_feature_enabled": {_of(name="Some", stage=""): 1, _of(name="Other", stage="ALPHA"): 0},
        "berth_document_not_followed": {_of(why="refused"): 0, _of(why="missing"): 0},
        "berth_yielding_pods": {(): 0},
        "berth_objects_set_aside": {_of(resource="pods", reason="unreadable"): 0},
        "python_tasks": {(): 20},
    }
    for name, samples in gauges.items():
        metrics.show(name, "It is shown.", samples.copy)
    metrics.show("berth_document_refusals_total", "They are counted.", {_of(source="file"): 1.0}.copy, "counter")


def _of(**labels: str) -> Labels:
    return tuple(labels.items())


def with_process(text: str) -> str:
    """The page, of the process of ``SEEN`` instead of the one that runs the test."""
    numbers: dict[str, Any] = {
        "process_cpu_seconds_total": STATE.cpu_seconds,
        "process_resident_memory_bytes": STATE.resident_bytes,
        "process_virtual_memory_bytes": STATE.virtual_bytes,
        "process_start_time_seconds": STATE.started_at + 1,
        "process_open_fds": STATE.files,
        "process_max_fds": STATE.most_files,
        "python_threads": 7,
    }
    for name, number in numbers.items():
        text = changed(text, name, number)
    return text


def changed(text: str, series: str, number: object) -> str:
    """The page with another number for one of its series. Raises ValueError when it has none of that name."""
    result, many = re.subn(rf"^{re.escape(series)} \S+$", f"{series} {number}", text, flags=re.MULTILINE)
    if many != 1:
        raise ValueError(f"{many} series are called {series} in:\n{text}")
    return result
