"""Plugins that berth does not know by itself: what a PluginConfig declares is what is known of them."""

from dataclasses import replace
from typing import Any, get_args

import pytest

from scheduler_operator.models import PluginConfigSpec
from scheduler_operator.models.plugin_config import EventAction, Hook
from scheduler_operator.render import ObjectProblems, check, render
from scheduler_operator.render.outcome import Rendered
from scheduler_operator.render.plugin_configs import declaration
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import HOOK_POINTS, Action, ClusterEvent, Rule, Target
from tests.scheduler_operator.builders import NAMESPACE, V1_36, profile

TARGET = Target(V1_36)
SCHEMA = {"type": "object", "properties": {"maxHourlyPrice": {"type": "number", "minimum": 0}}}
DECLARES = {
    "hooks": ["preFilter", "filter", "score", "normalizeScore", "placementScore"],
    "argsSchema": SCHEMA,
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["node-prices"], "verbs": ["get"]}],
    "events": [{"resource": "Node", "actions": ["Add", "UpdateNodeLabel"]}],
}
ENABLED = {"score": {"enabled": [{"name": "PriceCap", "weight": 2}]}, "filter": {"enabled": [{"name": "PriceCap"}]}}


def declaring(name: str = "prices", declares: dict[str, Any] = DECLARES, **spec: Any) -> UserObject:
    return UserObject("PluginConfig", name, "uid", 1, {"plugin": "PriceCap", "declares": declares, **spec}, status={})


def outcome(scheduler_profile: UserObject, *configs: UserObject) -> Rendered | ObjectProblems:
    return render(
        [scheduler_profile], {plugin_config.name: plugin_config for plugin_config in configs}, NAMESPACE, TARGET
    )


def checked(plugin_config: UserObject, *others: UserObject) -> ObjectProblems | None:
    configs = {item.name: item for item in (plugin_config, *others)}
    return check(plugin_config, configs, NAMESPACE, TARGET)


def test_a_declared_plugin_runs_at_its_points_with_its_rights() -> None:
    image = "registry.example.com/kube-scheduler:v1"
    result = outcome(profile(engine="KubeScheduler", scheduler={"image": image}, plugins=ENABLED), declaring())
    assert isinstance(result, Rendered), str(result)
    assert ("PriceCap", 2) in [(plugin.name, plugin.weight) for plugin in result.effective.points["score"]]
    assert result.declared == (Rule(("",), ("configmaps",), ("get",), ("node-prices",)),)
    assert set(result.declared) <= set(result.rules)
    assert "+PriceCap" in result.first.summary


def test_a_declared_plugin_takes_the_arguments_that_its_schema_has() -> None:
    entry = {"name": "PriceCap", "args": {"maxHourlyPrice": -1, "odd": 1}}
    result = outcome(profile(engine="KubeScheduler", pluginConfig=[entry], plugins=ENABLED), declaring())
    assert isinstance(result, ObjectProblems)
    assert [problem.path for problem in result.problems] == [
        "spec.pluginConfig[0].args.maxHourlyPrice",
        "spec.pluginConfig[0].args.odd",
    ]


def test_a_declared_plugin_is_not_enabled_where_it_has_no_hook() -> None:
    result = outcome(profile(plugins={"bind": {"enabled": [{"name": "PriceCap"}]}}), declaring())
    assert isinstance(result, ObjectProblems)
    assert result.problems[0].path.startswith("spec.plugins.bind.enabled[0]")
    assert "nothing to do at bind" in str(result)


def test_of_two_that_declare_a_plugin_differently_the_older_counts_and_the_author_of_the_newer_is_told() -> None:
    older = replace(declaring(), created="2026-11-20T06:00:00Z")
    # Neither the name nor the order decides: "a-spoiler" comes first in both.
    newer = replace(declaring("a-spoiler", {"hooks": ["filter"]}), created="2026-11-20T06:00:01Z")

    result = outcome(profile(plugins=ENABLED), newer, older)

    assert isinstance(result, Rendered), str(result)
    assert result.effective.points.keys() >= {"filter", "score"}
    assert checked(older, newer) is None
    problems = checked(newer, older)
    assert problems is not None
    assert "PluginConfig prices declares PriceCap differently, and counts, because it is older" in str(problems)
    assert checked(declaring("same"), declaring()) is None


