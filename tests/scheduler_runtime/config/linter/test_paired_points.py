"""Plugins of which one half runs: what upstream's plugins do then, by reading them."""

from __future__ import annotations

import pytest

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, Version
from tests.support.linting import lint, places, plugins

FAILS_WITHOUT_PRE_FILTER = {
    "DynamicResources",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
    "NodePorts",
    "NodeResourcesFit",
    "PodTopologySpread",
    "VolumeBinding",
    "VolumeRestrictions",
}
FAILS_WITHOUT_PRE_SCORE = {"InterPodAffinity", "PodTopologySpread", "TaintToleration"}


def codes(text: str, version: str = "1.36") -> set[str]:
    return {finding.code for finding in lint(plugins(text), version)}


def having(*points: str, version: str = "1.37") -> list[str]:
    """The default plugins with all these points."""
    data = catalog.defaults(Version.parse(version))
    return [name for name, _ in data.multi_point if set(points) <= set(data.extends[name])]


@pytest.mark.parametrize("name", having("preFilter", "filter"))
def test_filter_without_pre_filter(name: str) -> None:
    reported = codes(f"preFilter: {{disabled: [{{name: {name}}}]}}", "1.37")
    assert reported == ({"FilterWithoutPreFilter"} if name in FAILS_WITHOUT_PRE_FILTER else set())


@pytest.mark.parametrize("name", having("preFilter", "filter"))
def test_pre_filter_without_filter(name: str) -> None:
    reported = codes(f"filter: {{disabled: [{{name: {name}}}]}}", "1.37")
    reserves = name in ("VolumeBinding", "DynamicResources")
    assert reported == {"ReserveWithoutFilter" if reserves else "PreFilterWithoutFilter"}


@pytest.mark.parametrize("name", having("preScore", "score"))
def test_score_without_pre_score(name: str) -> None:
    reported = codes(f"preScore: {{disabled: [{{name: {name}}}]}}")
    assert reported == ({"ScoreWithoutPreScore"} if name in FAILS_WITHOUT_PRE_SCORE else set())


@pytest.mark.parametrize("name", having("filter"))
def test_a_filter_that_is_off_at_every_point_is_no_half(name: str) -> None:
    assert codes(f"multiPoint: {{disabled: [{{name: {name}}}]}}") <= {"FilterRemoved", "DefaultSpreadDisabled"}


ROWS = {
    "reserve": ("reserve: {disabled: [{name: VolumeBinding}]}", {"PreBindWithoutReserve"}),
    "reserve-of-devices": ("reserve: {disabled: [{name: DynamicResources}]}", {"PreBindWithoutReserve"}),
    "pre-bind": ("preBind: {disabled: [{name: DynamicResources}]}", {"FilterWithoutPreBind"}),
    "reserve-and-pre-bind": (
        "reserve: {disabled: [{name: '*'}]}, preBind: {disabled: [{name: '*'}]}",
        {"FilterWithoutPreBind"},
    ),
    "score-of-devices": (
        ", ".join(f"{point}: {{disabled: [{{name: '*'}}]}}" for point in ("preFilter", "filter", "reserve", "preBind")),
        {"NoFilterLeft", "ScoreWithoutPreScore"},
    ),
    "costly-pre-score": ("score: {disabled: [{name: InterPodAffinity}]}", {"PreScoreWithoutScore"}),
    "cheap-pre-score": ("score: {disabled: [{name: NodeResourcesBalancedAllocation}]}", set()),
    "no-score-at-all": ("score: {disabled: [{name: '*'}]}", {"NoScoreLeft"}),
    "filter-turned-on-again": (
        "preFilter: {disabled: [{name: NodePorts}], enabled: [{name: NodePorts}]}",
        set(),
    ),
}


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_other_halves(text: str, expected: set[str]) -> None:
    assert codes(text) == expected


def test_all_pre_filters_off_is_reported_for_every_plugin_at_the_asterisk() -> None:
    findings = lint(plugins("preFilter: {disabled: [{name: '*'}]}"))
    assert {finding.path for finding in findings} == {"profiles[0].plugins.preFilter.disabled[0]"}
    assert {finding.message.split()[0] for finding in findings} == FAILS_WITHOUT_PRE_FILTER


def test_a_plugin_whose_gate_is_off_cannot_fail() -> None:
    text = plugins("filter: {enabled: [{name: NodeDeclaredFeatures}]}")
    assert [finding.code for finding in lint(text, "1.35")] == ["GateOff"]
    assert {finding.code for finding in lint(text, "1.35", {"NodeDeclaredFeatures": True})} == set()


def test_an_own_plugin_with_pre_filter_only_is_reported() -> None:
    others = {"Mine": Declaration(name="Mine", hooks=("pre_filter", "filter", "signature"))}
    reported = places(plugins("preFilter: {enabled: [{name: Mine}]}"), others=others)
    assert reported == ["PreFilterWithoutFilter plugins.filter"]


@pytest.mark.parametrize("scored", [False, True])
def test_volumes_that_are_scored_need_their_pre_filter(*, scored: bool) -> None:
    points = ("preFilter", "filter", "reserve", "preBind")
    off = ", ".join(f"{point}: {{disabled: [{{name: VolumeBinding}}]}}" for point in points)
    reported = {finding.code for finding in lint(plugins(off), gates={"StorageCapacityScoring": scored})}
    assert ("ScoreWithoutPreScore" in reported) is scored


GANG = {"GenericWorkload": True, "GangScheduling": True}


@pytest.mark.parametrize("point", ["preEnqueue", "permit"])
def test_half_a_gang(point: str) -> None:
    text = plugins(f"{point}: {{disabled: [{{name: GangScheduling}}]}}")
    assert [finding.code for finding in lint(text, gates=GANG)] == ["HalfGang"]
    assert [finding.code for finding in lint(plugins(""), gates=GANG)] == []
