"""Looking for pods to preempt, and preempting them."""

from __future__ import annotations

from collections.abc import Iterator

from bench.soak.metrics.attempts import POINTS
from bench.soak.metrics.expected import Truth, alike, between, exactly
from bench.soak.metrics.scrape import Scrape

VICTIMS = "scheduler_preemption_victims"
MOST_VICTIMS = 3
"""What preempts in a soak asks for as much as three of those that it can preempt."""


def attempted(scrape: Scrape, _: Truth) -> Iterator[str]:
    """Whatever pod fits nowhere, others are looked for that it could preempt."""
    runs = scrape.sum(POINTS, extension_point="PostFilter")
    yield from exactly("preemption_attempts_total", scrape.sum("scheduler_preemption_attempts_total"), runs)


def victims(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Who found a node takes pods off it, as many as it needs; and every pod that was deleted was chosen for that."""
    found = scrape.sum(POINTS, extension_point="PostFilter", status="Success")
    count, total = scrape.sum(f"{VICTIMS}_count"), scrape.sum(f"{VICTIMS}_sum")
    yield from exactly("preemption_victims_count", count, found)
    yield from between("preemption_victims_sum", total, max(count, truth.evicted), MOST_VICTIMS * count)


def carried_out(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Each preemption that was carried out is measured, and had found victims before."""
    name = "preemption_goroutines_duration_seconds_count"
    ended = scrape.by("scheduler_preemption_goroutines_execution_total", "result")
    yield from alike(name, scrape.by(f"scheduler_{name}", "result"), ended)
    many, most = sum(ended.values()), scrape.sum(f"{VICTIMS}_count")
    yield from between("preemption_goroutines_execution_total", many, bool(truth.evicted), most)
