"""From a profile to its document, or to what its author has to change."""

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_operator.authored import Authored
from scheduler_operator.render import Problems, Rendered, check, references, render, uses
from scheduler_runtime import config
from scheduler_runtime.catalog import Target, Version
from tests.scheduler_operator.builders import NAMESPACE, V1_36, declaring, plugin_config, profile, rendered

MOST_ALLOCATED = {"scoringStrategy": {"type": "MostAllocated"}}


def document(written: Authored, *configs: Authored) -> Any:
    return yaml.safe_load(rendered(written, *configs).text)


def problems(written: Authored, *configs: Authored) -> Problems:
    outcome = render([written], {each.name: each for each in configs}, NAMESPACE, Target(V1_36))
    assert isinstance(outcome, Problems)
    return outcome


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


def test_what_the_profile_says_of_plugins_stands_in_the_document_as_written() -> None:
    plugins = {
        "multiPoint": {"disabled": [{"name": "ImageLocality"}]},
        "score": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}], "disabled": [{"name": "*"}]},
    }
    written = profile(
        plugins=plugins,
        pluginConfig=[{"name": "NodeResourcesFit", "args": MOST_ALLOCATED}],
        percentageOfNodesToScore=40,
    )
    assert document(written)["profiles"] == [
        {
            "schedulerName": "bin-packing",
            "percentageOfNodesToScore": 40,
            "plugins": plugins,
            "pluginConfig": [{"name": "NodeResourcesFit", "args": MOST_ALLOCATED}],
        }
    ]


def test_process_settings_stand_where_upstream_has_them() -> None:
    found = document(
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
    assert found["leaderElection"]["leaseDuration"] == "30s"
    assert found["leaderElection"]["retryPeriod"] == "3s"
    assert found["clientConnection"] == {"qps": 20, "burst": 0}
    assert (found["parallelism"], found["podInitialBackoffSeconds"], found["podMaxBackoffSeconds"]) == (4, 2, 20)


def test_a_reference_brings_the_arguments_of_its_plugin_config() -> None:
    written = profile(pluginConfig=[{"name": "NodeResourcesFit", "ref": "packed"}])
    config_ = plugin_config("packed", "NodeResourcesFit", **MOST_ALLOCATED)
    assert document(written, config_)["profiles"][0]["pluginConfig"] == [
        {"name": "NodeResourcesFit", "args": MOST_ALLOCATED}
    ]


def terms(found: Any) -> Any:
    (entry,) = found["profiles"][0]["pluginConfig"]
    required = entry["args"]["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return required["nodeSelectorTerms"]


def test_nodes_become_the_affinity_that_node_affinity_adds_to_every_pod() -> None:
    selector = {"matchLabels": {"pool": "batch"}, "matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}]}
    assert terms(document(profile(nodes=selector))) == [
        {
            "matchExpressions": [
                {"key": "pool", "operator": "In", "values": ["batch"]},
                {"key": "gpu", "operator": "DoesNotExist"},
            ]
        }
    ]


def test_nodes_narrow_every_term_that_added_affinity_has_already() -> None:
    own = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]} for zone in ("a", "b")]
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": own}}}
    written = profile(nodes={"matchLabels": {"pool": "batch"}}, pluginConfig=[{"name": "NodeAffinity", "args": args}])
    pool = {"key": "pool", "operator": "In", "values": ["batch"]}
    assert terms(document(written)) == [{"matchExpressions": [*term["matchExpressions"], pool]} for term in own]


@pytest.mark.parametrize("selector", [{}, {"matchLabels": {}}, {"matchExpressions": []}])
def test_an_empty_selector_means_every_node(selector: dict[str, Any]) -> None:
    filters_not = {"filter": {"disabled": [{"name": "NodeAffinity"}]}}
    assert document(profile(nodes=selector)) == document(profile())
    assert document(profile(nodes=selector, plugins=filters_not)) == document(profile(plugins=filters_not))


@pytest.mark.parametrize("empty", [{}, {"matchExpressions": []}])
def test_a_term_that_matches_no_node_does_not_come_to_match_some(empty: dict[str, Any]) -> None:
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [empty]}}}
    entry = {"name": "NodeAffinity", "args": args}
    written = profile(nodes={"matchLabels": {"pool": "batch"}}, pluginConfig=[entry], allow="NodesContradictAffinity")
    assert terms(document(written)) == [empty]


