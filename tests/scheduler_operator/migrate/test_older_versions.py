"""KubeSchedulerConfiguration before v1: what went, what was renamed, what weighed otherwise."""

from typing import Any

import pytest

from scheduler_operator.migrate.api_versions import VERSIONS
from scheduler_runtime.catalog import REMOVED_PLUGINS
from tests.scheduler_operator.migrate.results import (
    document,
    effective,
    one_profile,
    outcome,
    profiles,
    refusals,
    remarks,
    spec,
)

OLD_WEIGHTS = [
    {"name": "TaintToleration", "weight": 1},
    {"name": "NodeAffinity", "weight": 1},
    {"name": "InterPodAffinity", "weight": 1},
]


def scored(version: str = "v1beta1", **score: Any) -> dict[str, Any]:
    """A document whose profile says something of score, and nothing else that needs translation."""
    return one_profile(version, plugins={"score": score})


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize("version", [name for name in VERSIONS if name != "v1"])
def test_an_older_version_is_imported_and_distinguished(version: str) -> None:
    assert remarks(document(version))["apiVersion"].startswith(f"{version} is the format of Kubernetes 1.")


def test_a_version_that_never_was_is_refused() -> None:
    assert "v1beta9' is not a version" in refusals(document("v1beta9"))["apiVersion"]


@pytest.mark.parametrize(
    ("version", "remaining"),
    [
        pytest.param("v1", [], id="v1"),
        pytest.param("v1beta3", [], id="v1beta3"),
        pytest.param("v1beta2", OLD_WEIGHTS, id="v1beta2"),
        pytest.param("v1beta1", OLD_WEIGHTS, id="v1beta1"),
    ],
)
def test_default_weights_that_have_grown_since_stay_what_they_were(
    version: str, remaining: list[dict[str, Any]]
) -> None:
    result = spec(one_profile(version))
    assert result.get("plugins", {}).get("score", {}).get("enabled", []) == remaining


def test_weights_that_the_author_chose_are_not_touched() -> None:
    enabled = [{"name": "TaintToleration", "weight": 9}]
    result = spec(scored("v1beta2", enabled=enabled, disabled=named("NodeAffinity")))
    assert result["plugins"]["score"]["enabled"] == [*enabled, {"name": "InterPodAffinity", "weight": 1}]


def test_nothing_is_added_where_nothing_scores() -> None:
    assert spec(scored("v1beta2", disabled=named("*")))["plugins"] == {"score": {"disabled": named("*")}}


