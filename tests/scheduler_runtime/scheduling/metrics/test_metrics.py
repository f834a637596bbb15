"""Metrics can be read at any moment, by another thread too."""

from __future__ import annotations

from scheduler_runtime.scheduling.metrics import Attempt, Counter, Gauge, Histogram, Metrics, exponential, exposition
from scheduler_runtime.scheduling.metrics.exposition import format_number
from scheduler_runtime.serving.metrics_pages import HealthMetrics


def test_a_first_observation_is_seen_whole_or_not_at_all() -> None:
    durations = Histogram("seconds", "How long.", (1.0,), "result")
    series = durations.of("scheduled")
    assert 'seconds_count{result="scheduled"} 0' in exposition([durations])
    series.observe(0.5)
    assert 'seconds_count{result="scheduled"} 1' in exposition([durations])


def test_bounds_and_numbers_are_written_as_go_writes_them() -> None:
    assert [
        format_number(number) for number in (0, 1.0, 0.00001, 16.384, 262144, 16777216.0, 1000000, -1234567.5, 1e21)
    ] == [
        *("0", "1", "1e-05", "16.384", "262144", "1.6777216e+07", "1e+06", "-1.2345675e+06", "1e+21"),
    ]
    assert exponential(0.00001, 1.5, 3) == (0.00001, 0.000015000000000000002, 0.000022500000000000005)


def test_what_has_no_numbers_yet_and_what_is_not_wanted_is_not_shown() -> None:
    assert exposition([Counter("by_label", "Counts.", "label"), Counter("other", "Counts.")], ["other"]) == ""


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
        'h_bucket{le="1"} 3',
        'h_bucket{le="+Inf"} 4',
        "h_sum 7.65",
        "h_count 4",
        "# HELP g Shows.",
        "# TYPE g gauge",
        'g{x="y"} 1.5',
    ]


def lines(metrics: Metrics, name: str) -> list[str]:
    return [line.removeprefix(name) for line in metrics.text().splitlines() if line.startswith(name)]


def test_a_bound_pod_is_measured_from_its_taking_and_from_its_first_waiting() -> None:
    metrics = Metrics()
    metrics.observe_scheduled("p", Attempt(began=10.0, number=2, waits_since=4.0, after_flush=True), 10.5)
    assert lines(metrics, "scheduler_schedule_attempts_total") == ['{result="scheduled",profile="p"} 1']
    assert lines(metrics, "scheduler_scheduling_attempt_duration_seconds_sum") == [
        '{result="scheduled",profile="p"} 0.5'
    ]
    assert lines(metrics, "scheduler_pod_scheduling_sli_duration_seconds_sum") == ['{attempts="2"} 6.5']
    assert lines(metrics, "scheduler_pod_scheduling_attempts_sum") == [" 2"]
    assert lines(metrics, "scheduler_pod_scheduled_after_flush_total") == [" 1"]


def test_more_than_fourteen_attempts_are_one_label() -> None:
    metrics = Metrics()
    for number in (14, 15, 16):
        metrics.observe_scheduled("p", Attempt(0.0, number), 1.0)
    assert lines(metrics, "scheduler_pod_scheduling_sli_duration_seconds_count") == [
        '{attempts="14"} 1',
        '{attempts="15+"} 2',
    ]
    assert len(metrics._sli_series) == 2


def test_a_metric_can_be_left_out() -> None:
    assert lines(Metrics(), "scheduler_preemption_attempts_total") == [" 0"]
    assert lines(Metrics(["scheduler_preemption_attempts_total"]), "scheduler_preemption_attempts_total") == []


def test_requests_are_counted_by_their_end_and_measured_by_their_verb() -> None:
    metrics = Metrics()
    to = metrics.requests.for_host("host:6443")
    to.count(201, "POST", (0.0, 0.02, 300, 900))
    to.count(0, "POST")
    assert lines(metrics, "rest_client_requests_total") == [
        '{code="201",method="POST",host="host:6443"} 1',
        '{code="<error>",method="POST",host="host:6443"} 1',
    ]
    assert lines(metrics, "rest_client_request_duration_seconds_sum") == ['{verb="POST",host="host:6443"} 0.02']
    assert lines(metrics, "rest_client_request_size_bytes_sum") == ['{verb="POST",host="host:6443"} 300']


def test_results_of_health_checks_are_told() -> None:
    health = HealthMetrics()
    health.observe("ping", "livez", True)
    health.observe("ping", "livez", False)
    assert 'kubernetes_healthcheck{name="ping",type="livez"} 0' in health.text()
    assert 'kubernetes_healthchecks_total{name="ping",type="livez",status="error"} 1' in health.text()
