"""What the scheduler counts, under upstream's names, and how Prometheus reads it.

Written by the event loop only and read by another thread: single numbers, so that no lock is needed.
"""

from __future__ import annotations

import os
import resource
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path

Labels = tuple[tuple[str, str], ...]
Sample = tuple[str, Labels, float]

ATTEMPT_BUCKETS = tuple(0.001 * 2**power for power in range(15))
"""1 ms to 16 s, as upstream's buckets for attempts."""
VICTIM_BUCKETS = tuple(float(2**power) for power in range(7))
"""1 to 64 pods."""
_STARTED_AT = time.time()


class Counter:
    """Numbers that only grow, one per combination of labels."""

    kind = "counter"

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name = name
        self.text = text
        self._labels = labels
        self._values: dict[tuple[str, ...], float] = {}

    def add(self, *values: str, amount: float = 1) -> None:
        self._values[values] = self._values.get(values, 0) + amount

    def samples(self) -> Iterator[Sample]:
        for values, number in list(self._values.items()):
            yield self.name, tuple(zip(self._labels, values, strict=True)), number


class Gauge:
    """Numbers that are looked up when somebody asks."""

    def __init__(self, name: str, text: str, read: Callable[[], Mapping[Labels, float]], kind: str = "gauge") -> None:
        self.name = name
        self.text = text
        self.kind = kind
        self._read = read

    def samples(self) -> Iterator[Sample]:
        for labels, number in self._read().items():
            yield self.name, labels, number


class Histogram:
    """How often a number fell between which bounds."""

    kind = "histogram"

    def __init__(self, name: str, text: str, bounds: tuple[float, ...], *labels: str) -> None:
        self.name = name
        self.text = text
        self._bounds = bounds
        self._labels = labels
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def observe(self, number: float, *values: str) -> None:
        self._sums[values] = self._sums.get(values, 0.0) + number  # first: a scrape takes its labels from the counts
        counts = self._counts.get(values)
        if counts is None:
            counts = self._counts[values] = [0] * (len(self._bounds) + 1)
        counts[bisect_left(self._bounds, number)] += 1

    def samples(self) -> Iterator[Sample]:
        for values, counts in list(self._counts.items()):
            labels = tuple(zip(self._labels, values, strict=True))
            upto = list(accumulate(counts))
            for bound, number in zip((*map(str, self._bounds), "+Inf"), upto, strict=True):
                yield f"{self.name}_bucket", (*labels, ("le", bound)), number
            yield f"{self.name}_sum", labels, self._sums[values]
            yield f"{self.name}_count", labels, upto[-1]


Metric = Counter | Gauge | Histogram


class Metrics:
    """Everything that one scheduler process counts."""

    def __init__(self) -> None:
        self._attempts = Counter(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule pods, by result: scheduled, unschedulable or error.",
            "result",
            "profile",
        )
        self._durations = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "How long deciding about one pod took, without binding.",
            ATTEMPT_BUCKETS,
            "result",
            "profile",
        )
        self._preemption_attempts = Counter(
            "scheduler_preemption_attempts_total", "How often a pod that fits nowhere looked for others to preempt."
        )
        self._preemption_victims = Histogram(
            "scheduler_preemption_victims", "How many pods one preemption takes off a node.", VICTIM_BUCKETS
        )
        self._gauges: list[Gauge] = []

    def decided(self, result: str, profile: str, seconds: float) -> None:
        """Count one decision. A placed pod counts as scheduled when it is bound, not before."""
        self._durations.observe(seconds, result, profile)
        if result != "scheduled":
            self._attempts.add(result, profile)

    def bound(self, profile: str) -> None:
        self._attempts.add("scheduled", profile)

    def failed(self, profile: str) -> None:
        """Count a placed pod that could not be bound."""
        self._attempts.add("error", profile)

    def preemption_attempted(self) -> None:
        self._preemption_attempts.add()

    def preempted(self, victims: int) -> None:
        """Count that so many pods are to make room for one."""
        self._preemption_victims.observe(victims)

    def show(self, name: str, text: str, read: Callable[[], Mapping[Labels, float]]) -> None:
        """Show what ``read`` returns, asked for at each scrape, from the scraper's thread."""
        self._gauges.append(Gauge(name, text, read))

    def text(self) -> str:
        """Return everything in Prometheus's text format."""
        preemptions = (self._preemption_attempts, self._preemption_victims)
        return exposition([self._attempts, self._durations, *preemptions, *self._gauges, *process_metrics()])


def exposition(metrics: Iterable[Metric]) -> str:
    """Write ``metrics`` in Prometheus's text format."""
    lines: list[str] = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.text}", f"# TYPE {metric.name} {metric.kind}"]
        lines += [f"{name}{_braces(labels)} {number:.17g}" for name, labels, number in metric.samples()]
    return "\n".join(lines) + "\n"


def process_metrics() -> list[Gauge]:
    """What every Prometheus client says about its process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return [
        Gauge("process_cpu_seconds_total", "CPU time used.", lambda: {(): usage.ru_utime + usage.ru_stime}, "counter"),
        Gauge("process_resident_memory_bytes", "Memory in use.", lambda: {(): _resident_bytes()}),
        Gauge("process_start_time_seconds", "When the process began.", lambda: {(): _STARTED_AT}),
    ]


def _resident_bytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def _braces(labels: Labels) -> str:
    if not labels:
        return ""
    escaped = ((name, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")) for name, value in labels)
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"
