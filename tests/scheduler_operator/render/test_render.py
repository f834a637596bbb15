"""From a profile to its document."""

import time

import pytest

from scheduler_operator.render import ObjectProblems, Rendered, render
from scheduler_runtime.catalog import Target, Version
from tests.scheduler_operator.builders import NAMESPACE, V1_36, document, plugin_config, problems, profile, rendered

MOST_ALLOCATED = {"scoringStrategy": {"type": "MostAllocated"}}


def test_an_empty_profile_is_the_default_scheduler_under_its_own_name_and_lease() -> None:
    assert document(profile("calm")) == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {
            "leaderElect": True,
            "resourceName": "berth-calm",
            "resourceNamespace": "berth-system",
        },
        "clientConnection": {"qps": -1, "burst": 0},
        "profiles": [{"schedulerName": "calm"}],
    }


def test_what_the_profile_says_of_plugins_stands_unchanged_in_the_document() -> None:
    plugins = {
        "multiPoint": {"disabled": [{"name": "ImageLocality"}]},
        "score": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}], "disabled": [{"name": "*"}]},
    }
    scheduler_profile = profile(
        plugins=plugins,
        pluginConfig=[{"name": "NodeResourcesFit", "args": MOST_ALLOCATED}],
        percentageOfNodesToScore=40,
    )
    assert document(scheduler_profile)["profiles"] == [
        {
            "schedulerName": "bin-packing",
            "percentageOfNodesToScore": 40,
            "plugins": plugins,
            "pluginConfig": [{"name": "NodeResourcesFit", "args": MOST_ALLOCATED}],
        }
    ]


def test_process_settings_stand_where_upstream_has_them() -> None:
    result = document(
        profile(
            scheduler={
                "leaderElection": {"leaseDuration": "30s", "retryPeriod": "3s"},
                "clientConnection": {"qps": 20},
                "parallelism": 4,
                "podInitialBackoffSeconds": 2,
                "podMaxBackoffSeconds": 20,
            }
        )
    )
    assert result["leaderElection"]["leaseDuration"] == "30s"
    assert result["leaderElection"]["retryPeriod"] == "3s"
    assert result["clientConnection"] == {"qps": 20, "burst": 0}
    assert (result["parallelism"], result["podInitialBackoffSeconds"], result["podMaxBackoffSeconds"]) == (4, 2, 20)


def test_a_reference_brings_the_arguments_of_its_plugin_config() -> None:
    scheduler_profile = profile(pluginConfig=[{"name": "NodeResourcesFit", "ref": "packed"}])
    config_ = plugin_config("packed", "NodeResourcesFit", **MOST_ALLOCATED)
    assert document(scheduler_profile, config_)["profiles"][0]["pluginConfig"] == [
        {"name": "NodeResourcesFit", "args": MOST_ALLOCATED}
    ]


def test_the_version_is_the_profiles_own_where_it_names_one() -> None:
    assert rendered(profile()).version == V1_36
    assert rendered(profile(scheduler={"kubernetesVersion": "1.35"})).version == Version(1, 35)


def test_the_same_profile_gives_the_same_bytes_in_any_order_of_its_fields() -> None:
    one = profile(percentageOfNodesToScore=5, nodes={"matchLabels": {"a": "1", "b": "2"}})
    other = profile(nodes={"matchLabels": {"b": "2", "a": "1"}}, percentageOfNodesToScore=5)
    assert rendered(one).text == rendered(other).text
    assert rendered(one).hash == rendered(other).hash


def test_rules_are_those_of_the_plugins_that_run() -> None:
    resources = {resource for rule in rendered(profile()).rules for resource in rule.resources}
    assert "pods/binding" in resources
    assert "secrets" not in resources


def test_a_plugin_that_upstream_has_and_this_build_has_not_is_no_mistake() -> None:
    result = rendered(profile(plugins={"score": {"enabled": [{"name": "ImageLocality", "weight": 3}]}}))
    assert ("ImageLocality", 3) in [(plugin.name, plugin.weight) for plugin in result.effective.points["score"]]


def test_an_extension_point_that_the_version_does_not_have_is_a_mistake() -> None:
    plugins = {"podGroupPostFilter": {"enabled": [{"name": "DefaultPreemption"}]}}
    assert "has no such extension point" in str(problems(profile(plugins=plugins)))
    newer = profile(plugins=plugins, scheduler={"kubernetesVersion": "1.37"})
    assert rendered(newer).version == Version(1, 37)


@pytest.mark.parametrize("version", ["1.20", "v1.34.9"])
def test_a_version_older_than_all_supported_ones_is_refused(version: str) -> None:
    result = problems(profile(scheduler={"kubernetesVersion": version}))
    assert result.reason == "Invalid"
    assert str(result) == (
        f"spec.scheduler.kubernetesVersion: {version} is older than this release knows; it knows 1.35 to 1.37"
    )


def test_a_cluster_older_than_all_supported_ones_is_named() -> None:
    result = render([profile()], {}, NAMESPACE, Target(Version(1, 34, 2)))
    assert isinstance(result, ObjectProblems)
    assert str(result).startswith("the cluster's Kubernetes v1.34.2 is older than this release knows")
    assert isinstance(
        render([profile(scheduler={"kubernetesVersion": "1.35"})], {}, NAMESPACE, Target(Version(1, 34))), Rendered
    )


@pytest.mark.parametrize("gate", ["NoSuchGate", "SchedulerQueueingHint"])
def test_a_feature_gate_that_the_version_does_not_have_is_refused(gate: str) -> None:
    (result,) = problems(profile(scheduler={"featureGates": {gate: True}})).problems
    assert result.path == "spec.scheduler.featureGates"
    assert gate in result.message


def test_feature_gates_are_honoured_in_what_runs() -> None:
    on = rendered(profile(scheduler={"featureGates": {"GenericWorkload": True}, "kubernetesVersion": "1.37"}))
    assert "GangScheduling" in on.effective.names
    assert "GangScheduling" not in rendered(profile(scheduler={"kubernetesVersion": "1.37"})).effective.names


def test_a_thousand_profiles_take_two_seconds_at_most_on_an_idle_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Printed with -s, and asserted in processor time with room for a slower machine."""
    plugins = {
        "score": {"disabled": [{"name": "ImageLocality"}], "enabled": [{"name": "NodeResourcesFit", "weight": 5}]}
    }
    entry = {"name": "NodeResourcesFit", "args": MOST_ALLOCATED}
    nodes = {"matchLabels": {"pool": "batch"}}
    profiles = [profile(f"p{n}", plugins=plugins, pluginConfig=[entry], nodes=nodes) for n in range(100)]
    rendered(profiles[0])
    before = time.process_time()
    for item in profiles:
        render([item], {}, NAMESPACE, Target(V1_36))
    seconds = (time.process_time() - before) * 10
    with capsys.disabled():
        print(f"1,000 profiles in {seconds:.2f} s", end=" ")  # noqa: T201
    assert seconds < 10