def test_a_newer_declaration_that_is_wrong_spoils_nothing() -> None:
    older = replace(declaring(), created="2026-11-20T06:00:00Z")
    wrong = replace(declaring("wrong", {"hooks": ["nonsense"]}), created="2026-11-20T06:00:01Z")
    assert isinstance(outcome(profile(plugins=ENABLED), older, wrong), Rendered)
    assert checked(older, wrong) is None
    assert checked(wrong, older) is not None


@pytest.mark.parametrize("multi_point", [[], [{"name": "PriceCap"}]])
def test_nothing_that_follows_from_a_wrong_declaration_is_reported_beside_it(multi_point: list[dict[str, str]]) -> None:
    plugins = {**ENABLED, "multiPoint": {"enabled": multi_point}}
    scheduler_profile = profile(plugins=plugins, pluginConfig=[{"name": "PriceCap", "args": {"anything": 1}}])
    result = outcome(scheduler_profile, declaring(declares={"hooks": ["nonsense"]}))
    assert isinstance(result, ObjectProblems)
    assert [problem.path for problem in result.problems] == ["PluginConfig prices: spec.declares.hooks[0]"]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({"declares": {**DECLARES, "argsSchema": {"type": "string"}}}, "argsSchema.type", id="schema"),
        pytest.param(
            {"declares": {**DECLARES, "rules": [{"apiGroups": [""], "resources": ["a"], "verbs": ["*"]}]}},
            "rules[0].verbs",
            id="wildcard",
        ),
        pytest.param(
            {
                "declares": {
                    "hooks": ["bind"],
                    "rules": [{"apiGroups": [""], "resources": ["a"], "verbs": ["get"], "namespace": "elsewhere"}],
                }
            },
            "rules[0].namespace",
            id="role-elsewhere",
        ),
        pytest.param({"plugin": "NodeResourcesFit"}, "", id="known-already"),
        pytest.param({"args": {"maxHourlyPrice": "much"}}, None, id="arguments"),
    ],
)
def test_a_declaration_that_cannot_be_followed_is_reported_at_the_plugin_config(
    spec: dict[str, Any], path: str | None
) -> None:
    result = checked(declaring(**spec))
    assert isinstance(result, ObjectProblems)
    expected = "spec.args.maxHourlyPrice" if path is None else f"spec.declares.{path}".rstrip(".")
    assert [problem.path for problem in result.problems] == [expected]


def test_a_profile_says_whose_declaration_is_wrong() -> None:
    result = outcome(profile(plugins=ENABLED), declaring(declares={**DECLARES, "argsSchema": {"type": "string"}}))
    assert isinstance(result, ObjectProblems)
    assert "PluginConfig prices: spec.declares.argsSchema.type" in [problem.path for problem in result.problems]


@pytest.mark.parametrize("hook", get_args(Hook))
def test_every_hook_that_can_be_declared_leads_to_a_point_or_is_berths_own(hook: str) -> None:
    points = declaration(PluginConfigSpec.model_validate({"plugin": "A", "declares": {"hooks": [hook]}})).points
    assert points == set() if hook in ("hint", "signature") else len(points) == 1
    if hook in HOOK_POINTS.values():
        assert points == {hook}


@pytest.mark.parametrize("action", get_args(EventAction))
def test_every_action_that_can_be_declared_is_one_of_the_catalogues(action: str) -> None:
    declares = {"hooks": ["filter"], "events": [{"resource": "Node", "actions": [action, "Delete"]}]}
    (event,) = declaration(PluginConfigSpec.model_validate({"plugin": "A", "declares": declares})).events
    assert event.covers("Node", Action.DELETE)
    assert isinstance(event, ClusterEvent)
