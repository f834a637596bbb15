"""What a process says of itself, compared with what the kernel knows; and what it says that it goes by."""

from __future__ import annotations

from collections.abc import Iterator

from bench.soak.metrics.expected import Truth, between, exactly
from bench.soak.metrics.scrape import Scrape

CPU_SLACK_SECONDS = 0.1
SIZE_SLACK = 0.1
"""How much larger or smaller the process may have been just before and after."""
FILES_SLACK = 16
"""Connections come and go; being asked is one."""
THREADS_SLACK = 4
START_SECONDS = 60.0
"""How long it may take until a process can look at the clock."""


def processor(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """The processor time is that between before and after."""
    name = "process_cpu_seconds_total"
    least, most = truth.before.cpu_seconds - CPU_SLACK_SECONDS, truth.after.cpu_seconds + CPU_SLACK_SECONDS
    yield from between(name, scrape.sum(name), least, most)


def memory(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """The memory is about that of before and after."""
    for name, sizes in (
        ("process_resident_memory_bytes", (truth.before.resident_bytes, truth.after.resident_bytes)),
        ("process_virtual_memory_bytes", (truth.before.virtual_bytes, truth.after.virtual_bytes)),
    ):
        yield from between(name, scrape.sum(name), min(sizes) * (1 - SIZE_SLACK), max(sizes) * (1 + SIZE_SLACK))


def started(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """It was started when the kernel says so, or saw a clock a little later."""
    name = "process_start_time_seconds"
    yield from between(name, scrape.sum(name), truth.after.started_at - 1, truth.after.started_at + START_SECONDS)


def files(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """About as many files are open as before and after."""
    counts = (truth.before.files, truth.after.files)
    least, most = min(counts) - FILES_SLACK, max(counts) + FILES_SLACK
    yield from between("process_open_fds", scrape.sum("process_open_fds"), max(1, least), most)
    yield from exactly("process_max_fds", scrape.sum("process_max_fds"), truth.after.most_files)


def threads(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Some of the process's threads run Python, and some tasks run in one of them."""
    most = max(truth.before.threads, truth.after.threads) + THREADS_SLACK
    yield from between("python_threads", scrape.sum("python_threads"), 1, most)
    yield from between("python_tasks", scrape.sum("python_tasks"), 1)


def features(scrape: Scrape, _: Truth) -> Iterator[str]:
    """A feature is on or off, and some are on."""
    states = scrape.by("kubernetes_feature_enabled", "name")
    for (name,), state in states.items():
        if state not in (0, 1):
            yield f"kubernetes_feature_enabled of {name} is {state:g}"
    yield from between("kubernetes_feature_enabled of all", sum(states.values()), 1)


def documents(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """The newest document is followed, and each bad one was refused once."""
    for (why,), state in scrape.by("berth_document_not_followed", "why").items():
        yield from exactly(f"berth_document_not_followed for {why}", state, 0)
    name = "berth_document_refusals_total"
    yield from exactly(name, scrape.sum(name), truth.refusals)
