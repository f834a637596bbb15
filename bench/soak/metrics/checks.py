"""How each family of metrics is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from bench.soak.metrics import attempts, generic, preemptions, process, queue, requests
from bench.soak.metrics.expected import Truth
from bench.soak.metrics.scrape import Scrape

Law = Callable[[Scrape, Truth], Iterator[str]]


def nothing_more(_scrape: Scrape, _truth: Truth) -> Iterator[str]:
    """Nobody else knows it: only what holds for every metric holds for it."""
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
    "scheduler_preemption_attempts_total": preemptions.attempted,
    "scheduler_preemption_victims": preemptions.victims,
    "scheduler_preemption_goroutines_execution_total": preemptions.carried_out,
    "scheduler_preemption_goroutines_duration_seconds": preemptions.carried_out,
    "rest_client_requests_total": requests.answered,
    "rest_client_request_duration_seconds": requests.measured,
    "rest_client_rate_limiter_duration_seconds": requests.measured,
    "rest_client_request_size_bytes": requests.measured,
    "rest_client_response_size_bytes": requests.measured,
    "process_cpu_seconds_total": process.processor,
    "process_resident_memory_bytes": process.memory,
    "process_virtual_memory_bytes": process.memory,
    "process_start_time_seconds": process.started,
    "process_open_fds": process.files,
    "process_max_fds": process.files,
    "python_threads": process.threads,
    "python_tasks": process.threads,
    "python_gc_objects": nothing_more,
    "kubernetes_feature_enabled": process.features,
    "berth_document_not_followed": process.documents,
    "berth_document_refusals_total": process.documents,
}
"""All that a scheduler has. Who adds one has to say here how it is known to be true."""


def doubts(scrape: Scrape, truth: Truth, before: Scrape | None = None) -> list[str]:
    """Where the metrics of a process cannot be true; ``before`` is what the same process said in an earlier calm."""
    found = [f"nobody judges {name}" for name in sorted(_families(scrape) - FAMILIES.keys())]
    found += generic.possible(scrape)
    found += generic.spread_well(scrape, truth)
    found += generic.risen(scrape, before) if before else ()
    for law in dict.fromkeys(FAMILIES.values()):
        found += law(scrape, truth)
    return found


def _families(scrape: Scrape) -> set[str]:
    return {scrape.family(name) for name, _ in scrape.numbers}
