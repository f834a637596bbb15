"""Requests to the API server, as client-go counts them: ``rest_client_*``."""

from __future__ import annotations

from collections.abc import Iterator

from .kinds import Counter, Histogram, Metric, Series, Tally

_LATENCY = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_SIZES = (64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0)


class Requests:
    """Counts of one process. Safe for the event loop only."""

    def __init__(self) -> None:
        of_request = ("verb", "host")
        self._results = Counter(
            "rest_client_requests_total", "Requests, by the status of their answers.", "code", "method", "host"
        )
        self._durations = Histogram(
            "rest_client_request_duration_seconds", "How long answers took.", _LATENCY, *of_request
        )
        self._waits = Histogram(
            "rest_client_rate_limiter_duration_seconds",
            "How long requests waited for their turn.",
            _LATENCY,
            *of_request,
        )
        self._sent = Histogram("rest_client_request_size_bytes", "How large requests were.", _SIZES, *of_request)
        self._received = Histogram("rest_client_response_size_bytes", "How large answers were.", _SIZES, *of_request)
        self._by_verb: dict[tuple[str, str], list[Series]] = {}
        self._by_code: dict[tuple[int, str, str], Tally] = {}

    def answered(self, code: int, verb: str, host: str) -> None:
        """Count an answer; a ``code`` of 0 says that there was none."""
        key = (code, verb, host)
        tally = self._by_code.get(key)
        if tally is None:
            tally = self._by_code[key] = self._results.of(str(code) if code else "<error>", verb, host)
        tally.number += 1

    def took(self, verb: str, host: str, waited: float, seconds: float, sent: int, received: int) -> None:
        """Note how long one request waited for its turn and then for its answer, and how large both were."""
        found = self._by_verb.get((verb, host))
        if found is None:
            kinds = (self._waits, self._durations, self._sent, self._received)
            found = self._by_verb[verb, host] = [kind.of(verb, host) for kind in kinds]
        for series, number in zip(found, (waited, seconds, sent, received), strict=True):
            series.observe(number)

    def metrics(self) -> Iterator[Metric]:
        """All of them."""
        yield from (self._results, self._durations, self._waits, self._sent, self._received)