@pytest.mark.parametrize(
    ("plugin", "args", "strategy"),
    [
        pytest.param("NodeResourcesMostAllocated", {}, {"type": "MostAllocated"}, id="most"),
        pytest.param(
            "NodeResourcesMostAllocated",
            {"resources": [{"name": "cpu", "weight": 3}]},
            {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]},
            id="most-with-resources",
        ),
        pytest.param(
            "RequestedToCapacityRatio",
            {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]},
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
                },
            },
            id="ratio",
        ),
    ],
)
def test_a_plugin_that_scored_by_requests_becomes_a_strategy(
    plugin: str, args: dict[str, Any], strategy: dict[str, Any]
) -> None:
    score = {"disabled": named("NodeResourcesLeastAllocated"), "enabled": [{"name": plugin, "weight": 5}]}
    source = one_profile("v1beta1", plugins={"score": score}, pluginConfig=[{"name": plugin, "args": args}])
    assert spec(source)["pluginConfig"] == [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    assert {"name": "NodeResourcesFit", "weight": 5} in spec(source)["plugins"]["score"]["enabled"]
    assert strategy["type"] in remarks(source)["profiles[0].plugins.score.enabled[0]"]


def test_of_two_strategies_the_heavier_one_stays_and_the_other_gets_a_remark() -> None:
    source = scored(enabled=[{"name": "NodeResourcesMostAllocated", "weight": 2}, {"name": "RequestedToCapacityRatio"}])
    assert spec(source)["pluginConfig"][0]["args"] == {"scoringStrategy": {"type": "MostAllocated"}}
    assert "MostAllocated stays" in remarks(source)["profiles[0].plugins.score.enabled[1]"]


def test_scoring_by_requests_that_was_off_stays_off() -> None:
    source = scored(disabled=named("NodeResourcesLeastAllocated"))
    assert spec(source)["plugins"]["score"]["disabled"] == named("NodeResourcesFit")


def test_arguments_of_a_strategy_that_nobody_enabled_are_reported() -> None:
    source = one_profile("v1beta1", pluginConfig=[{"name": "NodeResourcesMostAllocated", "args": {"resources": [1]}}])
    assert "pluginConfig" not in spec(source)
    assert "not enabled" in remarks(source)["profiles[0].pluginConfig[0]"]


@pytest.mark.parametrize("plugin", sorted(REMOVED_PLUGINS))
@pytest.mark.parametrize("what", ["enabled", "disabled"])
def test_no_removed_plugin_remains(plugin: str, what: str) -> None:
    source = one_profile("v1beta1", plugins={"filter": {what: named(plugin)}, "score": {what: named(plugin)}})
    assert f"'name': '{plugin}'" not in repr(outcome(source).objects)
    assert plugin in remarks(source)[f"profiles[0].plugins.filter.{what}[0]"]
    assert plugin in remarks(source)[f"profiles[0].plugins.score.{what}[0]"]


def test_volume_limits_of_one_cloud_become_those_of_all_where_only_they_filtered() -> None:
    source = one_profile("v1beta3", plugins={"filter": {"disabled": named("*"), "enabled": named("EBSLimits")}})
    assert "NodeVolumeLimits" in effective(source)["filter"]


def test_labels_that_nodes_must_have_become_the_nodes_of_the_profile() -> None:
    args = {"presentLabels": ["fast"], "absentLabels": ["retiring"]}
    source = one_profile(
        "v1beta1",
        plugins={"filter": {"enabled": named("NodeLabel")}},
        pluginConfig=[{"name": "NodeLabel", "args": args}],
    )
    assert spec(source)["nodes"] == {
        "matchExpressions": [{"key": "fast", "operator": "Exists"}, {"key": "retiring", "operator": "DoesNotExist"}]
    }


def test_labels_that_nodes_should_have_are_preferred() -> None:
    source = one_profile(
        "v1beta1",
        plugins={"score": {"enabled": [{"name": "NodeLabel", "weight": 6}]}},
        pluginConfig=[{"name": "NodeLabel", "args": {"presentLabelsPreference": ["fast", "near"]}}],
    )
    (entry,) = spec(source)["pluginConfig"]
    terms = entry["args"]["addedAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [(term["weight"], term["preference"]["matchExpressions"][0]["key"]) for term in terms] == [
        (3, "fast"),
        (3, "near"),
    ]


def test_constraints_of_v1beta1_that_were_a_list_of_ones_own_are_one_still() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    args = [{"name": "PodTopologySpread", "args": {"defaultConstraints": [constraint]}}]
    (entry,) = spec(one_profile("v1beta1", pluginConfig=args))["pluginConfig"]
    assert entry["args"] == {"defaultConstraints": [constraint], "defaultingType": "List"}


def test_addresses_that_became_flags_are_reported() -> None:
    source = document("v1beta2", healthzBindAddress="0.0.0.0:10251", metricsBindAddress="0.0.0.0:10251")
    assert {"healthzBindAddress", "metricsBindAddress"} <= remarks(source).keys()


def test_v1alpha1_is_one_profile_without_a_list() -> None:
    source = document(
        "v1alpha1",
        schedulerName="old",
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        hardPodAffinitySymmetricWeight=10,
        disablePreemption=True,
        bindTimeoutSeconds=100,
        plugins={"postFilter": {"disabled": named("*")}, "unreserve": {"enabled": named("Own")}},
    )
    result = profiles(outcome(source))["old"]
    assert result["plugins"]["preScore"] == {"disabled": named("*")}
    assert result["plugins"]["postFilter"] == {"disabled": named("DefaultPreemption")}
    assert {entry["name"]: entry["args"] for entry in result["pluginConfig"]} == {
        "NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated"}},
        "VolumeBinding": {"bindTimeoutSeconds": 100},
        "InterPodAffinity": {"hardPodAffinityWeight": 10},
    }
    assert "plugins.unreserve" in remarks(source)


def test_v1alpha2_tells_of_a_policy_that_it_names() -> None:
    source = document("v1alpha1", algorithmSource={"policy": {"file": {"path": "/policy"}}})
    assert "import that Policy" in remarks(source)["algorithmSource.policy"]
