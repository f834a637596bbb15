"""Counters, gauges and histograms, and the text format of Prometheus.

    durations = Histogram("request_seconds", "How long requests took.", (0.1, 1.0, 10.0), "verb")
    durations.observe(0.2, "GET")
    of_get = durations.of("GET")  # code that counts often keeps the series, and its labels are not looked up each time
    of_get.observe(0.3)
    page = exposition([durations])

ADR 15 says why this is not prometheus_client.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Protocol

Labels = tuple[tuple[str, str], ...]
"""The names and values of labels, in the order in which they are written."""
Sample = tuple[str, Labels, float]
"""One line of the text format: a name, its labels, and the number."""
Samples = Mapping[Labels, float]
"""The numbers of one metric, one per combination of labels."""


class Metric(Protocol):
    """A metric that is exported."""

    name: str
    text: str
    """What it measures, for people: the HELP line."""
    kind: str
    """The TYPE line: counter, gauge or histogram."""

    def samples(self) -> Iterator[Sample]:
        """Return every number there is now. Called by another thread than the one that counts."""
        ...


class PlainCounter:
    """One number that only grows, for code that counts often and adds to it directly."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0.0

    def add(self, amount: float = 1) -> None:
        """Count ``amount`` more."""
        self.number += amount


class Counter:
    """Numbers that only grow, one per combination of labels."""

    kind = "counter"

    def __init__(self, name: str, text: str, *labels: str) -> None:
        """``labels`` are the names of its labels. Without any it is shown from the start, as 0."""
        self.name = name
        self.text = text
        self._labels = labels
        self._counters: dict[tuple[str, ...], PlainCounter] = {}
        if not labels:
            self.of()

    def of(self, *values: str) -> PlainCounter:
        """Return the number for these values of the labels, for code that counts often."""
        counter = self._counters.get(values)
        if counter is None:
            counter = self._counters[values] = PlainCounter()
        return counter

    def add(self, *values: str, amount: float = 1) -> None:
        """Count ``amount`` more for these values of the labels."""
        self.of(*values).number += amount

    def samples(self) -> Iterator[Sample]:
        """Return every number there is now."""
        # A copy, here and in Histogram: the event loop may add a combination of labels meanwhile.
        for values, counter in list(self._counters.items()):
            yield self.name, tuple(zip(self._labels, values, strict=True)), counter.number


class Gauge:
    """Numbers that are read at each scrape."""

    def __init__(self, name: str, text: str, read: Callable[[], Samples], kind: str = "gauge") -> None:
        """``read`` is called in the thread of the scrape. ``kind`` is "counter" for numbers that only grow."""
        self.name = name
        self.text = text
        self.kind = kind
        self._read = read

    def samples(self) -> Iterator[Sample]:
        """Return the numbers as they are now."""
        for labels, number in self._read().items():
            yield self.name, labels, number


def fixed_gauge(name: str, text: str, number: float, *labels: tuple[str, str], kind: str = "gauge") -> Gauge:
    """Return a gauge that shows ``number``, for metrics that are made anew at each scrape."""
    samples: Samples = {labels: float(number)}
    return Gauge(name, text, lambda: samples, kind)


class Series:
    """Counts of numbers by the bounds between which they fall, for one combination of labels."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, number: float) -> None:
        """Count ``number``."""
        # Another thread may read in between, and then sees the sum without the count: nobody notices that.
        self.total += number
        self.counts[bisect_left(self.bounds, number)] += 1


class Histogram:
    """The distribution of a number, one series per combination of labels."""

    kind = "histogram"

    def __init__(self, name: str, text: str, bounds: tuple[float, ...], *labels: str) -> None:
        """``bounds`` are the upper ends of its buckets, without infinity; ``labels`` the names of its labels."""
        self.name = name
        self.text = text
        self._bounds = bounds
        self._labels = labels
        self._series: dict[tuple[str, ...], Series] = {}
        if not labels:
            self.of()

    def of(self, *values: str) -> Series:
        """Return the series for these values of the labels, for code that observes often."""
        series = self._series.get(values)
        if series is None:
            series = self._series[values] = Series(self._bounds)
        return series

    def observe(self, number: float, *values: str) -> None:
        """Count ``number`` for these values of the labels."""
        self.of(*values).observe(number)

    def samples(self) -> Iterator[Sample]:
        """Return every number there is now. The count is computed from the buckets, so that both always agree."""
        bounds = [*map(format_number, self._bounds), "+Inf"]
        for values, series in list(self._series.items()):
            labels = tuple(zip(self._labels, values, strict=True))
            cumulative = list(accumulate(series.counts))
            for bound, number in zip(bounds, cumulative, strict=True):
                yield f"{self.name}_bucket", (*labels, ("le", bound)), number
            yield f"{self.name}_sum", labels, series.total
            yield f"{self.name}_count", labels, cumulative[-1]


def exponential(first: float, factor: float, count: int) -> tuple[float, ...]:
    """Return bounds that grow by ``factor``, to the last bit those that Go's client computes."""
    bounds, bound = [], first
    for _ in range(count):
        bounds.append(bound)
        bound *= factor
    return tuple(bounds)


def exposition(metrics: Iterable[Metric], without: Collection[str] = ()) -> str:
    """Return ``metrics`` in Prometheus's text format, without those in ``without`` and those without numbers."""
    lines: list[str] = []
    for metric in metrics:
        samples = [] if metric.name in without else list(metric.samples())
        if samples:
            lines += [f"# HELP {metric.name} {_escaped(metric.text)}", f"# TYPE {metric.name} {metric.kind}"]
            lines += [f"{name}{_braces(labels)} {format_number(number)}" for name, labels, number in samples]
    return "".join(f"{line}\n" for line in lines)


def format_number(number: float) -> str:
    """Format a number as Go does: the shortest digits that read back as it, with an exponent from a million on."""
    text = repr(float(number)).removesuffix(".0")
    if not 1e6 <= abs(number) < 1e16:
        return text
    digits = text.lstrip("-").partition(".")
    mantissa = (digits[0] + digits[2]).rstrip("0")
    sign, point = "-" if number < 0 else "", "." if len(mantissa) > 1 else ""
    return f"{sign}{mantissa[0]}{point}{mantissa[1:]}e+{len(digits[0]) - 1:02}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _braces(labels: Labels) -> str:
    if not labels:
        return ""
    escaped = ((name, _escaped(value).replace('"', '\\"')) for name, value in labels)
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"
