"""Metrics that every process exports of itself and of its requests."""

from __future__ import annotations

from scheduler_runtime.metrics import RequestMetrics, exposition


def lines(metrics: RequestMetrics, name: str) -> list[str]:
    text = exposition(metrics.metrics())
    return [line.removeprefix(name) for line in text.splitlines() if line.startswith(name)]


def test_requests_are_counted_by_their_end_and_measured_by_their_verb() -> None:
    metrics = RequestMetrics()
    to = metrics.for_host("host:6443")
    to.count(201, "POST", (0.0, 0.02, 300, 900))
    to.count(0, "POST")
    assert lines(metrics, "rest_client_requests_total") == [
        '{code="201",method="POST",host="host:6443"} 1',
        '{code="<error>",method="POST",host="host:6443"} 1',
    ]
    assert lines(metrics, "rest_client_request_duration_seconds_sum") == ['{verb="POST",host="host:6443"} 0.02']
    assert lines(metrics, "rest_client_request_size_bytes_sum") == ['{verb="POST",host="host:6443"} 300']
