"""The rules for nodes and their pods, waiting pods, and the leader."""

from __future__ import annotations

from collections.abc import Iterator

from bench.soak.metrics.expected import Truth, between, exactly
from bench.soak.metrics.scrape import Scrape

GATES = "SchedulingGates"
"""The plugin that rejects gated pods."""


def cache(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """The cache holds the nodes and pods of the API server."""
    sizes = scrape.by("scheduler_cache_size", "type")
    yield from exactly("cache_size of nodes", sizes["nodes",], truth.nodes)
    yield from exactly("cache_size of pods", sizes["pods",], truth.bound)
    yield from exactly("cache_size of assumed pods", sizes["assumed_pods",], 0)


def leader(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """The leader, and no other, reports to be the leader."""
    yield from exactly("leader_election_master_status", scrape.sum("leader_election_master_status"), truth.leads)


def pending(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Every pod without a node waits, and none at the leader that could be taken."""
    queues = scrape.by("scheduler_pending_pods", "queue")
    gated = queues.pop(("gated",), 0)
    yield from exactly("pending_pods outside the gates", sum(queues.values()), truth.waiting)
    yield from exactly("pending_pods at the gates", gated, truth.gated)
    if truth.leads:
        yield from exactly("pending_pods that are active", queues["active",], 0)


def yielding(scrape: Scrape, _: Truth) -> Iterator[str]:
    """No pod is left that lets others go first, and no more attempts were slow than there were."""
    yield from exactly("yielding_pods", scrape.sum("berth_yielding_pods"), 0)
    attempts = scrape.sum("scheduler_schedule_attempts_total")
    yield from between("slow_attempts_total", scrape.sum("berth_slow_attempts_total"), 0, attempts)


def rejected(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """The leader has a rejecting plugin for each waiting pod; a standby for gated pods, and for those it let in."""
    plugins = scrape.by("scheduler_unschedulable_pods", "plugin")
    gated = plugins.pop((GATES,), 0)
    for (plugin,), many in plugins.items():
        yield from between(f"unschedulable_pods of {plugin}", many, 0, truth.waiting if truth.leads else 0)
    yield from between(
        f"unschedulable_pods of {GATES}", gated, truth.gated, truth.gated + (0 if truth.leads else truth.waiting)
    )
    if truth.leads:
        yield from between("unschedulable_pods of all plugins at the waiting", sum(plugins.values()), truth.waiting)


def in_flight(scrape: Scrape, _: Truth) -> Iterator[str]:
    """No pod is in a decision, and no event is stored for one."""
    yield from exactly("inflight_events", scrape.sum("scheduler_inflight_events"), 0)


def background(scrape: Scrape, _: Truth) -> Iterator[str]:
    """No pod is on its way to its node."""
    yield from exactly("goroutines of bindings", scrape.sum("scheduler_goroutines", operation="binding"), 0)


def incoming(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Every pod that waits, or was bound, came once; and every attempt was for a pod that became active."""
    name = "scheduler_queue_incoming_pods_total"
    came = scrape.sum(name, event="UnschedulablePodAdd")
    yield from between(f"{name[10:]} that were new", came, truth.bound_by_it + truth.waiting + truth.gated)
    decided = scrape.sum("scheduler_scheduling_algorithm_duration_seconds_count")
    yield from between(f"{name[10:]} that were active", scrape.sum(name, queue="active"), decided)


def permits(scrape: Scrape, _: Truth) -> Iterator[str]:
    """No plugin of a soak asks pods to wait for a permit."""
    name = "permit_wait_duration_seconds_count"
    yield from exactly(name, scrape.sum(f"scheduler_{name}"), 0)
