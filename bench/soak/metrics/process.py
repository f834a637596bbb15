"""A process's figures about itself, compared with the kernel's; its documents, and its requests to the API server."""

from __future__ import annotations

from collections.abc import Iterator

from bench.soak.metrics.expected import Truth, between, exactly
from bench.soak.metrics.scrape import Scrape
from scheduler_runtime.component.heartbeat import BEAT_SECONDS

CPU_SLACK_SECONDS = 0.1
SIZE_SLACK = 0.1
"""The allowed difference between the process now and just before or after."""
FILES_SLACK = 16
"""Connections come and go; reading the metrics is one."""
THREADS_SLACK = 4
START_SECONDS = 60.0
"""The time from the start of a process until it can read the clock."""


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
    """The process was started at the kernel's time of its start, or read the clock a little later."""
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


def beats(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """The event loop has beaten, and no more often than there was time for."""
    name = "berth_event_loop_lag_seconds_count"
    yield from between(name, scrape.sum(name), 1, truth.after.age_seconds / BEAT_SECONDS + 1)


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


def objects(scrape: Scrape, _: Truth) -> Iterator[str]:
    """All objects of a soak can be used."""
    yield from exactly("berth_objects_set_aside", scrape.sum("berth_objects_set_aside"), 0)


ANSWERED = "rest_client_requests_total"
DURATIONS = "rest_client_request_duration_seconds_count"
MEASURED = (
    "rest_client_rate_limiter_duration_seconds_count",
    "rest_client_request_size_bytes_count",
    "rest_client_response_size_bytes_count",
)
UNANSWERED = "<error>"
READ = "GET"


def answered_requests(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Writing requests were answered as in the audit log. The server may answer a request that the client gave up."""
    counts = scrape.by(ANSWERED, "method", "code")
    for method, code in sorted({*counts, *truth.answers}):
        if method != READ and code != UNANSWERED:
            most = truth.answers.get((method, code), 0)
            least = max(0, most - counts[method, UNANSWERED])
            yield from between(f"{ANSWERED} of {method} {code}", counts[method, code], least, most)
    yield from between(f"{ANSWERED} of {READ} 200", counts[READ, "200"], 1)


def measured_requests(scrape: Scrape, _: Truth) -> Iterator[str]:
    """Each answer is measured once, in time and in size; those to watches are not."""
    answers = scrape.by(ANSWERED, "method")
    without = scrape.by(ANSWERED, "method", code=UNANSWERED)
    durations = scrape.by(DURATIONS, "verb")
    for verb in sorted({*answers, *durations}):
        count, most = durations[verb], answers[verb] - without[verb]
        yield from between(f"{DURATIONS} of {verb[0]}", count, 0 if verb == (READ,) else most, most)
        for name in MEASURED:
            yield from exactly(f"{name} of {verb[0]}", scrape.sum(name, verb=verb[0]), count)
