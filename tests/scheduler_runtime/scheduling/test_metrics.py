"""The attempts of a pod, as the metrics of a scheduler show them."""

from __future__ import annotations

from scheduler_runtime.scheduling.metrics import Attempt, Metrics


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