ODD: Any = "odd"


@pytest.mark.parametrize(
    "added",
    [
        ODD,
        {"requiredDuringSchedulingIgnoredDuringExecution": ODD},
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": ODD}},
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [ODD]}},
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": ODD}]}},
    ],
)
def test_what_is_wrong_in_added_affinity_is_told_where_it_was_written(added: Any) -> None:
    args = {"addedAffinity": added}
    written = profile(nodes={"matchLabels": {"a": "b"}}, pluginConfig=[{"name": "NodeAffinity", "args": args}])
    assert all(each.path.startswith("spec.pluginConfig[0].args.addedAffinity") for each in problems(written).problems)


@settings(max_examples=25)
@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.from_regex(r"[a-z]{0,8}", fullmatch=True)))
def test_whatever_labels_nodes_asks_for_the_document_loads(match_labels: dict[str, str]) -> None:
    text = rendered(profile(nodes={"matchLabels": match_labels})).text
    assert isinstance(config.load(text), config.Document)


def test_the_version_is_the_profiles_own_where_it_names_one() -> None:
    assert rendered(profile()).version == V1_36
    assert rendered(profile(scheduler={"kubernetesVersion": "1.35"})).version == Version(1, 35)


def test_the_same_profile_gives_the_same_bytes_in_whatever_order_it_was_written() -> None:
    one = profile(percentageOfNodesToScore=5, nodes={"matchLabels": {"a": "1", "b": "2"}})
    other = profile(nodes={"matchLabels": {"b": "2", "a": "1"}}, percentageOfNodesToScore=5)
    assert rendered(one).text == rendered(other).text
    assert rendered(one).hash == rendered(other).hash


def test_rules_are_those_of_the_plugins_that_run() -> None:
    resources = {resource for rule in rendered(profile()).rules for resource in rule.resources}
    assert "pods/binding" in resources
    assert "secrets" not in resources


def test_an_unknown_plugin_is_named_with_the_names_that_were_perhaps_meant() -> None:
    found = problems(
        profile(
            plugins={"score": {"enabled": [{"name": "NodeResourceFit"}]}},
            pluginConfig=[{"name": "Nonsense", "args": {}}],
        )
    )
    assert found.reason == "PluginUnknown"
    assert [problem.path for problem in found.problems] == [
        "spec.plugins.score.enabled[0].name",
        "spec.pluginConfig[0].name",
    ]
    assert "NodeResourceFit" in str(found)
    assert "NodeResourcesFit" in str(found)


def test_a_plugin_that_upstream_has_and_this_build_has_not_is_no_mistake() -> None:
    found = rendered(profile(plugins={"score": {"enabled": [{"name": "ImageLocality", "weight": 3}]}}))
    assert ("ImageLocality", 3) in [(plugin.name, plugin.weight) for plugin in found.effective.points["score"]]


def test_a_missing_plugin_config_is_named() -> None:
    found = problems(profile(pluginConfig=[{"name": "NodeResourcesFit", "ref": "absent"}]))
    assert found.reason == "PluginConfigMissing"
    assert "PluginConfig absent" in str(found)


