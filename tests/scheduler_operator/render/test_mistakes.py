"""Mistakes in profiles: all reported at once, at the paths where they were written."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scheduler_operator.render import Problems, Rendered, render
from scheduler_runtime.catalog import Target
from tests.scheduler_operator.builders import NAMESPACE, V1_36, plugin_config, problems, profile, rendered


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
        pytest.param(
            {"scheduler": {"leaderElection": {"foo": 1}}},
            "spec.scheduler.leaderElection.foo",
            "the fields are leaseDuration, renewDeadline, retryPeriod",
            id="field-unlike-any-other",
        ),
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


def test_a_wrong_name_is_told_beside_a_wrong_spec() -> None:
    assert [each.path for each in problems(profile("operator", engine="Rust")).problems] == [
        "metadata.name",
        "spec.engine",
    ]


def test_a_profile_cannot_have_the_name_of_the_operators_own_objects() -> None:
    assert [problem.path for problem in problems(profile("operator")).problems] == ["metadata.name"]


@pytest.mark.parametrize("name", ["with.dot", "Upper", "-a", "a-", "a" * 53])
def test_a_profile_is_named_as_the_crd_has_it(name: str) -> None:
    (found,) = problems(profile(name)).problems
    assert found.path == "metadata.name"
    assert str(found).startswith(f"metadata.name: {name} is not a name for a profile; write at most 52 lower-case")
    assert isinstance(render([profile("a" * 52)], {}, NAMESPACE, Target(V1_36)), Rendered)


def test_the_name_of_the_clusters_own_scheduler_has_to_be_asked_for() -> None:
    assert "replacesDefaultScheduler" in str(problems(profile("default-scheduler")))
    asked_for = rendered(profile("default-scheduler", replacesDefaultScheduler=True))
    assert asked_for.document.profiles[0].scheduler_name == "default-scheduler"


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
