"""Requests to the API server."""

from __future__ import annotations

from collections.abc import Iterator

from bench.soak.metrics.expected import Truth, between, exactly
from bench.soak.metrics.scrape import Scrape

ANSWERED = "rest_client_requests_total"
DURATIONS = "rest_client_request_duration_seconds_count"
MEASURED = (
    "rest_client_rate_limiter_duration_seconds_count",
    "rest_client_request_size_bytes_count",
    "rest_client_response_size_bytes_count",
)
UNANSWERED = "<error>"
READ = "GET"


def answered(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """What changes something was answered as the audit log has it. The server may answer who does not wait any more."""
    said = scrape.by(ANSWERED, "method", "code")
    for method, code in sorted({*said, *truth.answers}):
        if method != READ and code != UNANSWERED:
            most = truth.answers.get((method, code), 0)
            least = max(0, most - said[method, UNANSWERED])
            yield from between(f"{ANSWERED} of {method} {code}", said[method, code], least, most)
    yield from between(f"{ANSWERED} of {READ} 200", said[READ, "200"], 1)


def measured(scrape: Scrape, _: Truth) -> Iterator[str]:
    """Each answer is measured once, in time and in size; those to watches are not."""
    answers = scrape.by(ANSWERED, "method")
    without = scrape.by(ANSWERED, "method", code=UNANSWERED)
    durations = scrape.by(DURATIONS, "verb")
    for verb in sorted({*answers, *durations}):
        said, most = durations[verb], answers[verb] - without[verb]
        yield from between(f"{DURATIONS} of {verb[0]}", said, 0 if verb == (READ,) else most, most)
        for name in MEASURED:
            yield from exactly(f"{name} of {verb[0]}", scrape.sum(name, verb=verb[0]), said)
