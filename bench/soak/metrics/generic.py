"""Rules for every number of every process."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from bench.soak.metrics.expected import Truth
from bench.soak.metrics.scrape import HistogramSeries, Scrape, series_text

ROUNDED = 1e-6
"""The allowed error of a sum, from adding up."""


def impossible_values(scrape: Scrape) -> Iterator[str]:
    """Values and labels that no metric may have."""
    for (name, labels), number in scrape.numbers.items():
        if not math.isfinite(number) or number < 0:
            yield f"{series_text(name, labels)} is {number:g}"
    for name in sorted(scrape.unbounded):
        yield f"{name} has a label that names pods or nodes"


def bad_histograms(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Histograms whose parts contradict each other, and times longer than the process lives."""
    for histogram in scrape.histograms():
        counts = [count for _, count in histogram.buckets]
        if histogram.count is None or histogram.sum is None or not counts or not math.isinf(histogram.buckets[-1][0]):
            yield f"{histogram.name} lacks its sum, its count or a bucket without bound"
        elif any(before > after for before, after in pairwise(counts)):
            yield f"{histogram.name} has buckets that hold less than those before them"
        elif counts[-1] != histogram.count:
            yield f"{histogram.name} counts {histogram.count:g}, and {counts[-1]:g} in its buckets"
        else:
            longest = truth.after.age_seconds if "_seconds" in histogram.name else math.inf
            yield from _sum_is_possible(histogram, histogram.sum, longest)


def _sum_is_possible(histogram: HistogramSeries, total: float, longest: float) -> Iterator[str]:
    """A sum that is impossible: each counted value lies between the bounds of its bucket."""
    least = most = lower = before = 0.0
    for upper, upto in histogram.buckets:
        many, before = upto - before, upto
        if many:
            least += many * lower
            most += many * min(upper, max(longest, lower))
        lower = upper
    if not least * (1 - ROUNDED) <= total <= most * (1 + ROUNDED):
        yield f"{histogram.name} adds up to {total:g}, and by its buckets to {least:g} to {most:g}"


def decreased_counters(scrape: Scrape, before: Scrape) -> Iterator[str]:
    """Counters and histograms that have decreased since ``before``, in the same process."""
    for (name, labels), number in before.numbers.items():
        now = scrape.numbers.get((name, labels), 0.0)
        if before.kinds.get(before.family(name)) in ("counter", "histogram") and now < number:
            yield f"{series_text(name, labels)} was {number:g} before and is {now:g}"
