"""A reader of Prometheus's text format."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

SAMPLE = re.compile(r"(?P<name>\w+)(?:\{(?P<labels>.*)\})? (?P<number>\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
UNBOUNDED = re.compile(r"soak-[a-z]+-\d+|kwok-\d+|[0-9a-f]{8}-[0-9a-f]{4}-")
"""Values of labels that would make the metrics grow with the cluster: names of pods and nodes, and uids."""
PARTS = re.compile(r"_(?:bucket|sum|count)$")
"""The suffixes of a histogram's samples."""

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class HistogramSeries:
    """One series of a histogram."""

    name: str
    buckets: list[tuple[float, float]] = field(default_factory=list)
    """The cumulative count up to each bound, in the order of the page."""
    sum: float | None = None
    count: float | None = None


class Scrape:
    """One reading of a page of metrics."""

    def __init__(self, text: str) -> None:
        self.numbers: dict[tuple[str, Labels], float] = {}
        self.kinds: dict[str, str] = {}
        """The type of each family that has one."""
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                name, kind = line.split()[2:]
                self.kinds[name] = kind
            elif (sample := SAMPLE.fullmatch(line)) and not line.startswith("#"):
                labels = tuple(LABEL.findall(sample["labels"] or ""))
                self.numbers[sample["name"], labels] = float(sample["number"])

    def sum(self, metric: str, /, **labels: str) -> float:
        """The sum of the samples called ``metric`` with these labels."""
        return sum(self.by(metric, **labels).values())

    def by(self, metric: str, /, *groups: str, **labels: str) -> defaultdict[tuple[str, ...], float]:
        """The sums of the samples called ``metric`` with these labels, by the values of the labels in ``groups``."""
        required = set(labels.items())
        sums: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for (name, all_labels), number in self.numbers.items():
            if name == metric and required <= set(all_labels):
                values = dict(all_labels)
                sums[tuple(values.get(group, "") for group in groups)] += number
        return sums

    def family(self, name: str) -> str:
        """The family of the sample called ``name``."""
        whole = PARTS.sub("", name)
        return whole if self.kinds.get(whole) == "histogram" else name

    def histograms(self) -> Iterator[HistogramSeries]:
        """Every series of the histograms."""
        histograms: dict[tuple[str, Labels], HistogramSeries] = {}
        for (name, labels), number in self.numbers.items():
            family = self.family(name)
            if self.kinds.get(family) != "histogram":
                continue
            of = tuple(label for label in labels if label[0] != "le")
            histogram = histograms.setdefault((family, of), HistogramSeries(series_text(family, of)))
            match name.removeprefix(family):
                case "_bucket":
                    histogram.buckets.append((float(dict(labels)["le"]), number))
                case "_sum":
                    histogram.sum = number
                case "_count":
                    histogram.count = number
        yield from histograms.values()

    @property
    def series(self) -> int:
        """The number of series, without the buckets of histograms."""
        return sum(not any(label == "le" for label, _ in labels) for _, labels in self.numbers)

    @property
    def unbounded(self) -> set[str]:
        """The metrics with a label that names a pod or a node."""
        return {
            name for name, labels in self.numbers for label, value in labels if label != "le" and UNBOUNDED.match(value)
        }


def series_text(name: str, labels: Labels) -> str:
    """A series as text: ``name{label="value"}``."""
    inside = ",".join(f'{label}="{value}"' for label, value in labels)
    return f"{name}{{{inside}}}" if inside else name
