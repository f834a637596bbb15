"""StrategyOutvoted: a scoring strategy prefers fuller nodes, and the other scorers together outvote it.

Scores of two nodes that differ in nothing but how full they are. Numbers are percent of a node. The arithmetic is
upstream's, rounding included, so that the totals in the finding are real totals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from scheduler_runtime.catalog.args import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ScoringStrategy,
    UtilizationShapePoint,
)
from scheduler_runtime.config.linter.checks import Match, Severity, check
from scheduler_runtime.config.linter.inputs import EffectiveInput
from scheduler_runtime.config.linter.suggested_fixes import Fix, FixLine, either, without

_FIT, _BALANCE, _SPREAD = "NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread"
MAX_SCORE = 100
CLEARLY = 20
"""The difference in the strategy's own score from which one node is clearly the better one."""
_STEPS = range(0, MAX_SCORE, 10)
_HOSTNAME_SKEW, _NODES = 3, 2
_CPUS, _GIBIBYTES, _DEVICES = 10, 40, 10
"""The sizes of the nodes in the message."""
_HEAVIEST = 100


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """The share of a node in use: of its first resource, and of all its others."""

    first: int
    others: int

    def plus(self, pod: NodeLoad) -> NodeLoad:
        """Return the load of the node with ``pod`` on it."""
        return NodeLoad(self.first + pod.first, self.others + pod.others)

    def of(self, resource: str, first: str) -> int:
        """Return the share of ``resource`` in use, where ``first`` is the first resource."""
        return self.first if resource == first else self.others


PODS = (NodeLoad(10, 10), NodeLoad(30, 10))
"""The pods that are tried: an even one, and one that requests more of the first resource."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each scorer; 0 when it does not run."""

    fit: int
    balance: int
    spread: int


@dataclass(frozen=True, slots=True)
class ScoredNode:
    """A node and its scores."""

    load: NodeLoad
    fullness: int
    """Its load in the resources of the strategy, by their weights."""
    fit: int
    balance: int
    spread: int

    def total(self, weights: Weights) -> int:
        """Return the weighted sum, which decides."""
        return weights.fit * self.fit + weights.balance * self.balance + weights.spread * self.spread

    def explain_total(self, weights: Weights) -> str:
        """Return the sum as a calculation: ``1×80 fit + 1×90 balance = 170``."""
        terms = (
            (weights.fit, self.fit, "fit"),
            (weights.balance, self.balance, "balance"),
            (weights.spread, self.spread, "spread"),
        )
        sum_of_terms = " + ".join(f"{weight}×{score} {name}" for weight, score, name in terms if weight)
        return f"{sum_of_terms} = {self.total(weights)}"


@dataclass(frozen=True, slots=True)
class Scorers:
    """The arguments of the two scorers that look at resources, and the formula of the second."""

    strategy: ScoringStrategy
    balanced: tuple[str, ...]
    first: str
    rewards_change: bool
    """Since 1.36 balance is judged by how the pod changes it, before that by its value with the pod."""

    def node(self, load: NodeLoad, pod: NodeLoad, replica: bool) -> ScoredNode:
        """Return the node with the scores that it gets for ``pod``; with ``replica`` it has a replica of the pod."""
        after = load.plus(pod)
        resources = self.strategy.resources
        fullness = sum(spec.weight * load.of(spec.name, self.first) for spec in resources)
        return ScoredNode(load, fullness, self.fit(after), self.balance(load, after), spread_scores()[replica])

    def fit(self, after: NodeLoad) -> int:
        """Return the score of NodeResourcesFit."""
        score = _score_function(self.strategy)
        scores = [(score(after.of(spec.name, self.first)), spec.weight) for spec in self.strategy.resources]
        if self.strategy.type != "RequestedToCapacityRatio":
            return sum(score * weight for score, weight in scores) // sum(weight for _, weight in scores)
        # As upstream, a resource that scores 0 does not count, and the mean is rounded instead of cut.
        total = sum(weight for score, weight in scores if score > 0)
        return math.floor(sum(score * weight for score, weight in scores) / total + 0.5) if total else 0

    def balance(self, before: NodeLoad, after: NodeLoad) -> int:
        """Return the score of NodeResourcesBalancedAllocation."""
        evenness = self._evenness(after)
        if not self.rewards_change:
            return evenness
        return MAX_SCORE // 2 + int((MAX_SCORE // 2 + evenness - self._evenness(before)) / 2)

    def _evenness(self, load: NodeLoad) -> int:
        used = [load.of(name, self.first) / MAX_SCORE for name in self.balanced]
        if not used:
            return 0
        if len(used) == 2:  # upstream's shortcut, which rounds differently
            deviation = abs((used[0] - used[1]) / 2)
        else:
            mean = sum(used) / len(used)
            deviation = math.sqrt(sum((share - mean) ** 2 for share in used) / len(used))
        return int((1 - deviation) * MAX_SCORE)