@pytest.mark.parametrize(
    ("spec", "path", "words"),
    [
        pytest.param(
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Most"}}}]},
            "spec.pluginConfig[0].args.scoringStrategy.type",
            "'Most'",
            id="wrong-argument",
        ),
        pytest.param(
            {"pluginConfig": [{"name": "NodeName"}]}, "spec.pluginConfig[0]", "exactly one", id="neither-args-nor-ref"
        ),
        pytest.param({"replicas": 3}, "spec.replicas", "is not a field", id="field-that-does-not-exist"),
        pytest.param({"percentageOfNodesToScore": 101}, "spec.percentageOfNodesToScore", "100", id="beyond-its-bound"),
        pytest.param(
            {"scheduler": {"podInitialBackoffSeconds": 20}},
            "spec.scheduler.podMaxBackoffSeconds",
            "10",
            id="backoff-below-its-beginning",
        ),
        pytest.param(
            {"scheduler": {"leaderElection": {"leaseDuration": "5s"}}},
            "spec.scheduler.leaderElection.leaseDuration",
            "5s",
            id="lease-shorter-than-its-renewal",
        ),
        pytest.param(
            {"plugins": {"bind": {"disabled": [{"name": "*"}]}}}, "spec.plugins.bind", "DefaultBinder", id="no-binder"
        ),
        pytest.param(
            {"nodes": {"matchLabels": {"a": "b"}}, "plugins": {"filter": {"disabled": [{"name": "NodeAffinity"}]}}},
            "spec.nodes",
            "NodeAffinity",
            id="nodes-that-nobody-looks-at",
        ),
        pytest.param(
            {"nodes": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "spec.nodes",
            "In",
            id="in-without-values",
        ),
    ],
)
def test_a_mistake_is_told_at_its_path(spec: dict[str, Any], path: str, words: str) -> None:
    found = problems(profile(**spec))
    assert found.reason == "Invalid"
    assert [problem.path for problem in found.problems] == [path]
    assert words in found.problems[0].message


def test_a_mistake_in_a_plugin_config_is_told_where_it_was_written() -> None:
    written = profile(pluginConfig=[{"name": "NodeResourcesFit", "ref": "odd"}])
    found = problems(written, plugin_config("odd", "NodeResourcesFit", scoringStrategy={"type": "Most"}))
    assert found.problems[0].path == "PluginConfig odd: spec.args.scoringStrategy.type"


def test_a_reference_to_the_arguments_of_another_plugin_is_refused() -> None:
    written = profile(pluginConfig=[{"name": "NodeAffinity", "ref": "packed"}])
    found = problems(written, plugin_config("packed", "NodeResourcesFit"))
    assert "NodeResourcesFit, not of NodeAffinity" in str(found)


def test_all_mistakes_are_told_at_once() -> None:
    found = problems(profile(percentageOfNodesToScore=101, engine="Rust", scheduler={"replicas": -1}))
    assert {problem.path for problem in found.problems} == {
        "spec.percentageOfNodesToScore",
        "spec.engine",
        "spec.scheduler.replicas",
    }


def test_problems_of_different_kinds_are_told_together_under_the_most_telling_word() -> None:
    found = problems(
        profile(
            plugins={"score": {"enabled": [{"name": "Nonsense"}]}},
            pluginConfig=[
                {"name": "NodeAffinity", "ref": "absent"},
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Most"}}},
                {"name": "NodeName"},
            ],
        )
    )
    assert found.reason == "PluginUnknown"
    assert {problem.path for problem in found.problems} == {
        "spec.plugins.score.enabled[0].name",
        "spec.pluginConfig[0].ref",
        "spec.pluginConfig[1].args.scoringStrategy.type",
        "spec.pluginConfig[2]",
    }


def test_an_extension_point_that_the_version_does_not_have_is_a_mistake() -> None:
    plugins = {"podGroupPostFilter": {"enabled": [{"name": "DefaultPreemption"}]}}
    assert "has no such extension point" in str(problems(profile(plugins=plugins)))
    newer = profile(plugins=plugins, scheduler={"kubernetesVersion": "1.37"})
    assert rendered(newer).version == Version(1, 37)


def test_the_name_of_the_clusters_own_scheduler_has_to_be_asked_for() -> None:
    assert "replacesDefaultScheduler" in str(problems(profile("default-scheduler")))
    asked_for = rendered(profile("default-scheduler", replacesDefaultScheduler=True))
    assert asked_for.document.profiles[0].scheduler_name == "default-scheduler"


def test_a_profile_cannot_have_the_name_of_the_operators_own_objects() -> None:
    assert [problem.path for problem in problems(profile("operator")).problems] == ["metadata.name"]


@pytest.mark.parametrize("name", ["with.dot", "Upper", "-a", "a-", "a" * 53])
def test_a_profile_is_named_as_the_crd_has_it(name: str) -> None:
    (found,) = problems(profile(name)).problems
    assert found.path == "metadata.name"
    assert str(found).startswith(f"metadata.name: {name} is not a name for a profile; write at most 52 lower-case")
    assert isinstance(render([profile("a" * 52)], {}, NAMESPACE, Target(V1_36)), Rendered)


def test_a_wrong_name_is_told_beside_a_wrong_spec() -> None:
    assert [each.path for each in problems(profile("operator", engine="Rust")).problems] == [
        "metadata.name",
        "spec.engine",
    ]


@pytest.mark.parametrize("written", ["1.20", "v1.34.9"])
def test_a_version_older_than_all_that_are_known_is_refused(written: str) -> None:
    found = problems(profile(scheduler={"kubernetesVersion": written}))
    assert found.reason == "Invalid"
    assert str(found) == (
        f"spec.scheduler.kubernetesVersion: {written} is older than this release knows; it knows 1.35 to 1.37"
    )


def test_a_cluster_older_than_all_that_are_known_is_named() -> None:
    found = render([profile()], {}, NAMESPACE, Target(Version(1, 34, 2)))
    assert isinstance(found, Problems)
    assert str(found).startswith("the cluster's Kubernetes v1.34.2 is older than this release knows")
    assert isinstance(
        render([profile(scheduler={"kubernetesVersion": "1.35"})], {}, NAMESPACE, Target(Version(1, 34))), Rendered
    )


def test_references_are_found_in_a_profile_that_is_otherwise_wrong() -> None:
    broken = profile(
        engine="Rust", pluginConfig=[{"name": "A", "ref": "one"}, {"ref": "two"}, "nonsense", {"name": "B"}]
    )
    assert references(broken) == {"one", "two"}


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        pytest.param(plugin_config("c", "NodeResourcesFit", **MOST_ALLOCATED), None, id="valid"),
        pytest.param(plugin_config("c", "NodeResourcesFit", nonsense=1), "Invalid", id="no-such-argument"),
        pytest.param(plugin_config("c", "NodeName", anything=1), "Invalid", id="takes-no-arguments"),
        pytest.param(plugin_config("c", "Nonsense"), "PluginUnknown", id="no-such-plugin"),
    ],
)
def test_a_plugin_config_is_judged_by_itself(written: Authored, reason: str | None) -> None:
    found = check(written, {written.name: written}, NAMESPACE, Target(V1_36))
    assert (found.reason if found else None) == reason
    if found:
        assert all(problem.path.startswith("spec.") for problem in found.problems)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["engine", "plugins", "pluginConfig", "nodes", "scheduler", "paused", "percentageOfNodesToScore"]
)


