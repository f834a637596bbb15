"""Costs and their noise from the samples of both schedulers, and what is against the promise.

No object may cost more than three times what it costs kube-scheduler. And the cost of a list, which is what an object
costs above an ordinary one, may not grow faster: from one size to the next, ours may not be multiplied by more than
theirs.

Both are judged with the noise of this very run on the side of ours. It has two parts. The same amount for all: the
largest distance of an ordinary object, measured again and again, from its median; events, garbage collections and
timers cause it. And a share of the cost: the median difference of two repetitions; the machine causes it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.cost.beside import CostCase, Samples

MOST_TIMES = 3
"""So many times kube-scheduler's CPU ours may be."""
SMALL_MILLISECONDS = 1.0
"""Not judged: a pod takes the API server some milliseconds, so nobody can make so many of these that they matter."""
MEASURED = 4
"""A cost of so many times its noise is measured well enough to be divided by."""


@dataclass(frozen=True, slots=True)
class Noise:
    """How far a measurement may be from what it measures."""

    milliseconds: float
    share: float

    @classmethod
    def of(cls, samples: Samples) -> Noise:
        """The noise of these samples, ordinary objects among them."""
        ordinary = [values for case, values in samples.items() if not case.entries and len(values) > 1]
        distances = [abs(value - statistics.median(values)) for values in ordinary for value in values]
        milliseconds = max(distances, default=0.0)
        several = [values for case, values in samples.items() if case.entries and len(values) > 1]
        # Small costs differ by the part above.
        shares = [
            (max(values) - min(values)) / max(values) for values in several if min(values) > MEASURED * milliseconds
        ]
        return cls(milliseconds, statistics.median(shares) if shares else 0.0)

    def around(self, cost: float) -> float:
        """The noise of a cost."""
        return self.milliseconds + self.share * cost


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of CPU, the least of several times; ``list_cost`` is what an ordinary object does not cost."""

    least: float
    list_cost: float
    noise: float

    @property
    def at_least(self) -> float:
        return max(self.list_cost - self.noise, 0.0)

    @property
    def at_most(self) -> float:
        return max(self.list_cost, 0.0) + self.noise


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of one case, both schedulers'."""

    case: CostCase
    theirs: Cost
    ours: Cost

    @property
    def ratio(self) -> float:
        return self.ours.least / max(self.theirs.least, 0.1)

    @property
    def is_too_much(self) -> bool:
        """True if ours is above the limit by more than the noise of both."""
        above = self.ours.least - MOST_TIMES * self.theirs.least
        return above > max(self.ours.noise + MOST_TIMES * self.theirs.noise, SMALL_MILLISECONDS)


def grows_faster(small: Costs, large: Costs) -> bool:
    """True if the cost of the list is multiplied by more than theirs from one size to the next.

    Where theirs is too small to be measured, it is taken to grow as the list does: every entry is read.
    """
    if large.ours.list_cost <= SMALL_MILLISECONDS:
        return False
    theirs = large.case.entries / small.case.entries
    if small.theirs.list_cost > MEASURED * small.theirs.noise:
        theirs = large.theirs.at_most / small.theirs.at_least
    return large.ours.at_least / small.ours.at_most > theirs


def costs(theirs: Samples, ours: Samples) -> tuple[list[Costs], Noise, Noise]:
    """The costs of all cases with a list, and the noise of both."""
    noises = Noise.of(theirs), Noise.of(ours)
    rows = [Costs(case, _cost(theirs, case, noises[0]), _cost(ours, case, noises[1])) for case in ours if case.entries]
    return rows, *noises


def _cost(samples: Samples, case: CostCase, noise: Noise) -> Cost:
    least = min(samples[case])
    ordinary = statistics.median(samples[CostCase(case.list.kind, case.way, 0)])
    return Cost(least, least - ordinary, noise.around(least))


def faults(rows: Sequence[Costs]) -> list[str]:
    """What is against the promise, a sentence each; ``rows`` are those of each shape and way, by growing size."""
    sentences = [
        f"{row.case.shape}, {row.case.way}, {row.case.entries} entries: {row.ours.least:.1f} ms of CPU,"
        f" more than {MOST_TIMES} times kube-scheduler's {row.theirs.least:.1f} ms"
        for row in rows
        if row.is_too_much
    ]
    return [*sentences, *_growth_faults(rows)]


def _growth_faults(rows: Sequence[Costs]) -> Iterator[str]:
    for small, large in pairwise(rows):
        is_same_list = (small.case.shape, small.case.way) == (large.case.shape, large.case.way)
        if is_same_list and grows_faster(small, large):
            yield (
                f"{large.case.shape}, {large.case.way}: from {small.case.entries} to {large.case.entries} entries"
                f" {small.ours.list_cost:.1f} ms become {large.ours.list_cost:.1f}; kube-scheduler's"
                f" {small.theirs.list_cost:.1f} become {large.theirs.list_cost:.1f}"
            )