def _score_function(strategy: ScoringStrategy) -> Callable[[int], int]:
    if strategy.requested_to_capacity_ratio is not None:
        shape = strategy.requested_to_capacity_ratio.shape
        return lambda used: broken_line(shape, used)
    if strategy.type == "MostAllocated":
        return lambda used: used
    return lambda used: MAX_SCORE - used


def broken_line(shape: Sequence[UtilizationShapePoint], used: int) -> int:
    """Return the score, from 0 to 100, of a utilization on the line through the points of ``shape``."""
    for before, here in zip((None, *shape), shape, strict=False):
        if used <= here.utilization:
            if before is None:
                return here.score * 10
            rise, run = (here.score - before.score) * 10, here.utilization - before.utilization
            return before.score * 10 + int(rise * (used - before.utilization) / run)
    return shape[-1].score * 10


def spread_scores() -> tuple[int, int]:
    """Return PodTopologySpread's default scores of a node without a replica of the pod, and of one with a replica."""
    weight = math.log(_NODES + 2)
    without_replica, with_replica = (round(replicas * weight + _HOSTNAME_SKEW - 1) for replicas in (0, 1))
    return MAX_SCORE, MAX_SCORE * without_replica // with_replica


def outvoted(scorers: Scorers, weights: Weights) -> Iterator[tuple[ScoredNode, ScoredNode, NodeLoad]]:
    """Yield pairs of a fuller node that the strategy clearly prefers, and an emptier one that wins, each for a pod."""
    for pod, full, empty in _candidates(scorers):
        rivals = [(node, node.total(weights)) for node in empty]
        for fuller in full:
            total = fuller.total(weights)
            for emptier, more in rivals:
                if total < more and fuller.fit - emptier.fit >= CLEARLY and fuller.fullness > emptier.fullness:
                    yield fuller, emptier, pod


@lru_cache(maxsize=64)
def _candidates(scorers: Scorers) -> tuple[tuple[NodeLoad, tuple[ScoredNode, ...], tuple[ScoredNode, ...]], ...]:
    """Return for each pod the nodes that it fits, once with the only replica and once without.

    Cached, because the same nodes are scored with up to a hundred weights.
    """

    def nodes(pod: NodeLoad, *, replica: bool) -> tuple[ScoredNode, ...]:
        loads = (NodeLoad(first, others) for first in _STEPS for others in _STEPS)
        return tuple(
            scorers.node(load, pod, replica=replica)
            for load in loads
            if max(load.plus(pod).first, load.plus(pod).others) <= MAX_SCORE
        )

    return tuple((pod, nodes(pod, replica=True), nodes(pod, replica=False)) for pod in PODS)


