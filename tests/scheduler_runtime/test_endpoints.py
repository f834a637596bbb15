"""What the process tells about itself over HTTP, even while its event loop is busy."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from dataclasses import replace

import pytest

from scheduler_runtime.endpoints import Endpoints, serving
from scheduler_runtime.metrics import Counter, Gauge, Histogram, Metrics, exposition

WELL = Endpoints(alive=lambda: None, ready=lambda: None, metrics=lambda: "m 1\n", config=lambda: {"hash": "h"})


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/livez", (200, "ok")),
        ("/healthz", (200, "ok")),
        ("/readyz?verbose", (200, "ok")),
        ("/metrics", (200, "m 1\n")),
        ("/configz", (200, json.dumps({"hash": "h"}))),
        ("/else", (404, "there are /livez, /readyz, /metrics and /configz\n")),
    ],
)
def test_each_path_has_its_answer(path: str, expected: tuple[int, str]) -> None:
    with serving(WELL, "127.0.0.1", 0) as port:
        assert get(port, path) == expected


def test_what_is_wrong_is_said_with_status_500() -> None:
    with serving(replace(WELL, ready=lambda: "pods are not listed yet"), "127.0.0.1", 0) as port:
        assert get(port, "/readyz") == (500, "pods are not listed yet\n")
        assert get(port, "/livez") == (200, "ok")
    with serving(replace(WELL, alive=lambda: "stuck"), "127.0.0.1", 0) as port:
        assert get(port, "/livez") == get(port, "/readyz") == (500, "stuck\n")


async def test_a_busy_event_loop_does_not_keep_anybody_waiting() -> None:
    import concurrent.futures

    with serving(WELL, "127.0.0.1", 0) as port, concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(get, port, "/livez")
        end = time.monotonic() + 5
        while not asked.done() and time.monotonic() < end:  # the loop of this test does nothing else
            pass
        assert asked.result(0) == (200, "ok")


def test_a_taken_port_is_an_error_of_the_system() -> None:
    with serving(WELL, "127.0.0.1", 0) as port, pytest.raises(OSError), serving(WELL, "127.0.0.1", port):  # noqa: PT011
        pass


def test_the_text_format_of_each_kind() -> None:
    counter = Counter("c_total", "Counts.", "who")
    counter.add('a"b\\')
    counter.add('a"b\\', amount=2)
    histogram = Histogram("h", "Spreads.", (0.1, 1.0))
    for number in (0.05, 0.1, 0.5, 7):
        histogram.observe(number)
    gauge = Gauge("g", "Shows.", lambda: {(("x", "y"),): 1.5})
    assert exposition([counter, histogram, gauge]).splitlines() == [
        "# HELP c_total Counts.",
        "# TYPE c_total counter",
        'c_total{who="a\\"b\\\\"} 3',
        "# HELP h Spreads.",
        "# TYPE h histogram",
        'h_bucket{le="0.1"} 2',
        'h_bucket{le="1.0"} 3',
        'h_bucket{le="+Inf"} 4',
        "h_sum 7.6500000000000004",
        "h_count 4",
        "# HELP g Shows.",
        "# TYPE g gauge",
        'g{x="y"} 1.5',
    ]


def test_attempts_are_counted_by_result_and_profile() -> None:
    metrics = Metrics()
    metrics.decided("scheduled", "p", 0.003)
    metrics.bound("p")
    metrics.decided("unschedulable", "p", 0.001)
    text = metrics.text()
    for line in (
        'scheduler_schedule_attempts_total{result="scheduled",profile="p"} 1',
        'scheduler_schedule_attempts_total{result="unschedulable",profile="p"} 1',
        'scheduler_scheduling_attempt_duration_seconds_bucket{result="scheduled",profile="p",le="0.002"} 0',
        'scheduler_scheduling_attempt_duration_seconds_bucket{result="scheduled",profile="p",le="0.004"} 1',
        "# TYPE process_cpu_seconds_total counter",
    ):
        assert line in text
