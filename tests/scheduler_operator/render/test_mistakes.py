"""Mistakes in profiles: all reported at once, at the paths where they were written."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scheduler_operator.render import ObjectProblems, Rendered, render
from scheduler_runtime.catalog import Target
from tests.scheduler_operator.builders import NAMESPACE, V1_36, plugin_config, problems, profile, rendered


def test_an_unknown_plugin_is_named_with_the_names_that_were_perhaps_intended() -> None:
    result = problems(
        profile(
            plugins={"score": {"enabled": [{"name": "NodeResourceFit"}]}},
            pluginConfig=[{"name": "Nonsense", "args": {}}],
        )
    )
    assert result.reason == "PluginUnknown"
    assert [problem.path for problem in result.problems] == [
        "spec.plugins.score.enabled[0].name",
        "spec.pluginConfig[0].name",
    ]
    assert "NodeResourceFit" in str(result)
    assert "NodeResourcesFit" in str(result)


def test_a_missing_plugin_config_is_named() -> None:
    result = problems(profile(pluginConfig=[{"name": "NodeResourcesFit", "ref": "absent"}]))
    assert result.reason == "PluginConfigMissing"
    assert "PluginConfig absent" in str(result)


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
def test_a_mistake_is_reported_at_its_path(spec: dict[str, Any], path: str, words: str) -> None:
    result = problems(profile(**spec))
    assert result.reason == "Invalid"
    assert [problem.path for problem in result.problems] == [path]
    assert words in result.problems[0].message


def test_a_mistake_in_a_plugin_config_is_reported_where_its_author_has_it() -> None:
    scheduler_profile = profile(pluginConfig=[{"name": "NodeResourcesFit", "ref": "odd"}])
    result = problems(scheduler_profile, plugin_config("odd", "NodeResourcesFit", scoringStrategy={"type": "Most"}))
    assert result.problems[0].path == "PluginConfig odd: spec.args.scoringStrategy.type"


def test_a_reference_to_the_arguments_of_another_plugin_is_refused() -> None:
    scheduler_profile = profile(pluginConfig=[{"name": "NodeAffinity", "ref": "packed"}])
    result = problems(scheduler_profile, plugin_config("packed", "NodeResourcesFit"))
    assert "NodeResourcesFit, not of NodeAffinity" in str(result)


def test_all_mistakes_are_reported_at_once() -> None:
    result = problems(profile(percentageOfNodesToScore=101, engine="Rust", scheduler={"replicas": -1}))
    assert {problem.path for problem in result.problems} == {
        "spec.percentageOfNodesToScore",
        "spec.engine",
        "spec.scheduler.replicas",
    }


def test_problems_of_different_kinds_are_reported_together_under_the_most_telling_word() -> None:
    result = problems(
        profile(
            plugins={"score": {"enabled": [{"name": "Nonsense"}]}},
            pluginConfig=[
                {"name": "NodeAffinity", "ref": "absent"},
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Most"}}},
                {"name": "NodeName"},
            ],
        )
    )
    assert result.reason == "PluginUnknown"
    assert {problem.path for problem in result.problems} == {
        "spec.plugins.score.enabled[0].name",
        "spec.pluginConfig[0].ref",
        "spec.pluginConfig[1].args.scoringStrategy.type",
        "spec.pluginConfig[2]",
    }


def test_a_wrong_name_is_reported_beside_a_wrong_spec() -> None:
    assert [problem.path for problem in problems(profile("operator", engine="Rust")).problems] == [
        "metadata.name",
        "spec.engine",
    ]


def test_a_profile_cannot_have_the_name_of_the_operators_own_objects() -> None:
    assert [problem.path for problem in problems(profile("operator")).problems] == ["metadata.name"]


@pytest.mark.parametrize("name", ["with.dot", "Upper", "-a", "a-", "a" * 53])
def test_a_profile_is_named_as_the_crd_has_it(name: str) -> None:
    (result,) = problems(profile(name)).problems
    assert result.path == "metadata.name"
    assert str(result).startswith(f"metadata.name: {name} is not a name for a profile; write at most 52 lower-case")
    assert isinstance(render([profile("a" * 52)], {}, NAMESPACE, Target(V1_36)), Rendered)


def test_the_name_of_the_clusters_own_scheduler_needs_consent() -> None:
    assert "replacesDefaultScheduler" in str(problems(profile("default-scheduler")))
    allowed_profile = rendered(profile("default-scheduler", replacesDefaultScheduler=True))
    assert allowed_profile.document.profiles[0].scheduler_name == "default-scheduler"


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
    if isinstance(outcome, ObjectProblems):
        assert all(problem.path.startswith("spec") for problem in outcome.problems)
    else:
        json.dumps(yaml.safe_load(outcome.text))
