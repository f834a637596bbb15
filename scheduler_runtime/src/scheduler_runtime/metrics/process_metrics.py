"""Metrics of the process: its requests, as client-go's ``rest_client_*``, and what every Prometheus client exports."""

from __future__ import annotations

import gc
import os
import resource
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

from scheduler_runtime.metrics.exposition import Counter, Gauge, Histogram, Metric, PlainCounter, Series, fixed_gauge

_LATENCY = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_SIZES = (64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0)
_STARTED_AT = time.time()
"""When this module was imported, at the start of the process."""


class RequestMetrics:
    """Requests from the event loop. The elector has a thread of its own, and its requests are not counted."""

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

    def for_host(self, host: str) -> HostRequests:
        """Return the object that counts the requests to ``host``."""
        return HostRequests(self._results, (self._waits, self._durations, self._sent, self._received), host)

    def metrics(self) -> Iterator[Metric]:
        """Return all of them."""
        yield from (self._results, self._durations, self._waits, self._sent, self._received)


class HostRequests:
    """The requests to one host."""

    def __init__(self, results: Counter, histograms: tuple[Histogram, ...], host: str) -> None:
        self._results = results
        self._histograms = histograms
        self._host = host
        self._series: dict[tuple[int, str], tuple[PlainCounter, list[Series]]] = {}
        """By status code and verb, so that the labels of a request are not made again for each one."""

    def count(self, code: int, verb: str, numbers: tuple[float, float, float, float] | None = None) -> None:
        """Count a request that ended; a ``code`` of 0 means that there was no answer.

        ``numbers`` are the seconds it waited for its turn, those until its answer, and the sizes of both.
        """
        series = self._series.get((code, verb))
        if series is None:
            counter = self._results.of(str(code) if code else "<error>", verb, self._host)
            histograms = [histogram.of(verb, self._host) for histogram in self._histograms]
            series = self._series[code, verb] = counter, histograms
        series[0].number += 1
        if numbers is not None:
            # Series.observe four times, without the calls: this runs for each request.
            waits, durations, sent, received = series[1]
            waits.total += numbers[0]
            waits.counts[bisect_left(_LATENCY, numbers[0])] += 1
            durations.total += numbers[1]
            durations.counts[bisect_left(_LATENCY, numbers[1])] += 1
            sent.total += numbers[2]
            sent.counts[bisect_left(_SIZES, numbers[2])] += 1
            received.total += numbers[3]
            received.counts[bisect_left(_SIZES, numbers[3])] += 1


def process_metrics() -> list[Gauge]:
    """Return the CPU time, memory, files, threads and objects of this process, as they are now."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    is_linux = sys.platform == "linux"
    sizes = Path("/proc/self/statm").read_text().split() if is_linux else ("0", "0")
    open_files = len(os.listdir("/proc/self/fd")) if is_linux else 0
    max_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    page = os.sysconf("SC_PAGE_SIZE")
    return [
        fixed_gauge(name, text, number, kind=kind)
        for name, text, number, kind in (
            ("process_cpu_seconds_total", "CPU time used.", usage.ru_utime + usage.ru_stime, "counter"),
            ("process_resident_memory_bytes", "Memory in use.", int(sizes[1]) * page, "gauge"),
            ("process_virtual_memory_bytes", "Addresses in use.", int(sizes[0]) * page, "gauge"),
            ("process_start_time_seconds", "When the process began.", _STARTED_AT, "gauge"),
            ("process_open_fds", "Open files and connections.", open_files, "gauge"),
            ("process_max_fds", "How many of them there may be.", max_files, "gauge"),
            ("python_threads", "Threads that run Python.", threading.active_count(), "gauge"),
            ("python_gc_objects", "Objects that the next collection looks at.", sum(gc.get_count()), "gauge"),
        )
    ]
