"""A whole document: everything that is wrong with it at once, and what it is with all its defaults."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from scheduler_runtime import config
from scheduler_runtime.catalog import Target
from tests.support.documents import documents, mutated

HEADER = {"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}
V1_36 = Target.parse("1.36")


def loaded(value: dict[str, Any]) -> config.Document:
    document = config.parse_document({**HEADER, **value})
    assert isinstance(document, config.Document), str(document)
    return document


def problems(value: dict[str, Any], target: Target) -> tuple[config.Problem, ...]:
    outcome = config.check_document(value, target)
    return outcome.problems if isinstance(outcome, config.Problems) else ()


def test_a_mistake_in_one_profile_does_not_hide_those_of_another() -> None:
    filters = {"filter": {"enabled": [{"name": "NodeNam"}]}, "placementScore": {}}
    value = {**HEADER, "parallelism": 0, "profiles": [{"schedulerName": 5}, {"schedulerName": "b", "plugins": filters}]}
    assert [str(problem) for problem in problems(value, Target.parse("1.35"))] == [
        "parallelism: 0 is too small; it must be at least 1",
        "profiles[0].schedulerName: 5 is not text; put it in quotes",
        "profiles[1].plugins.filter.enabled[0].name: there is no plugin 'NodeNam'; did you mean NodeName? "
        "If it is in an image of yours, give a PluginConfig that declares it",
        "profiles[1].plugins.placementScore: Kubernetes 1.35 has no such extension point;"
        " it appeared in Kubernetes 1.36",
    ]


def test_every_mistake_is_reported_wherever_another_one_is() -> None:
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Best"}}}
    pods = {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 900}}
    profile: dict[str, Any] = {"plugins": {"filter": {"enabled": [{"name": "Nope"}]}}, "pluginConfig": [fit, pods]}
    value = {**HEADER, "leaderElection": {"leaseDuration": "1s"}, "podInitialBackoffSeconds": 50, "profiles": [profile]}
    expected = [
        "leaderElection.leaseDuration",
        "podMaxBackoffSeconds",
        "profiles[0].plugins.filter.enabled[0].name",
        "profiles[0].pluginConfig[0].args.scoringStrategy.type",
        "profiles[0].pluginConfig[1].args.hardPodAffinityWeight",
    ]
    assert [problem.path for problem in problems(value, V1_36)] == expected
    profile |= {"foo": 1, "percentageOfNodesToScore": 101}
    profile["plugins"]["scores"] = {}
    wrong = ["percentageOfNodesToScore", "plugins.scores", "foo"]
    paths = {problem.path for problem in problems(value, V1_36)}
    assert paths == {*expected, *(f"profiles[0].{path}" for path in wrong)}


@pytest.mark.parametrize("profiles", [5, [5], [None, {}], [{"plugins": 5}], [{"plugins": {"bind": {"disabled": 5}}}]])
def test_what_cannot_be_read_says_nothing_of_the_plugins(profiles: Any) -> None:
    value = {**HEADER, "parallelism": 0, "profiles": profiles}
    reported = problems(value, V1_36)
    assert reported[0].path == "parallelism"
    assert all("plugin " not in problem.message for problem in reported)


def test_profiles_are_compared_whatever_else_is_wrong() -> None:
    sorting = {"queueSort": {"enabled": [{"name": "PrioritySort"}], "disabled": [{"name": "*"}]}}
    value = {"parallelism": 0, "profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": sorting}]}
    assert [problem.path for problem in problems({**HEADER, **value}, V1_36)] == [
        "parallelism",
        "profiles[1].plugins.queueSort",
    ]


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(mutated(documents(V1_36)))
def test_judging_at_once_agrees_with_reading_and_expanding(value: dict[str, Any]) -> None:
    read = config.parse_document(value)
    expanded = read if isinstance(read, config.Problems) else config.expand_profiles(read, V1_36)
    whole = config.check_document(value, V1_36)
    if isinstance(expanded, config.Problems):
        assert isinstance(whole, config.Problems)
        assert set(expanded) <= set(whole)
    else:
        assert isinstance(whole, config.Accepted)
        assert (whole.document, whole.profiles) == (read, expanded)


@pytest.mark.parametrize("rate", [1e39, -1e39, 10**400])
def test_a_rate_that_go_cannot_hold_is_refused(rate: float) -> None:
    (problem,) = problems({**HEADER, "clientConnection": {"qps": rate}}, V1_36)
    assert str(problem).startswith("clientConnection.qps: ")
    assert problem.message.endswith("is too large for a rate")


def test_nothing_is_wrong_with_the_default_document() -> None:
    assert problems(HEADER, V1_36) == ()


def test_a_profile_needs_what_extenders_say_of_resources() -> None:
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
    off = {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}
    value = {**HEADER, "extenders": [{"managedResources": managed}], "profiles": [{"plugins": off}]}
    (problem,) = problems(value, V1_36)
    assert problem.path == "profiles[0].pluginConfig"


def test_what_extenders_look_after_alone_is_ignored_in_every_profile() -> None:
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}, {"name": "example.com/nic"}]
    profiles = [{"schedulerName": "a"}, {"schedulerName": "b"}]
    whole = loaded({"profiles": profiles, "extenders": [{"urlPrefix": "http://e", "managedResources": managed}]})
    expanded = config.expand_profiles(whole, V1_36)
    assert not isinstance(expanded, config.Problems)
    ignored = [profile.args["NodeResourcesFit"].model_dump()["ignored_resources"] for profile in expanded]
    assert ignored == [("example.com/gpu",)] * 2


def test_defaults_are_filled_in_as_kube_scheduler_prints_them() -> None:
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
    value = {
        "clientConnection": {"qps": 0.1},
        "leaderElection": {"leaseDuration": "0s", "renewDeadline": "9s500ms", "resourceName": ""},
        "enableProfiling": False,
        "extenders": [{"managedResources": managed}],
    }
    printed = config.with_defaults(loaded(value), V1_36)
    assert printed["clientConnection"]["qps"] == 0.1
    assert printed["enableContentionProfiling"] is False
    assert printed["leaderElection"]["leaseDuration"] == "15s"
    assert printed["leaderElection"]["renewDeadline"] == "9.5s"
    assert printed["extenders"] == [{"urlPrefix": "", "httpTimeout": "5s", "managedResources": managed}]
    args = {entry["name"]: entry["args"] for entry in printed["profiles"][0]["pluginConfig"]}
    assert args["NodeResourcesFit"]["ignoredResources"] == ["example.com/gpu"]
    assert "shape" not in args["VolumeBinding"]


@pytest.mark.parametrize(
    ("version", "gates", "point", "refused"),
    [
        ("1.37", {}, "podGroupPostFilter", True),
        ("1.37", {}, "postFilter", False),
        ("1.36", {}, "postFilter", False),
    ],
)
def test_a_plugin_that_upstream_builds_without_arguments_is_refused(
    version: str, gates: dict[str, bool], point: str, refused: bool
) -> None:
    off = {"disabled": [{"name": "DefaultPreemption"}]}
    plugins = {"multiPoint": off, point: {"enabled": [{"name": "DefaultPreemption"}]}}
    reported = problems({**HEADER, "profiles": [{"plugins": plugins}]}, Target.parse(version, gates))
    assert [problem.path for problem in reported] == [f"profiles[0].plugins.{point}"] * refused


@pytest.mark.parametrize(
    ("gates", "shape", "refused"),
    [
        ({}, [{"utilization": 0, "score": 1}], True),
        ({"StorageCapacityScoring": True}, [{"utilization": 0, "score": 1}], False),
        ({"StorageCapacityScoring": True}, [], False),
        ({}, [], True),
    ],
)
def test_arguments_that_a_gate_brings(gates: dict[str, bool], shape: list[Any], refused: bool) -> None:
    entry = {"name": "VolumeBinding", "args": {"shape": shape}}
    reported = problems({**HEADER, "profiles": [{"pluginConfig": [entry]}]}, Target.parse("1.36", gates))
    assert [problem.path for problem in reported] == ["profiles[0].pluginConfig[0].args.shape"] * refused


@pytest.mark.parametrize(
    ("tls", "path"),
    [
        ({"insecure": True, "caData": "YQ=="}, "insecure"),
        ({"caData": "YQ"}, "caData"),
        ({"caData": "YQ=="}, "caData"),
        ({"keyData": "-"}, "keyData"),
    ],
)
def test_certificates_of_extenders_that_nobody_could_use(tls: dict[str, Any], path: str) -> None:
    (problem,) = problems({**HEADER, "extenders": [{"tlsConfig": tls}]}, V1_36)
    assert problem.path == f"extenders[0].tlsConfig.{path}"
