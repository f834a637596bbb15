"""What is counted can be read at any moment, by another thread too."""

from __future__ import annotations

from scheduler_runtime.metrics import Histogram, exposition


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
