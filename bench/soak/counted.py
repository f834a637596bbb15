"""The metrics of a scheduler, and whether they can be true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SAMPLE = re.compile(r"(?P<name>\w+)(?:\{(?P<labels>.*)\})? (?P<number>\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
UNBOUNDED = re.compile(r"soak-[a-z]+-\d+|kwok-\d+|[0-9a-f]{8}-[0-9a-f]{4}-")
"""Values of labels that would make the metrics grow with the cluster: names of pods and nodes, and uids."""

Labels = tuple[tuple[str, str], ...]


class Scrape:
    """What /metrics said once."""

    def __init__(self, text: str) -> None:
        self._numbers: dict[tuple[str, Labels], float] = {}
        for line in text.splitlines():
            if (sample := SAMPLE.fullmatch(line)) and not line.startswith("#"):
                labels = tuple(LABEL.findall(sample["labels"] or ""))
                self._numbers[sample["name"], labels] = float(sample["number"])

    def sum(self, metric: str, /, **labels: str) -> float:
        """The sum of the samples called ``metric`` with these labels."""
        wanted = set(labels.items())
        return sum(number for (name, has), number in self._numbers.items() if name == metric and wanted <= set(has))

    @property
    def series(self) -> int:
        """How many there are, a histogram's buckets not counted."""
        return sum(not any(label == "le" for label, _ in labels) for _, labels in self._numbers)

    @property
    def unbounded(self) -> set[str]:
        """The metrics with a label that names a pod or a node."""
        return {
            name
            for name, labels in self._numbers
            for label, value in labels
            if label != "le" and UNBOUNDED.match(value)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What the API server shows while nothing changes."""

    nodes: int
    bound: int
    waiting: int
    gated: int
    bound_by_it: int
    """How many pods the process has bound since it was started."""
    bound_perhaps: int = 0
    """How many more it has bound perhaps: the API server gave up, but may have done it."""
    leads: bool


def doubts(scrape: Scrape, truth: Truth) -> list[str]:
    """Where the metrics of a process say otherwise than the API server."""
    found = [f"{name} has a label that names pods or nodes" for name in sorted(scrape.unbounded)]
    for what, said, is_so in _compared(scrape, truth):
        if said != is_so:
            found.append(f"{what} is {said:g}, and should be {is_so:g}")
    return found + list(_attempts(scrape, truth.bound_by_it, truth.bound_perhaps))


def _compared(scrape: Scrape, truth: Truth) -> Iterator[tuple[str, float, float]]:
    size = "scheduler_cache_size"
    yield "cache_size of nodes", scrape.sum(size, type="nodes"), truth.nodes
    yield "cache_size of pods", scrape.sum(size, type="pods"), truth.bound
    yield "cache_size of assumed pods", scrape.sum(size, type="assumed_pods"), 0
    waiting = ("active", "backoff", "unschedulable")
    pending = {queue: scrape.sum("scheduler_pending_pods", queue=queue) for queue in (*waiting, "gated")}
    yield "pending_pods outside the gates", sum(pending[queue] for queue in waiting), truth.waiting
    yield "pending_pods at the gates", pending["gated"], truth.gated
    if truth.leads:
        yield "pending_pods that are active", pending["active"], 0
    yield "leader_election_master_status", scrape.sum("leader_election_master_status"), truth.leads
    yield "goroutines of bindings", scrape.sum("scheduler_goroutines", operation="binding"), 0


def _attempts(scrape: Scrape, bound: int, perhaps: int) -> Iterator[str]:
    """Every pod that was bound is counted once, wherever pods are counted."""
    scheduled = {"result": "scheduled"}
    for name, labels in (
        ("schedule_attempts_total", scheduled),
        ("scheduling_attempt_duration_seconds_count", scheduled),
        ("pod_scheduling_sli_duration_seconds_count", {}),
        ("pod_scheduling_attempts_count", {}),
    ):
        said = scrape.sum(f"scheduler_{name}", **labels)
        if not bound <= said <= bound + perhaps:
            yield f"{name} is {said:g}, and should be {bound}" + (f" to {bound + perhaps}" if perhaps else "")
