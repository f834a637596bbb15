"""What is counted can be read at any moment, by another thread too."""

from __future__ import annotations

from scheduler_runtime.metrics import Counter, Gauge, Histogram, exposition


def test_a_scrape_between_the_writes_of_a_first_observation_is_whole() -> None:
    durations = Histogram("seconds", "How long.", (1.0,), "result")
    scraped: list[str] = []

    class Counts(dict[tuple[str, ...], list[int]]):
        """Is scraped at the moment when its first number is there."""

        def __setitem__(self, key: tuple[str, ...], value: list[int]) -> None:
            super().__setitem__(key, value)
            scraped.append(exposition([durations]))

    durations._counts = Counts()
    durations.observe(0.5, "scheduled")
    assert 'seconds_count{result="scheduled"} 0' in scraped[0]
    assert 'seconds_count{result="scheduled"} 1' in exposition([durations])


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
