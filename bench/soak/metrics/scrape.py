"""Prometheus's text format, as it is read."""

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
"""How the samples of a histogram are called besides."""

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Spread:
    """One series of a histogram."""

    name: str
    buckets: list[tuple[float, float]] = field(default_factory=list)
    """How many are at most each bound, as they are written."""
    sum: float | None = None
    count: float | None = None


class Scrape:
    """What a page of metrics said once."""

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
        wanted = set(labels.items())
        found: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for (name, has), number in self.numbers.items():
            if name == metric and wanted <= set(has):
                values = dict(has)
                found[tuple(values.get(each, "") for each in groups)] += number
        return found

    def family(self, name: str) -> str:
        """What the sample called ``name`` belongs to."""
        whole = PARTS.sub("", name)
        return whole if self.kinds.get(whole) == "histogram" else name

    def spreads(self) -> Iterator[Spread]:
        """Every series of the histograms."""
        found: dict[tuple[str, Labels], Spread] = {}
        for (name, labels), number in self.numbers.items():
            family = self.family(name)
            if self.kinds.get(family) != "histogram":
                continue
            of = tuple(label for label in labels if label[0] != "le")
            spread = found.setdefault((family, of), Spread(written(family, of)))
            match name.removeprefix(family):
                case "_bucket":
                    spread.buckets.append((float(dict(labels)["le"]), number))
                case "_sum":
                    spread.sum = number
                case "_count":
                    spread.count = number
        yield from found.values()

    @property
    def series(self) -> int:
        """How many there are, a histogram's buckets not counted."""
        return sum(not any(label == "le" for label, _ in labels) for _, labels in self.numbers)

    @property
    def unbounded(self) -> set[str]:
        """The metrics with a label that names a pod or a node."""
        return {
            name for name, labels in self.numbers for label, value in labels if label != "le" and UNBOUNDED.match(value)
        }


def written(name: str, labels: Labels) -> str:
    """A series as people write it."""
    inside = ",".join(f'{label}="{value}"' for label, value in labels)
    return f"{name}{{{inside}}}" if inside else name
