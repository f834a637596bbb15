"""Expansion of profiles: upstream's cases of merging and expanding, under upstream's names where it has them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from scheduler_runtime import config
from scheduler_runtime.catalog import HOOK_POINTS, Declaration, Target

HEADER = {"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}
V1_36 = Target.parse("1.36")
OTHERS = {
    name: Declaration(name=name, hooks=hooks)
    for name, hooks in {
        "Every": tuple(HOOK_POINTS),
        "Scores1": ("pre_score", "score"),
        "Scores2": ("score",),
        "Normalizes": ("score", "normalize_score"),
        "Sorts": ("sort_key",),
        "Binds": ("bind",),
    }.items()
}
NO_DEFAULTS = [{"name": "*"}]


def expand(plugins: dict[str, Any], target: Target = V1_36) -> config.EffectiveProfile | config.Problems:
    text = yaml.safe_dump({**HEADER, "profiles": [{"schedulerName": "test", "plugins": plugins}]})
    document = config.load(text)
    assert isinstance(document, config.Document), document
    return config.expand_profile(document.profiles[0], target, OTHERS)


def at(point: str, plugins: dict[str, Any], target: Target = V1_36) -> list[tuple[str, int]]:
    expanded = expand(plugins, target)
    assert isinstance(expanded, config.EffectiveProfile), expanded
    return [(plugin.name, plugin.weight) for plugin in expanded.points[point]]


def names_at(point: str, plugins: dict[str, Any], target: Target = V1_36) -> list[str]:
    return [name for name, _ in at(point, plugins, target)]


def named(*names: str | tuple[str, int]) -> list[dict[str, Any]]:
    return [
        {"name": plugin} if isinstance(plugin, str) else {"name": plugin[0], "weight": plugin[1]} for plugin in names
    ]


def only(*enabled: str | tuple[str, int], **points: Any) -> dict[str, Any]:
    """A profile without defaults."""
    return {"multiPoint": {"enabled": named(*enabled), "disabled": NO_DEFAULTS}, **points}


DEFAULT_FILTERS = [
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
]


def test_the_defaults_filter_in_upstreams_order() -> None:
    assert names_at("filter", {}) == [*DEFAULT_FILTERS, "NodeDeclaredFeatures"]


def test_1_35_has_no_declared_features_yet() -> None:
    assert names_at("filter", {}, Target.parse("1.35")) == DEFAULT_FILTERS


def test_1_37_looks_at_the_name_before_the_cordon() -> None:
    assert names_at("filter", {}, Target.parse("1.37"))[:2] == ["NodeName", "NodeUnschedulable"]
    assert names_at("preFilter", {}, Target.parse("1.37"))[:3] == ["NodeName", "NodeUnschedulable", "TaintToleration"]


def test_the_defaults_score_with_upstreams_weights() -> None:
    assert at("score", {}) == [
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodeResourcesFit", 1),
        ("VolumeBinding", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
    ]


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("preEnqueue", ["SchedulingGates", "DynamicResources", "DefaultPreemption"]),
        ("queueSort", ["PrioritySort"]),
        ("postFilter", ["DynamicResources", "DefaultPreemption"]),
        ("reserve", ["VolumeBinding", "DynamicResources"]),
        ("permit", []),
        ("bind", ["DefaultBinder"]),
        ("placementScore", ["NodeResourcesFit"]),
    ],
)
def test_the_other_points_have_upstreams_defaults(point: str, expected: list[str]) -> None:
    assert names_at(point, {}) == expected


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param({"filter": {"enabled": named("Every")}}, [*DEFAULT_FILTERS, "NodeDeclaredFeatures", "Every"],
                     id="AppendCustomPlugin"),
        pytest.param(
            {"filter": {"enabled": named("Every", "NodeName"), "disabled": named("NodeName")}},
            ["NodeUnschedulable", *DEFAULT_FILTERS[2:], "NodeDeclaredFeatures", "Every", "NodeName"],
            id="InsertAfterDefaultPlugins2",
        ),
        pytest.param(
            {"filter": {"enabled": named("Every", "NodeName", "NodePorts"), "disabled": NO_DEFAULTS}},
            ["Every", "NodeName", "NodePorts"],
            id="InsertBeforeAllPlugins",
        ),
        pytest.param(
            {"filter": {"enabled": named("NodePorts", "NodeName"), "disabled": NO_DEFAULTS}},
            ["NodePorts", "NodeName"],
            id="ReorderDefaultPlugins",
        ),
        pytest.param(
            {"multiPoint": {"enabled": named("Every"), "disabled": named("NodeName", "NodeDeclaredFeatures")}},
            ["NodeUnschedulable", *DEFAULT_FILTERS[2:], "Every"],
            id="Append disabled Multipoint plugins",
        ),
    ],
)  # fmt: skip
def test_merging_with_the_defaults(plugins: dict[str, Any], expected: list[str]) -> None:
    if "multiPoint" in plugins:
        plugins = {**plugins, "queueSort": {"disabled": named("Every")}}
    assert names_at("filter", plugins) == expected


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param(only(("Every", 5)), [("Every", 5)], id="plugin expansion"),
        pytest.param(
            only("Every", score={"disabled": named("Every")}),
            [],
            id="disable MultiPoint plugin at some extension points",
        ),
        pytest.param(only("Every", "Scores1"), [("Every", 1), ("Scores1", 1)], id="Multiple MultiPoint plugins"),
        pytest.param(only("Every", "Scores1", score={"disabled": NO_DEFAULTS}), [], id="disable MultiPoint extension"),
        pytest.param(
            only("Normalizes", "Every", "Scores1", score={"enabled": named("Scores1", "Every")}),
            [("Scores1", 1), ("Every", 1), ("Normalizes", 1)],
            id="Reorder MultiPoint plugins (specified extension takes precedence)",
        ),
        pytest.param(
            only("Every", "Scores1", score={"enabled": named("Normalizes", "Scores1", "Every")}),
            [("Scores1", 1), ("Every", 1), ("Normalizes", 1)],
            id="Reorder MultiPoint plugins (specified extension only takes precedence when it exists in MultiPoint)",
        ),
        pytest.param(
            only("Every", "Scores1", score={"enabled": named(("Scores1", 5), ("Every", 3))}),
            [("Scores1", 5), ("Every", 3)],
            id="Override MultiPoint plugins weights",
        ),
        pytest.param(
            only("Every", "Scores1", score={"enabled": named(("Scores1", 5), ("Scores2", 5), ("Every", 3))}),
            [("Scores1", 5), ("Every", 3), ("Scores2", 5)],
            id="Override MultiPoint plugins weights and avoid a plugin being loaded multiple times",
        ),
        pytest.param(
            only("Sorts", "Binds", "Scores1"),
            [("Scores1", 1)],
            id="disable and enable MultiPoint plugins with '*'",
        ),
        pytest.param(
            only(("Every", 5), score={"enabled": named("Every")}),
            [("Every", 1)],
            id="an omitted weight at the point resets the one of multiPoint",
        ),
    ],
)
def test_expanding_multi_point(plugins: dict[str, Any], expected: list[tuple[str, int]]) -> None:
    assert at("score", plugins) == expected


def test_replacing_a_default_without_a_weight_resets_it_to_one() -> None:
    scores = at("score", {"multiPoint": {"enabled": named("TaintToleration", ("NodeAffinity", 7))}})
    assert scores[:3] == [("TaintToleration", 1), ("NodeAffinity", 7), ("NodeResourcesFit", 1)]


def test_a_replaced_default_keeps_its_place_and_a_re_enabled_one_goes_to_the_end() -> None:
    names = names_at("score", {"score": {"enabled": named(("NodeResourcesFit", 5))}})
    assert names[0] == "NodeResourcesFit"  # An override at the point comes first.
    moved = names_at("score", {"multiPoint": {"enabled": named("NodeAffinity"), "disabled": named("NodeAffinity")}})
    assert moved[-1] == "NodeAffinity"
    assert moved[:2] == ["TaintToleration", "NodeResourcesFit"]


def refusals(plugins: dict[str, Any], target: Target = V1_36) -> list[str]:
    refused = expand(plugins, target)
    assert isinstance(refused, config.Problems), refused
    return [str(problem) for problem in refused]


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param(
            only("Every", "Every"),
            ["plugins.multiPoint.enabled[1]: Every is enabled here already, by entry 0"],
            id="Expect 'already registered' error",
        ),
        pytest.param(
            {"score": {"enabled": named("NodeResourceFit")}},
            [
                "plugins.score.enabled[0].name: there is no plugin 'NodeResourceFit'; did you mean NodeResourcesFit? "
                "If it is in an image of yours, give a PluginConfig that declares it"
            ],
            id="unknown",
        ),
        pytest.param(
            {"score": {"enabled": named("Coscheduling")}},
            [
                "plugins.score.enabled[0].name: there is no plugin 'Coscheduling'; "
                "if it is in an image of yours, give a PluginConfig that declares it"
            ],
            id="somebody else's",
        ),
        pytest.param(
            {"score": {"enabled": named("score")}},
            [
                "plugins.score.enabled[0].name: there is no plugin 'score'; "
                "if it is in an image of yours, give a PluginConfig that declares it"
            ],
            id="a point",
        ),
        pytest.param(
            {"filter": {"enabled": named("ImageLocality")}},
            ["plugins.filter.enabled[0]: ImageLocality has nothing to do at filter; it works at score"],
            id="does not extend",
        ),
        pytest.param(
            {"queueSort": {"disabled": NO_DEFAULTS}, "bind": {"disabled": named("DefaultBinder")}},
            [
                "plugins.queueSort: exactly one plugin must sort the queue; enabled is none",
                "plugins.bind: no plugin is left that binds; enable DefaultBinder or another one",
            ],
            id="nothing sorts or binds",
        ),
        pytest.param(
            {"queueSort": {"enabled": named("Sorts")}},
            ["plugins.queueSort: exactly one plugin must sort the queue; enabled is PrioritySort, Sorts"],
            id="two sort",
        ),
        pytest.param(
            {"filter": {"enabled": named("EBSLimits")}},
            [
                "plugins.filter.enabled[0].name: "
                "EBSLimits was removed from Kubernetes; NodeVolumeLimits counts every driver's volumes"
            ],
            id="removed",
        ),
        pytest.param(
            {"score": {"enabled": named(("NodeAffinity", -1))}},
            [
                "plugins.score.enabled[0].weight: "
                "-1 makes kube-scheduler refuse the weights after it; write 1 or more for NodeAffinity"
            ],
            id="negative weight",
        ),
        pytest.param(
            {"multiPoint": {"enabled": named("NodePorts", ("NodeAffinity", -7))}},
            [
                "plugins.multiPoint.enabled[1].weight: "
                "-7 makes kube-scheduler refuse the weights after it; write 1 or more for NodeAffinity"
            ],
            id="negative weight everywhere",
        ),
        pytest.param(
            {"score": {"enabled": named(("NodeAffinity", 100), ("NodeResourcesFit", -1), ("ImageLocality", -2000))}},
            [
                "plugins.score.enabled[2].weight: "
                "-2000 makes kube-scheduler refuse the weights after it; write 1 or more for ImageLocality"
            ],
            id="the weight that brings the sum below zero",
        ),
    ],
)
def test_what_is_refused(plugins: dict[str, Any], expected: list[str]) -> None:
    assert refusals(plugins) == expected


def test_a_point_that_the_version_does_not_have_is_refused() -> None:
    plugins = {"placementScore": {"enabled": named("NodeResourcesFit")}}
    assert refusals(plugins, Target.parse("1.35")) == [
        "plugins.placementScore: Kubernetes 1.35 has no such extension point; it appeared in Kubernetes 1.36"
    ]
    assert at("placementScore", plugins) == [("NodeResourcesFit", 1)]


def test_plugins_of_upstream_that_this_build_lacks_may_be_named_anywhere() -> None:
    plugins = {"score": {"enabled": named(("InterPodAffinity", 9)), "disabled": named("ImageLocality")}}
    assert ("InterPodAffinity", 9) in at("score", plugins)


def test_all_profiles_of_a_document_must_sort_alike() -> None:
    profiles = [
        {"schedulerName": "a"},
        {
            "schedulerName": "b",
            "plugins": {"queueSort": {"enabled": named("Sorts"), "disabled": named("PrioritySort")}},
        },
    ]
    document = config.load(yaml.safe_dump({**HEADER, "profiles": profiles}))
    assert isinstance(document, config.Document)
    refused = config.expand_profiles(document, V1_36, OTHERS)
    assert isinstance(refused, config.Problems)
    assert [problem.path for problem in refused] == ["profiles[1].plugins.queueSort"]


def test_extenders_are_part_of_a_document() -> None:
    document = config.load(yaml.safe_dump({**HEADER, "extenders": [{"urlPrefix": "http://localhost:1"}]}))
    assert isinstance(document, config.Document)
    assert not isinstance(config.expand_profiles(document, V1_36), config.Problems)


def test_a_weight_below_zero_is_accepted_while_the_sum_before_it_outweighs_it() -> None:
    plugins = {"multiPoint": {"enabled": named(("NodeAffinity", -2))}}
    assert ("NodeAffinity", -2) in at("score", plugins)


def test_a_plugin_twice_in_multi_point_is_refused_only_where_it_would_run_twice() -> None:
    twice = {"multiPoint": {"enabled": named("ImageLocality", "ImageLocality")}}
    assert refusals(twice) == ["plugins.multiPoint.enabled[1]: ImageLocality is enabled here already, by entry 0"]
    assert "ImageLocality" not in names_at("score", {**twice, "score": {"disabled": named("ImageLocality")}})


def test_feature_gates_change_the_defaults() -> None:
    gates = {"InPlacePodVerticalScalingSchedulerPreemption": True, "NodeDeclaredFeatures": False}
    filters = names_at("filter", {}, Target.parse("1.37", gates))
    assert filters[filters.index("NodeResourcesFit") - 1] == "DeferredPodScheduling"
    assert "NodeDeclaredFeatures" not in filters
    assert names_at("permit", {}, Target.parse("1.37", {"GenericWorkload": True})) == ["GangScheduling"]
