"""StrategyOutvoted: the arithmetic is the scorers' own, and the verdict follows from it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from scheduler_runtime.catalog.args import (
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from scheduler_runtime.config.linter.strategy_outvoted import NodeLoad, Scorers, Weights, outvoted, spread_scores
from scheduler_runtime.plugins.noderesources import formulas
from tests.support.linting import args, lint

MOST = "scoringStrategy: {type: MostAllocated}"
OFF = "preScore: {disabled: [{name: %s}]}, score: {disabled: [{name: %s}]}"
RISING = "requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}"
FALLING = "requestedToCapacityRatio: {shape: [{utilization: 0, score: 10}, {utilization: 100, score: 0}]}"


def only_balance(fit: int) -> str:
    return f"preScore: {{disabled: [{{name: PodTopologySpread}}]}}, {weighed(fit, '{name: PodTopologySpread}')}"


def weighed(fit: int, disabled: str = "") -> str:
    return f"score: {{enabled: [{{name: NodeResourcesFit, weight: {fit}}}], disabled: [{disabled}]}}"


def is_outvoted(text: str, version: str = "1.36") -> bool:
    return "StrategyOutvoted" in {finding.code for finding in lint(text, version)}


@pytest.mark.parametrize(
    ("text", "version", "expected"),
    [
        pytest.param(args("NodeResourcesFit", MOST), "1.36", True, id="by-spread"),
        pytest.param(args("NodeResourcesFit", MOST, weighed(3)), "1.36", True, id="by-spread-still"),
        pytest.param(args("NodeResourcesFit", MOST, weighed(4)), "1.36", False, id="heavy-enough"),
        pytest.param(args("NodeResourcesFit", MOST, only_balance(1)), "1.35", True, id="by-balance"),
        pytest.param(args("NodeResourcesFit", MOST, only_balance(2)), "1.35", False, id="heavier-than-balance"),
        pytest.param(args("NodeResourcesFit", MOST, only_balance(1)), "1.36", False, id="balance-judged-by-change"),
        pytest.param(args("NodeResourcesFit", "scoringStrategy: {type: LeastAllocated}"), "1.36", False, id="least"),
        pytest.param(
            args("NodeResourcesFit", f"scoringStrategy: {{type: RequestedToCapacityRatio, {RISING}}}"),
            "1.36",
            True,
            id="rising",
        ),
        pytest.param(
            args("NodeResourcesFit", f"scoringStrategy: {{type: RequestedToCapacityRatio, {FALLING}}}"),
            "1.36",
            False,
            id="falling",
        ),
    ],
)
def test_outvoted(text: str, version: str, *, expected: bool) -> None:
    assert is_outvoted(text, version) is expected


def test_constraints_of_ones_own_are_no_defaults() -> None:
    constraint = "{topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}"
    spread = f"{{name: PodTopologySpread, args: {{defaultingType: List, defaultConstraints: [{constraint}]}}}}"
    fit = f"{{name: NodeResourcesFit, args: {{{MOST}}}}}"
    assert not is_outvoted(f"profiles: [{{pluginConfig: [{spread}, {fit}]}}]")


@pytest.mark.parametrize("version", ["1.35", "1.36", "1.37"])
@pytest.mark.parametrize(
    "resources", ["", ", resources: [{name: cpu}]", ", resources: [{name: example.com/gpu, weight: 5}]"]
)
def test_the_suggested_weight_is_the_smallest_that_wins(version: str, resources: str) -> None:
    strategy = f"scoringStrategy: {{type: MostAllocated{resources}}}"
    finding = next(
        finding for finding in lint(args("NodeResourcesFit", strategy), version) if finding.code == "StrategyOutvoted"
    )
    weight = int(re.findall(r"weight: (\d+)", finding.suggestion)[0])
    assert not is_outvoted(args("NodeResourcesFit", strategy, weighed(weight)), version)
    assert is_outvoted(args("NodeResourcesFit", strategy, weighed(weight - 1)), version)


@pytest.mark.parametrize("version", ["1.35", "1.36"])
def test_the_totals_in_the_sentence_are_sums_and_the_emptier_node_has_the_higher_one(version: str) -> None:
    message = lint(args("NodeResourcesFit", MOST), version)[0].message
    totals = []
    for terms, total in re.findall(r"totals (.+?) = (\d+)", message):
        assert sum(int(w) * int(s) for w, s in re.findall(r"(\d+)×(\d+)", terms)) == int(total)
        totals.append(int(total))
    assert totals[0] < totals[1]


def scorers(*, rewards_change: bool) -> Scorers:
    strategy = ScoringStrategy(type="MostAllocated", resources=(ResourceSpec(name="cpu"), ResourceSpec(name="memory")))
    return Scorers(strategy, ("cpu", "memory"), "cpu", rewards_change)


@pytest.mark.parametrize(
    ("before", "pod", "expected"),
    [
        # score before and after 1.36 of upstream's formulas, worked out by hand
        pytest.param(NodeLoad(70, 10), NodeLoad(10, 10), (70, 75), id="even-pod-on-a-skewed-node"),
        pytest.param(NodeLoad(10, 40), NodeLoad(30, 0), (100, 82), id="pod-that-evens-it-out"),
        pytest.param(NodeLoad(40, 40), NodeLoad(30, 10), (90, 70), id="pod-that-skews-it"),
    ],
)
def test_balance(before: NodeLoad, pod: NodeLoad, expected: tuple[int, int]) -> None:
    after = before.plus(pod)
    scores = tuple(scorers(rewards_change=change).balance(before, after) for change in (False, True))
    assert scores == expected


def test_a_replica_costs_a_node_a_third_of_its_spread_score() -> None:
    assert spread_scores() == (100, 66)


def test_nothing_is_outvoted_by_nobody() -> None:
    assert not list(outvoted(scorers(rewards_change=False), Weights(fit=1, balance=0, spread=0)))


RESOURCES = (ResourceSpec(name="cpu", weight=3), ResourceSpec(name="memory", weight=2))
POINTS = ((10, 1), (45, 9), (80, 4), (95, 10))
SHAPE = tuple(UtilizationShapePoint(utilization=utilization, score=score) for utilization, score in POINTS)


@pytest.mark.parametrize(
    "strategy",
    [
        ScoringStrategy(type="MostAllocated", resources=RESOURCES),
        ScoringStrategy(type="LeastAllocated", resources=RESOURCES),
        ScoringStrategy(
            type="RequestedToCapacityRatio",
            resources=RESOURCES,
            requested_to_capacity_ratio=RequestedToCapacityRatioParam(shape=SHAPE),
        ),
    ],
    ids=lambda strategy: strategy.type,
)
def test_the_scores_are_those_of_the_plugins(strategy: ScoringStrategy) -> None:
    used = np.arange(0, 101, dtype=np.int64)
    first, others = (axis.ravel() for axis in np.meshgrid(used, used))
    whole = np.full(len(first), 100, dtype=np.int64)
    loads = [formulas.Load(3, whole, first, first), formulas.Load(2, whole, others, others)]
    scorers_of_strategy = Scorers(strategy, ("cpu", "memory"), "cpu", rewards_change=False)
    after = [NodeLoad(int(a), int(b)) for a, b in zip(first, others, strict=True)]
    assert [scorers_of_strategy.fit(load) for load in after] == list(formulas.strategy_of(strategy)(loads, len(first)))
    balanced = list(formulas.balance([(first, whole), (others, whole)], len(first)))
    assert [scorers_of_strategy.balance(load, load) for load in after] == balanced
