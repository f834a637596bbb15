"""Metrics can be read at any moment, by another thread too."""

from __future__ import annotations

from scheduler_runtime.metrics import Counter, Gauge, Histogram, exponential, exposition
from scheduler_runtime.metrics.exposition import format_number


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
