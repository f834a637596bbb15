"""Weights that are not what their author thinks."""

from __future__ import annotations

import pytest

from scheduler_runtime.catalog import Declaration
from tests.support.linting import args, lint, places, plugins

OWN = {"Cheapest": Declaration(name="Cheapest", hooks=("score", "signature"))}
ROWS = {
    "left-out-at-score": ("score: {enabled: [{name: NodeAffinity}]}", ["WeightReset plugins.score.enabled[0]"]),
    "left-out-at-multi-point": (
        "multiPoint: {enabled: [{name: DynamicResources}]}",
        ["WeightReset plugins.multiPoint.enabled[0]"],
    ),
    "default-is-one": ("score: {enabled: [{name: NodeResourcesFit}, {name: ImageLocality}]}", []),
    "one-on-purpose": ("score: {enabled: [{name: TaintToleration, weight: 1}]}", []),
    "only-filtering": ("filter: {enabled: [{name: TaintToleration}]}", []),
    "score-outranks-multi-point": (
        "multiPoint: {enabled: [{name: NodeAffinity}]}, score: {enabled: [{name: NodeAffinity, weight: 2}]}",
        [],
    ),
    "zero-at-score": (
        "score: {enabled: [{name: NodeAffinity, weight: 0}]}",
        ["WeightZero plugins.score.enabled[0].weight"],
    ),
    "zero-as-by-default": ("multiPoint: {enabled: [{name: VolumeBinding, weight: 0}]}", []),
    "zero-where-nothing-scores": ("multiPoint: {enabled: [{name: NodeName, weight: 0}]}", []),
    "own-without": ("score: {enabled: [{name: Cheapest}]}", ["ScoreWithoutWeight plugins.score.enabled[0]"]),
    "own-at-multi-point": (
        "multiPoint: {enabled: [{name: Cheapest}]}",
        ["ScoreWithoutWeight plugins.multiPoint.enabled[0]"],
    ),
    "own-with": ("score: {enabled: [{name: Cheapest, weight: 1}]}", []),
    "at-a-filter": (
        "filter: {enabled: [{name: NodeName, weight: 3}]}",
        ["WeightIgnored plugins.filter.enabled[0].weight"],
    ),
    "at-something-disabled": (
        "score: {disabled: [{name: ImageLocality, weight: 3}]}",
        ["WeightIgnored plugins.score.disabled[0].weight"],
    ),
    "at-multi-point-without-score": (
        "multiPoint: {enabled: [{name: NodeName, weight: 3}]}",
        ["WeightIgnored plugins.multiPoint.enabled[0].weight"],
    ),
    "at-placement-score": ("placementScore: {enabled: [{name: NodeResourcesFit, weight: 3}]}", []),
    "two-weights": (
        "multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}, score: {enabled: [{name: NodeAffinity, weight: 4}]}",
        ["ConfiguredTwice plugins.multiPoint.enabled[0].weight"],
    ),
    "two-equal-weights": (
        "multiPoint: {enabled: [{name: NodeAffinity, weight: 4}]}, score: {enabled: [{name: NodeAffinity, weight: 4}]}",
        [],
    ),
    "negative": (
        "score: {enabled: [{name: NodeResourcesFit, weight: 3}, {name: ImageLocality, weight: -2}]}",
        ["NegativeWeight plugins.score.enabled[1].weight"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_weights(text: str, expected: list[str]) -> None:
    assert places(plugins(text), others=OWN) == expected


def test_a_reset_names_the_weight_that_was_lost() -> None:
    finding = lint(plugins("score: {enabled: [{name: TaintToleration}]}"))[0]
    assert finding.message == "TaintToleration is named without a weight, so it counts 1 instead of its default 3"
    assert finding.suggestion == "{name: TaintToleration, weight: 3}"


@pytest.mark.parametrize(
    ("shared", "own", "expected"),
    [
        pytest.param(50, [30], ["ConfiguredTwice percentageOfNodesToScore"], id="beaten"),
        pytest.param(50, [50], [], id="the-same"),
        pytest.param(0, [30], [], id="not-written"),
        pytest.param(50, [30, None], [], id="another-profile-uses-it"),
    ],
)
def test_a_percentage_that_every_profile_overrides(shared: int, own: list[int | None], expected: list[str]) -> None:
    names = ["default-scheduler", "b"]
    profiles = [
        f"{{schedulerName: {name}{'' if percentage is None else f', percentageOfNodesToScore: {percentage}'}}}"
        for name, percentage in zip(names, own, strict=False)
    ]
    assert places(f"percentageOfNodesToScore: {shared}\nprofiles: [{', '.join(profiles)}]") == expected


def test_a_resource_that_is_named_twice_counts_twice() -> None:
    resources = "{name: cpu}, {name: memory}, {name: cpu, weight: 5}"
    text = args("NodeResourcesFit", f"scoringStrategy: {{type: LeastAllocated, resources: [{resources}]}}")
    assert places(text) == ["ConfiguredTwice pluginConfig[0].args.scoringStrategy.resources[2]"]
