"""Requests to the API server, as client-go counts them: ``rest_client_*``."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from scheduler_runtime.scheduling.metrics.exposition import Counter, Histogram, Metric, PlainCounter, Series

_LATENCY = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_SIZES = (64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0)


class Requests:
    """Those of one process, from its event loop. The elector has a thread of its own, and is not counted."""

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

    def for_host(self, host: str) -> RequestsTo:
        """Where requests to ``host`` are noted."""
        return RequestsTo(self._results, (self._waits, self._durations, self._sent, self._received), host)

    def metrics(self) -> Iterator[Metric]:
        """All of them."""
        yield from (self._results, self._durations, self._waits, self._sent, self._received)


class RequestsTo:
    """The requests to one host."""

    def __init__(self, results: Counter, spreads: tuple[Histogram, ...], host: str) -> None:
        self._results = results
        self._spreads = spreads
        self._host = host
        self._known: dict[tuple[int, str], tuple[PlainCounter, list[Series]]] = {}

    def count(self, code: int, verb: str, numbers: tuple[float, float, float, float] | None = None) -> None:
        """Note the end of a request; a ``code`` of 0 says that there was no answer.

        ``numbers`` are the seconds it waited for its turn, those until its answer, and the sizes of both.
        """
        known = self._known.get((code, verb))
        if known is None:
            tally = self._results.of(str(code) if code else "<error>", verb, self._host)
            known = self._known[code, verb] = tally, [each.of(verb, self._host) for each in self._spreads]
        known[0].number += 1
        if numbers is not None:
            waited, took, sent, received = known[1]
            waited.total += numbers[0]
            waited.counts[bisect_left(_LATENCY, numbers[0])] += 1
            took.total += numbers[1]
            took.counts[bisect_left(_LATENCY, numbers[1])] += 1
            sent.total += numbers[2]
            sent.counts[bisect_left(_SIZES, numbers[2])] += 1
            received.total += numbers[3]
            received.counts[bisect_left(_SIZES, numbers[3])] += 1
