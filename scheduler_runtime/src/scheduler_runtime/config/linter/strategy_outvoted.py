"""StrategyOutvoted: a strategy says one thing, and the other scorers together say another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from scheduler_runtime.catalog.args import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ScoringStrategy,
)
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import EffectiveInput
from scheduler_runtime.config.linter.strategy import Load, Node, Scorers, Weights, outvoted
from scheduler_runtime.config.linter.suggested_fixes import Fix, FixLine, either, without

_FIT, _BALANCE, _SPREAD = "NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread"
_CPUS, _GIBIBYTES, _DEVICES = 10, 40, 10
_HEAVIEST = 100


@check(
    Code(
        "StrategyOutvoted",
        Severity.WARNING,
        "A strategy says that pods go to fuller nodes, but the other scorers weigh more and send them to emptier ones.",
        "Raise the weight of NodeResourcesFit to the one in the finding, or disable what outvotes it.",
    )
)
def strategy_outvoted(meaning: EffectiveInput) -> Iterator[Match]:
    scorers, weights = _scorers(meaning), _weights(meaning)
    if scorers is None or not (weights.balance or weights.spread):
        return
    worst = _worst(scorers, weights)
    if worst is None:
        return
    fuller, emptier, pod = worst
    path, _ = meaning.entry(_FIT)
    replica = " and a replica of the pod" if weights.spread else ""
    yield Match(
        f"{path}.scoringStrategy.type",
        f"{scorers.strategy.type} is outvoted: of two nodes with {_sizes(scorers, Load(100, 100))}, the one with "
        f"{_sizes(scorers, fuller.load)} in use{replica} totals {_sum(fuller, weights)}; the one with "
        f"{_sizes(scorers, emptier.load)} in use totals {_sum(emptier, weights)} and gets a pod that asks for "
        f"{_sizes(scorers, pod)}",
        _remedy(meaning, scorers, weights),
    )


@lru_cache(maxsize=64)
def _worst(scorers: Scorers, weights: Weights) -> tuple[Node, Node, Load] | None:
    """The pair over which the strategy is most clearly outvoted, and the pod; None when it never is."""
    pairs = outvoted(scorers, weights)
    return max(pairs, key=lambda pair: (pair[0].fit - pair[1].fit, -pair[0].total(weights)), default=None)


def _scorers(meaning: EffectiveInput) -> Scorers | None:
    """What the scorers do, if NodeResourcesFit scores and is told to fill nodes."""
    args, balance = meaning.args(_FIT), meaning.args(_BALANCE)
    if (
        not isinstance(args, NodeResourcesFitArgs)
        or not meaning.has(_FIT, "score")
        or not _fills(args.scoring_strategy)
    ):
        return None
    strategy = args.scoring_strategy
    balanced = balance.resources if isinstance(balance, NodeResourcesBalancedAllocationArgs) else ()
    return Scorers(
        strategy=strategy,
        balanced=tuple(spec.name for spec in balanced),
        first=max(strategy.resources, key=lambda spec: spec.weight).name,
        rewards_change=meaning.written.whole.target.version.at_least("1.36"),
    )


def _fills(strategy: ScoringStrategy) -> bool:
    """Whether more is better to it."""
    ratio = strategy.requested_to_capacity_ratio
    if strategy.type != "RequestedToCapacityRatio" or ratio is None:
        return strategy.type == "MostAllocated"
    scores = [point.score for point in ratio.shape]
    return scores[0] < scores[-1] and all(before <= after for before, after in pairwise(scores))


def _weights(meaning: EffectiveInput) -> Weights:
    scoring = meaning.at("score")
    spread = meaning.args(_SPREAD)
    by_default = isinstance(spread, PodTopologySpreadArgs) and spread.defaulting_type == "System"
    return Weights(
        fit=scoring[_FIT].weight if _FIT in scoring else 0,
        balance=scoring[_BALANCE].weight if _BALANCE in scoring else 0,
        spread=scoring[_SPREAD].weight if _SPREAD in scoring and by_default else 0,
    )


def _sum(node: Node, weights: Weights) -> str:
    """A total and how it comes about."""
    parts = (
        (weights.fit, node.fit, "fit"),
        (weights.balance, node.balance, "balance"),
        (weights.spread, node.spread, "spread"),
    )
    listed = " + ".join(f"{weight}×{score} {name}" for weight, score, name in parts if weight)
    return f"{listed} = {node.total(weights)}"


def _sizes(scorers: Scorers, load: Load) -> str:
    """How much that is of every resource that counts."""
    names = dict.fromkeys((*(spec.name for spec in scorers.strategy.resources), *scorers.balanced))
    return ", ".join(_size(name, load.of(name, scorers.first)) for name in names)


def _size(resource: str, percent: int) -> str:
    if resource == "cpu":
        count = percent * _CPUS // 100
        return f"{count} CPU{'' if count == 1 else 's'}"
    if resource in ("memory", "ephemeral-storage"):
        return f"{percent * _GIBIBYTES // 100} GiB of {resource}"
    return f"{percent * _DEVICES // 100} {resource}"


@lru_cache(maxsize=64)
def _enough(scorers: Scorers, weights: Weights) -> int:
    """The smallest weight of NodeResourcesFit that wins; 0 when none does."""
    for weight in range(weights.fit + 1, _HEAVIEST + 1):
        if not any(outvoted(scorers, Weights(weight, weights.balance, weights.spread))):
            return weight
    return 0


def _remedy(meaning: EffectiveInput, scorers: Scorers, weights: Weights) -> str:
    """The smallest weight that wins, or what has to go."""
    if weight := _enough(scorers, weights):
        return str(Fix(added=(FixLine("score", "enabled", _FIT, weight),)))
    others = ((_BALANCE, weights.balance), (_SPREAD, weights.spread))
    return either(without(meaning.written, [name for name, weight in others if weight], ("score",)))
