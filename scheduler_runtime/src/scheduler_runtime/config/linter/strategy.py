"""What kube-scheduler's scorers give two nodes that differ in nothing but how full they are.

Numbers are percent of a node. The arithmetic is upstream's, rounding included, so that totals are real totals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from scheduler_runtime.catalog.args import ResourceSpec, ScoringStrategy, UtilizationShapePoint

MAX_SCORE = 100
CLEARLY = 20
"""How many points of the strategy's own score make one node clearly the better one to it."""

_STEPS = range(0, MAX_SCORE, 10)
_HOSTNAME_SKEW, _NODES = 3, 2


@dataclass(frozen=True, slots=True)
class Load:
    """How full a node is: its first resource, and all its others."""

    first: int
    others: int

    def plus(self, pod: Load) -> Load:
        """The node with ``pod`` on it."""
        return Load(self.first + pod.first, self.others + pod.others)

    def of(self, resource: str, first: str) -> int:
        """How full it is in ``resource``."""
        return self.first if resource == first else self.others


PODS = (Load(10, 10), Load(30, 10))
"""The pods that are tried: an even one, and one that asks for more of the first resource."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each scorer counts; 0 when it does not run."""

    fit: int
    balance: int
    spread: int


@dataclass(frozen=True, slots=True)
class Node:
    """A node and what it scores."""

    load: Load
    fullness: int
    """How full it is in what the strategy looks at, by the strategy's weights."""
    fit: int
    balance: int
    spread: int

    def total(self, weights: Weights) -> int:
        """What decides."""
        return weights.fit * self.fit + weights.balance * self.balance + weights.spread * self.spread


@dataclass(frozen=True, slots=True)
class Scorers:
    """The arguments of the two scorers that look at resources, and which of their formulas is meant."""

    strategy: ScoringStrategy
    balanced: tuple[str, ...]
    first: str
    rewards_change: bool
    """Since 1.36 balance is judged by how the pod changes it, before that by what it becomes."""

    def node(self, load: Load, pod: Load, replica: bool) -> Node:
        """The node with the scores that it gets for ``pod``."""
        after = load.plus(pod)
        return Node(load, self.fullness(load), self.fit(after), self.balance(load, after), spread_scores()[replica])

    def fit(self, after: Load) -> int:
        """What NodeResourcesFit gives."""
        score = _scorer(self.strategy)
        scores = [(score(after.of(spec.name, self.first)), spec) for spec in self.strategy.resources]
        if self.strategy.type == "RequestedToCapacityRatio":
            scores = [(score, spec) for score, spec in scores if score > 0]
            return _rounded(scores)
        return sum(score * spec.weight for score, spec in scores) // sum(spec.weight for _, spec in scores)

    def balance(self, before: Load, after: Load) -> int:
        """What NodeResourcesBalancedAllocation gives."""
        became = self._evenness(after)
        if not self.rewards_change:
            return became
        return MAX_SCORE // 2 + int((MAX_SCORE // 2 + became - self._evenness(before)) / 2)

    def fullness(self, load: Load) -> int:
        """How full a node is to the strategy."""
        return sum(spec.weight * load.of(spec.name, self.first) for spec in self.strategy.resources)

    def _evenness(self, load: Load) -> int:
        used = [load.of(name, self.first) / MAX_SCORE for name in self.balanced]
        if not used:
            return 0
        mean = sum(used) / len(used)
        deviation = math.sqrt(sum((each - mean) ** 2 for each in used) / len(used))
        if len(used) == _NODES:
            deviation = abs((used[0] - used[1]) / 2)
        return int((1 - deviation) * MAX_SCORE)


def _rounded(scores: Sequence[tuple[int, ResourceSpec]]) -> int:
    weight = sum(spec.weight for _, spec in scores)
    return math.floor(sum(score * spec.weight for score, spec in scores) / weight + 0.5) if weight else 0


def _scorer(strategy: ScoringStrategy) -> Callable[[int], int]:
    if strategy.requested_to_capacity_ratio is not None:
        shape = strategy.requested_to_capacity_ratio.shape
        return lambda used: broken_line(shape, used)
    if strategy.type == "MostAllocated":
        return lambda used: used
    return lambda used: MAX_SCORE - used


def broken_line(shape: Sequence[UtilizationShapePoint], used: int) -> int:
    """The score, from 0 to 100, of a utilization on the line through the points of ``shape``."""
    for before, here in zip((None, *shape), shape, strict=False):
        if used <= here.utilization:
            if before is None:
                return here.score * 10
            rise, run = (here.score - before.score) * 10, here.utilization - before.utilization
            return before.score * 10 + int(rise * (used - before.utilization) / run)
    return shape[-1].score * 10


def spread_scores() -> tuple[int, int]:
    """What PodTopologySpread gives, by default, a node without a replica and one with a replica."""
    weight = math.log(_NODES + 2)
    without, having = (round(replicas * weight + _HOSTNAME_SKEW - 1) for replicas in (0, 1))
    return MAX_SCORE, MAX_SCORE * (having + without - having) // having


def outvoted(scorers: Scorers, weights: Weights) -> Iterator[tuple[Node, Node, Load]]:
    """Pairs of a fuller node that the strategy clearly prefers, and an emptier one that wins, each for a pod."""
    for pod, full, empty in _candidates(scorers):
        rivals = [(node, node.total(weights)) for node in empty]
        for fuller in full:
            total = fuller.total(weights)
            for emptier, more in rivals:
                if total < more and fuller.fit - emptier.fit >= CLEARLY and fuller.fullness > emptier.fullness:
                    yield fuller, emptier, pod


@lru_cache(maxsize=64)
def _candidates(scorers: Scorers) -> tuple[tuple[Load, tuple[Node, ...], tuple[Node, ...]], ...]:
    """For each pod the nodes that it fits, once with the only replica and once without."""
    return tuple((pod, _nodes(scorers, pod, replica=True), _nodes(scorers, pod, replica=False)) for pod in PODS)


def _nodes(scorers: Scorers, pod: Load, *, replica: bool) -> tuple[Node, ...]:
    loads = (Load(first, others) for first in _STEPS for others in _STEPS)
    return tuple(
        scorers.node(load, pod, replica=replica)
        for load in loads
        if max(load.plus(pod).first, load.plus(pod).others) <= MAX_SCORE
    )
