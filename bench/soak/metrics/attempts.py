"""Attempts to place pods, their extension points, and preemptions."""

from __future__ import annotations

from collections.abc import Iterator

from bench.soak.metrics.expected import Truth, alike, between, exactly
from bench.soak.metrics.scrape import Scrape

ENDED = "scheduler_schedule_attempts_total"
DECIDED = "scheduler_scheduling_algorithm_duration_seconds_count"
POINTS = "scheduler_framework_extension_point_duration_seconds_count"


def ended(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Each attempt that ended is measured; a standby makes none, the leader one for each pod that waits."""
    of = ("result", "profile")
    name = "scheduling_attempt_duration_seconds_count"
    results = scrape.by(ENDED, "result")
    yield from alike(name, scrape.by(f"scheduler_{name}", *of), scrape.by(ENDED, *of))
    in_vain = results["unschedulable",] + results["error",]
    if truth.leads:
        yield from between("schedule_attempts_total in vain", in_vain, truth.waiting)
    else:
        yield from exactly("schedule_attempts_total of a standby", sum(results.values()), 0)


def decided(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Each attempt had a decision. A binding whose pod was deleted meanwhile ends no attempt."""
    attempts = scrape.sum(ENDED)
    unanswered = scrape.sum("rest_client_requests_total", code="<error>")
    most = attempts + truth.refused + unanswered
    yield from between(DECIDED[10:], scrape.sum(DECIDED), attempts, most)


def bound(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Every pod that was bound is counted once, wherever pods are counted, with the attempts it took."""
    scheduled = {"result": "scheduled"}
    for name, labels in (
        ("schedule_attempts_total", scheduled),
        ("scheduling_attempt_duration_seconds_count", scheduled),
        ("pod_scheduling_sli_duration_seconds_count", {}),
        ("pod_scheduling_attempts_count", {}),
    ):
        counted = scrape.sum(f"scheduler_{name}", **labels)
        yield from between(name, counted, truth.bound_by_it, truth.bound_by_it + truth.bound_perhaps)
    needed = "scheduler_pod_scheduling_attempts"
    count, decisions = scrape.sum(f"{needed}_count"), scrape.sum(DECIDED)
    yield from between("pod_scheduling_attempts_sum", scrape.sum(f"{needed}_sum"), count, max(count, decisions))
    at_once = scrape.sum("scheduler_pod_scheduling_sli_duration_seconds_count", attempts="1")
    yield from exactly("pod_scheduling_attempts of one", scrape.sum(f"{needed}_bucket", le="1"), at_once)


def flushed(scrape: Scrape, _: Truth) -> Iterator[str]:
    """Only bound pods can be bound after a flush."""
    name = "pod_scheduled_after_flush_total"
    yield from between(name, scrape.sum(f"scheduler_{name}"), 0, scrape.sum(ENDED, result="scheduled"))


def points(scrape: Scrape, _: Truth) -> Iterator[str]:
    """Each pod passes the points once in an attempt, as far as it gets, and PreEnqueue before."""
    runs = scrape.by(POINTS, "extension_point")
    decisions, failed = scrape.sum(DECIDED), scrape.sum(ENDED, result="error")
    yield from between("runs of PreFilter", runs["PreFilter",], max(0, decisions - failed), decisions)
    for point in ("Filter", "PreScore", "Score", "PostFilter", "Reserve", "Permit", "PreBind"):
        yield from between(f"runs of {point}", runs[point,], 0, runs["PreFilter",])
    came = scrape.sum("scheduler_queue_incoming_pods_total", event="UnschedulablePodAdd")
    yield from between("runs of PreEnqueue", runs["PreEnqueue",], came)
    for point, status, result in (("Bind", {"status": "Success"}, "scheduled"), ("PostFilter", {}, "unschedulable")):
        counted = scrape.by(POINTS, "profile", extension_point=point, **status)
        yield from alike(f"runs of {point}", counted, scrape.by(ENDED, "profile", result=result))


def plugins(scrape: Scrape, _: Truth) -> Iterator[str]:
    """A plugin runs once at each point before the choice, and is measured only when it runs."""
    of = ("plugin", "extension_point")
    evaluations = scrape.by("scheduler_plugin_evaluation_total", *of)
    runs = scrape.by(POINTS, "extension_point")
    for (plugin, point), many in scrape.by("scheduler_plugin_execution_duration_seconds_count", *of).items():
        what = f"plugin_execution_duration_seconds_count of {plugin} at {point}"
        if point in ("PreFilter", "PreScore"):
            yield from between(what, many, 0, min(runs[point,], evaluations[plugin, point]))
        elif point in ("Filter", "Score"):
            yield from between(what, many, 0, evaluations[plugin, point])


VICTIMS = "scheduler_preemption_victims"
MOST_VICTIMS = 3
"""A preempting pod of a soak requests as much as three of its possible victims."""


def attempted(scrape: Scrape, _: Truth) -> Iterator[str]:
    """Each pod that fits nowhere makes one attempt to preempt."""
    runs = scrape.sum(POINTS, extension_point="PostFilter")
    yield from exactly("preemption_attempts_total", scrape.sum("scheduler_preemption_attempts_total"), runs)


def victims(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Each successful attempt has one to MOST_VICTIMS victims; and every deleted pod was a victim."""
    successes = scrape.sum(POINTS, extension_point="PostFilter", status="Success")
    count, total = scrape.sum(f"{VICTIMS}_count"), scrape.sum(f"{VICTIMS}_sum")
    yield from exactly("preemption_victims_count", count, successes)
    yield from between("preemption_victims_sum", total, max(count, truth.evicted), MOST_VICTIMS * count)


def carried_out(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Each preemption that was carried out is measured, and has victims."""
    name = "preemption_goroutines_duration_seconds_count"
    ended = scrape.by("scheduler_preemption_goroutines_execution_total", "result")
    yield from alike(name, scrape.by(f"scheduler_{name}", "result"), ended)
    many, most = sum(ended.values()), scrape.sum(f"{VICTIMS}_count")
    yield from between("preemption_goroutines_execution_total", many, bool(truth.evicted), most)
