"""Plugins that the engine or the version does not have."""

from __future__ import annotations

import pytest

from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Declaration, Version
from tests.support.linting import args, lint, plugins

PLUGINS = sorted(catalog.defaults(Version.parse("1.36")).extends)
MISSING = [name for name in PLUGINS if name not in catalog.in_tree()]
PYTHONS = {"BesideCap": Declaration(name="BesideCap", hooks=("filter",), python_only=True)}
OWN = {"Cheapest": Declaration(name="Cheapest", hooks=("score",))}


def codes(text: str, engine: config.Engine = "Python") -> set[str]:
    return {finding.code for finding in lint(text, engine=engine)}


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_is_reported_exactly_while_the_engine_does_not_have_it(name: str) -> None:
    findings = lint(plugins(f"multiPoint: {{enabled: [{{name: {name}}}]}}"), engine="Python")
    paths = [finding.path for finding in findings if finding.code == "NotInThisEngine"]
    assert paths == (["profiles[0].plugins.multiPoint.enabled[0]"] if name in MISSING else [])


@pytest.mark.parametrize("name", MISSING)
def test_arguments_of_a_plugin_that_the_engine_does_not_have_are_reported(name: str) -> None:
    default = name in dict(catalog.defaults(Version.parse("1.36")).multi_point)
    paths = [finding.path for finding in lint(args(name, ""), engine="Python") if finding.code == "NotInThisEngine"]
    assert paths == (["profiles[0].pluginConfig[0]"] if default else [])


def test_a_plugin_is_reported_once_however_often_it_is_named() -> None:
    twice = args("InterPodAffinity", "", "score: {enabled: [{name: InterPodAffinity}, {name: NodeResourcesFit}]}")
    paths = [finding.path for finding in lint(twice, engine="Python") if finding.code == "NotInThisEngine"]
    assert paths == (["profiles[0].plugins.score.enabled[0]"] if "InterPodAffinity" in MISSING else [])


@pytest.mark.parametrize("version", ["1.35", "1.36", "1.37"])
def test_defaults_that_nobody_named_are_not_reported(version: str) -> None:
    assert lint("profiles: [{schedulerName: default-scheduler}]", version, engine="Python") == ()


@pytest.mark.parametrize("name", PLUGINS)
def test_a_kube_scheduler_has_them_all(name: str) -> None:
    assert "NotInThisEngine" not in codes(plugins(f"multiPoint: {{enabled: [{{name: {name}}}]}}"), "KubeScheduler")


def test_a_plugin_that_is_disabled_is_no_plugin_that_is_missing() -> None:
    names = ", ".join(f"{{name: {name}}}" for name in MISSING)
    assert "NotInThisEngine" not in codes(plugins(f"multiPoint: {{disabled: [{names}]}}"))


def test_what_does_not_run_has_no_weight_to_lose() -> None:
    named = ", ".join(
        f"{{name: {name}}}" for name in MISSING if "score" in catalog.defaults(Version.parse("1.36")).extends[name]
    )
    assert codes(plugins(f"score: {{enabled: [{named}]}}")) <= {"NotInThisEngine"}
    assert "WeightReset" in codes(plugins("score: {enabled: [{name: NodeAffinity}]}"))


def test_a_strategy_is_outvoted_only_by_what_the_engine_scores_with() -> None:
    balance = "score: {enabled: [{name: NodeResourcesBalancedAllocation, weight: 9}]}"
    text = args("NodeResourcesFit", "scoringStrategy: {type: MostAllocated}", balance)
    (python,) = (finding for finding in lint(text, engine="Python") if finding.code == "StrategyOutvoted")
    (upstream,) = (finding for finding in lint(text) if finding.code == "StrategyOutvoted")
    assert " spread" in upstream.message
    assert (" spread" in python.message) is ("PodTopologySpread" not in MISSING)


@pytest.mark.parametrize("name", MISSING)
def test_half_of_what_does_not_run_is_no_error(name: str) -> None:
    for point in catalog.defaults(Version.parse("1.36")).extends[name]:
        findings = lint(plugins(f"{point}: {{disabled: [{{name: {name}}}]}}"), engine="Python")
        assert [finding.code for finding in findings if finding.severity is config.Severity.ERROR] == []


def test_a_plugin_without_pre_score_in_this_engine_does_not_miss_it() -> None:
    text = plugins("preScore: {disabled: [{name: TaintToleration}]}")
    own = catalog.find("TaintToleration")
    assert own is not None
    assert ("ScoreWithoutPreScore" in codes(text)) is ("preScore" in own.points)
    assert "ScoreWithoutPreScore" in codes(text, "KubeScheduler")


def test_declared_plugins_are_brought_to_the_engine() -> None:
    assert config.missing_plugins("Python", ["Cheapest", "NodeName", "Cheapest", "Unheard"], OWN) == ("Unheard",)
    assert config.missing_plugins("KubeScheduler", ["Unheard"]) == ()


@pytest.mark.parametrize(("engine", "expected"), [("UpstreamImage", ["NotInThisImage"]), ("KubeScheduler", [])])
def test_a_declared_plugin_needs_an_image_that_has_it(engine: config.Engine, expected: list[str]) -> None:
    text = plugins("score: {enabled: [{name: Cheapest, weight: 2}, {name: ImageLocality}]}")
    codes = [
        finding.code for finding in lint(text, others=OWN, engine=engine) if finding.severity is config.Severity.ERROR
    ]
    assert codes == expected


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        pytest.param("KubeScheduler", ["NotInKubeScheduler profiles[0].plugins.filter.enabled[0]"], id="not-there"),
        pytest.param("Python", ["BatchingDisabledByPlugin profiles[0].plugins.filter.enabled[0]"], id="runs"),
    ],
)
def test_a_plugin_in_python_is_not_for_a_kube_scheduler(engine: config.Engine, expected: list[str]) -> None:
    findings = lint(plugins("filter: {enabled: [{name: BesideCap}]}"), others=PYTHONS, engine=engine)
    assert [f"{finding.code} {finding.path}" for finding in findings] == expected


def test_arguments_alone_keep_no_kube_scheduler_from_starting() -> None:
    findings = lint(args("BesideCap", ""), others=PYTHONS, engine="KubeScheduler")
    assert [finding.code for finding in findings] == ["DisabledButConfigured"]