@given(st.dictionaries(FIELDS, JSON))
def test_whatever_a_spec_holds_the_outcome_is_a_document_or_problems(spec: dict[str, Any]) -> None:
    outcome = render([profile(**spec)], {}, NAMESPACE, Target(V1_36))
    if isinstance(outcome, Problems):
        assert all(problem.path.startswith("spec") for problem in outcome.problems)
    else:
        json.dumps(yaml.safe_load(outcome.text))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"pluginConfig": [{"name": "A", "ref": "prices"}]}, True, id="by-reference"),
        pytest.param({"plugins": {"score": {"enabled": [{"name": "PriceCap"}]}}}, True, id="by-its-plugin"),
        pytest.param({"pluginConfig": [{"name": "PriceCap", "args": {}}]}, True, id="by-arguments-for-its-plugin"),
        pytest.param({"plugins": {"score": {"disabled": [{"name": "PriceCap"}]}}}, False, id="disabled"),
        pytest.param({"plugins": "nonsense", "pluginConfig": {"name": "PriceCap"}}, False, id="nonsense"),
    ],
)
def test_who_uses_a_plugin_config_that_declares(spec: dict[str, Any], expected: bool) -> None:
    assert uses(profile(**spec), declaring("prices", "PriceCap", {"hooks": ["score"]})) is expected


def test_arguments_for_a_plugin_are_no_use_of_a_config_that_declares_nothing() -> None:
    assert not uses(profile(pluginConfig=[{"name": "A", "args": {}}]), plugin_config("a", "A"))


@pytest.mark.parametrize("gate", ["NoSuchGate", "SchedulerQueueingHint"])
def test_a_feature_gate_that_the_version_does_not_have_is_refused(gate: str) -> None:
    (found,) = problems(profile(scheduler={"featureGates": {gate: True}})).problems
    assert found.path == "spec.scheduler.featureGates"
    assert gate in found.message


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
    written = [profile(f"p{n}", plugins=plugins, pluginConfig=[entry], nodes=nodes) for n in range(100)]
    rendered(written[0])
    before = time.process_time()
    for each in written:
        render([each], {}, NAMESPACE, Target(V1_36))
    taken = (time.process_time() - before) * 10
    with capsys.disabled():
        print(f"1,000 profiles in {taken:.2f} s", end=" ")  # noqa: T201
    assert taken < 10