@check("StrategyOutvoted", Severity.WARNING)
def strategy_outvoted(effective: EffectiveInput) -> Iterator[Match]:
    """A strategy prefers fuller nodes, but the other scorers have more weight and prefer emptier ones.

    Raise the weight of NodeResourcesFit to the one in the finding, or disable the plugins that outvote it.
    """
    scoring, spread, scorers = effective.at("score"), effective.args(_SPREAD), _scorers(effective)
    by_default = isinstance(spread, PodTopologySpreadArgs) and spread.defaulting_type == "System"
    weights = Weights(
        fit=scoring[_FIT].weight if _FIT in scoring else 0,
        balance=scoring[_BALANCE].weight if _BALANCE in scoring else 0,
        spread=scoring[_SPREAD].weight if _SPREAD in scoring and by_default else 0,
    )
    if scorers is None or not (weights.balance or weights.spread):
        return
    worst = _worst(scorers, weights)
    if worst is None:
        return
    fuller, emptier, pod = worst
    if weight := _sufficient_weight(scorers, weights):
        fix = str(Fix(added=(FixLine("score", "enabled", _FIT, weight),)))
    else:
        others = ((_BALANCE, weights.balance), (_SPREAD, weights.spread))
        fix = either(without(effective.profile, [name for name, weight in others if weight], ("score",)))
    replica = " and a replica of the pod" if weights.spread else ""
    yield Match(
        f"{effective.args_entry(_FIT)[0]}.scoringStrategy.type",
        f"{scorers.strategy.type} is outvoted: of two nodes with {_describe_load(scorers, NodeLoad(100, 100))}, "
        f"the one with {_describe_load(scorers, fuller.load)} in use{replica} totals {fuller.explain_total(weights)}; "
        f"the one with {_describe_load(scorers, emptier.load)} in use totals {emptier.explain_total(weights)} "
        f"and gets a pod that asks for {_describe_load(scorers, pod)}",
        fix,
    )


@lru_cache(maxsize=64)
def _worst(scorers: Scorers, weights: Weights) -> tuple[ScoredNode, ScoredNode, NodeLoad] | None:
    """Return the pair over which the strategy is most clearly outvoted, and the pod; None when it never is."""
    pairs = outvoted(scorers, weights)
    return max(pairs, key=lambda pair: (pair[0].fit - pair[1].fit, -pair[0].total(weights)), default=None)


@lru_cache(maxsize=64)
def _sufficient_weight(scorers: Scorers, weights: Weights) -> int:
    """Return the smallest weight of NodeResourcesFit that wins; 0 when none does."""
    for weight in range(weights.fit + 1, _HEAVIEST + 1):
        if not any(outvoted(scorers, Weights(weight, weights.balance, weights.spread))):
            return weight
    return 0


def _scorers(effective: EffectiveInput) -> Scorers | None:
    """Return the scorers of a profile, if NodeResourcesFit scores and prefers fuller nodes."""
    args, balance = effective.args(_FIT), effective.args(_BALANCE)
    if not isinstance(args, NodeResourcesFitArgs) or not effective.runs(_FIT, "score"):
        return None
    strategy, ratio = args.scoring_strategy, args.scoring_strategy.requested_to_capacity_ratio
    if strategy.type == "RequestedToCapacityRatio" and ratio is not None:
        scores = [point.score for point in ratio.shape]
        if scores[0] >= scores[-1] or any(before > after for before, after in pairwise(scores)):
            return None
    elif strategy.type != "MostAllocated":
        return None
    balanced = balance.resources if isinstance(balance, NodeResourcesBalancedAllocationArgs) else ()
    return Scorers(
        strategy=strategy,
        balanced=tuple(spec.name for spec in balanced),
        first=max(strategy.resources, key=lambda spec: spec.weight).name,
        rewards_change=effective.document.target.version.at_least("1.36"),
    )


def _describe_load(scorers: Scorers, load: NodeLoad) -> str:
    """Return the quantity of every resource that counts: ``3 CPUs, 4 GiB of memory``."""
    quantities = []
    for name in dict.fromkeys((*(spec.name for spec in scorers.strategy.resources), *scorers.balanced)):
        percent = load.of(name, scorers.first)
        if name == "cpu":
            count = percent * _CPUS // 100
            quantities.append(f"{count} CPU{'' if count == 1 else 's'}")
        elif name in ("memory", "ephemeral-storage"):
            quantities.append(f"{percent * _GIBIBYTES // 100} GiB of {name}")
        else:
            quantities.append(f"{percent * _DEVICES // 100} {name}")
    return ", ".join(quantities)
