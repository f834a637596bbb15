"""The rules for each family of metrics, and for /metrics/resources."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from bench.soak.metrics import attempts, generic, process, queue
from bench.soak.metrics.expected import Truth, exactly
from bench.soak.metrics.generic import ROUNDED
from bench.soak.metrics.scrape import Scrape

Law = Callable[[Scrape, Truth], Iterator[str]]


def nothing_more(_scrape: Scrape, _truth: Truth) -> Iterator[str]:
    """No rule: no other source has this figure, so only the rules for all metrics apply."""
    yield from ()


FAMILIES: Mapping[str, Law] = {
    "scheduler_cache_size": queue.cache,
    "scheduler_pending_pods": queue.pending,
    "scheduler_unschedulable_pods": queue.rejected,
    "scheduler_inflight_events": queue.in_flight,
    "scheduler_goroutines": queue.background,
    "scheduler_queue_incoming_pods_total": queue.incoming,
    "scheduler_permit_wait_duration_seconds": queue.permits,
    "leader_election_master_status": queue.leader,
    "scheduler_schedule_attempts_total": attempts.ended,
    "scheduler_scheduling_attempt_duration_seconds": attempts.ended,
    "scheduler_scheduling_algorithm_duration_seconds": attempts.decided,
    "scheduler_pod_scheduling_sli_duration_seconds": attempts.bound,
    "scheduler_pod_scheduling_attempts": attempts.bound,
    "scheduler_pod_scheduled_after_flush_total": attempts.flushed,
    "scheduler_framework_extension_point_duration_seconds": attempts.points,
    "scheduler_plugin_execution_duration_seconds": attempts.plugins,
    "scheduler_plugin_evaluation_total": attempts.plugins,
    "scheduler_preemption_attempts_total": attempts.attempted,
    "scheduler_preemption_victims": attempts.victims,
    "scheduler_preemption_goroutines_execution_total": attempts.carried_out,
    "scheduler_preemption_goroutines_duration_seconds": attempts.carried_out,
    "rest_client_requests_total": process.answered_requests,
    "rest_client_request_duration_seconds": process.measured_requests,
    "rest_client_rate_limiter_duration_seconds": process.measured_requests,
    "rest_client_request_size_bytes": process.measured_requests,
    "rest_client_response_size_bytes": process.measured_requests,
    "process_cpu_seconds_total": process.processor,
    "process_resident_memory_bytes": process.memory,
    "process_virtual_memory_bytes": process.memory,
    "process_start_time_seconds": process.started,
    "process_open_fds": process.files,
    "process_max_fds": process.files,
    "python_threads": process.threads,
    "python_tasks": process.threads,
    "berth_event_loop_lag_seconds": process.beats,
    "python_gc_objects": nothing_more,
    "kubernetes_feature_enabled": process.features,
    "berth_document_not_followed": process.documents,
    "berth_document_refusals_total": process.documents,
    "berth_objects_set_aside": process.objects,
    "berth_yielding_pods": queue.yielding,
    "berth_slow_attempts_total": queue.yielding,
}
"""All families of a scheduler. A new one needs its rule here."""


def doubts(scrape: Scrape, truth: Truth, before: Scrape | None = None) -> list[str]:
    """The metrics of a process that cannot be true; ``before``: the same process in an earlier calm."""
    families = {scrape.family(name) for name, _ in scrape.numbers}
    result = [f"nobody judges {name}" for name in sorted(families - FAMILIES.keys())]
    result += generic.impossible_values(scrape)
    result += generic.bad_histograms(scrape, truth)
    result += generic.decreased_counters(scrape, before) if before else ()
    for law in dict.fromkeys(FAMILIES.values()):
        result += law(scrape, truth)
    return result


REQUESTS = "kube_pod_resource_request"


def doubts_about_resources(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Wrong requests on /metrics/resources. Only the leader reports any; no pod of a soak has a limit."""
    reported = scrape.by(REQUESTS, "node", "resource")
    asks = truth.asks if truth.leads else {}
    for key in sorted({*reported, *asks}):
        node, resource = key
        if not math.isclose(reported[key], asks.get(key, 0), rel_tol=ROUNDED):
            yield from exactly(f"{REQUESTS} of {resource} on {node or 'no node'}", reported[key], asks.get(key, 0))
    for name in sorted({scrape.family(name) for name, _ in scrape.numbers} - {REQUESTS}):
        yield f"{name} is on /metrics/resources, and nobody judges it"
