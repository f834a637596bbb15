"""Properties of every finding, whatever its code."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Target
from scheduler_runtime.config.linter.inputs import DocumentInput
from tests.support.documents import documents, mutated
from tests.support.linting import lint, plugins

VERSIONS = ("1.35", "1.36", "1.37")
TARGETS = {version: Target.parse(version) for version in VERSIONS}
ANY = settings(max_examples=80, deadline=None)


def checked_findings(document: config.Document, target: Target) -> tuple[config.Finding, ...]:
    """What both engines are told, after a look at what every finding promises."""
    for finding in config.lint(document, target, engine="Python"):
        assert finding.code in config.CODES
        assert finding.severity is config.CODES[finding.code].severity
        assert finding.message
        assert finding.suggestion, finding
    return config.lint(document, target)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_default_document_has_no_findings(version: str) -> None:
    assert lint("", version) == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_document_with_all_its_defaults_has_no_findings(version: str) -> None:
    document = config.parse_document(HEADER)
    assert isinstance(document, config.Document)
    complete = config.parse_document(config.with_defaults(document, TARGETS[version]))
    assert isinstance(complete, config.Document), complete
    assert config.lint(complete, TARGETS[version]) == ()


HEADER = {"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}
DOCUMENTED = {
    "default": "clientConnection: {kubeconfig: /etc/srv/kubernetes/kube-scheduler/kubeconfig}",
    "two-profiles": "profiles:\n- schedulerName: default-scheduler\n- schedulerName: no-scoring-scheduler\n"
    "  plugins: {preScore: {disabled: [{name: '*'}]}, score: {disabled: [{name: '*'}]}}",
    "own-affinity": "profiles:\n- schedulerName: default-scheduler\n- schedulerName: foo-scheduler\n"
    "  pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    "{nodeSelectorTerms: [{matchExpressions: [{key: scheduler-profile, operator: In, values: [foo]}]}]}}}}]",
    "no-default-spread": "profiles:\n- schedulerName: default-scheduler\n"
    "  pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [], defaultingType: List}}]",
    "percentage": "percentageOfNodesToScore: 50",
    "second-scheduler": "profiles: [{schedulerName: my-scheduler}]\nleaderElection: {leaderElect: false}",
}
"""Shapes that Kubernetes' own documentation recommends."""


@pytest.mark.parametrize("text", DOCUMENTED.values(), ids=DOCUMENTED)
def test_what_kubernetes_documents_gives_notes_at_most(text: str) -> None:
    assert {finding.severity for finding in lint(text)} <= {config.Severity.NOTE}


def test_findings_come_in_the_order_of_the_document() -> None:
    text = """
clientConnection: {qps: 5}
leaderElection: {resourceName: own}
profiles:
- schedulerName: a
- schedulerName: b
  pluginConfig: [{name: NodeName}, {name: GangScheduling}]
  plugins: {multiPoint: {enabled: [{name: NodeAffinity}]}, score: {enabled: [{name: TaintToleration}]}}
"""
    assert [(finding.path, finding.code) for finding in lint(text)] == [
        ("clientConnection.qps", "TinyQPS"),
        ("profiles[1].plugins.score.enabled[0]", "WeightReset"),
        ("profiles[1].plugins.multiPoint.enabled[0]", "WeightReset"),
        ("profiles[1].pluginConfig[1]", "DisabledButConfigured"),
    ]


def test_the_worst_of_one_place_comes_first() -> None:
    findings = lint(
        plugins("multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}")
    )
    here = [finding.severity.rank for finding in findings if finding.path.endswith("multiPoint.disabled[0]")]
    assert len(here) > 2
    assert here == sorted(here)


def test_allowed_codes_are_returned_apart() -> None:
    findings = lint("clientConnection: {qps: 5}\nprofiles: [{plugins: {score: {enabled: [{name: NodeAffinity}]}}}]")
    counting, allowed = config.split_allowed(findings, {"TinyQPS"})
    assert [finding.code for finding in counting] == ["WeightReset"]
    assert [finding.code for finding in allowed] == ["TinyQPS"]


def test_a_profile_that_is_refused_is_judged_by_its_text() -> None:
    text = "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity}, {name: NoSuchPlugin}]}}}]"
    assert [finding.code for finding in lint(text)] == ["WeightReset"]


def test_every_code_says_what_it_is_and_what_to_do() -> None:
    for name, code in config.CODES.items():
        assert name == code.name
        assert code.sentence.endswith(".")
        assert code.help.endswith(".")
        assert not code.since or code.since >= catalog.OLDEST_MINOR


@pytest.mark.thorough
@ANY
@given(st.sampled_from(VERSIONS).flatmap(lambda version: st.tuples(st.just(version), documents(TARGETS[version]))))
def test_every_document_can_be_linted(case: tuple[str, dict[str, Any]]) -> None:
    version, value = case
    document = config.parse_document(value)
    if isinstance(document, config.Document):
        checked_findings(document, TARGETS[version])


def test_where_no_change_would_help_the_suggestion_is_the_help() -> None:
    wrong = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": None}}}  # read only where it runs
    disabled = {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}
    profile = {"schedulerName": "full", "plugins": disabled, "pluginConfig": [wrong]}
    document = config.parse_document(
        {"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    )
    assert isinstance(document, config.Document)
    (finding,) = (finding for finding in checked_findings(document, TARGETS["1.36"]) if finding.code == "FilterRemoved")
    assert finding.suggestion == "leave the filter on, or enable a plugin that replaces it"


@pytest.mark.thorough
@ANY
@given(mutated(documents(TARGETS["1.36"])))
def test_nor_does_a_slip_trip_it(value: dict[str, Any]) -> None:
    document = config.parse_document(value)
    if isinstance(document, config.Document):
        checked_findings(document, TARGETS["1.36"])


@pytest.mark.thorough
@ANY
@given(documents(TARGETS["1.37"]), st.integers(0, 2**32))
def test_the_order_of_fields_does_not_matter(value: dict[str, Any], seed: int) -> None:
    first, second = config.parse_document(value), config.parse_document(shuffled(value, random.Random(seed)))  # noqa: S311
    if isinstance(first, config.Document) and isinstance(second, config.Document):
        ours, theirs = (config.lint(document, TARGETS["1.37"]) for document in (first, second))
        assert sorted(map(str, ours)) == sorted(map(str, theirs))


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same document with the fields of every part in another order."""
    if isinstance(value, dict):
        names = list(value)
        chance.shuffle(names)
        return {name: shuffled(value[name], chance) for name in names}
    return [shuffled(inner, chance) for inner in value] if isinstance(value, list) else value


@pytest.mark.thorough
@ANY
@given(documents(TARGETS["1.36"]))
def test_what_runs_at_a_point_is_what_the_effective_profile_says(value: dict[str, Any]) -> None:
    document = config.parse_document(value)
    if isinstance(document, config.Document):
        for profile in DocumentInput(document, TARGETS["1.36"], {}, "KubeScheduler").profiles:
            effective = profile.effective
            points = effective.running.points if effective else {}
            assert {point: profile.plugins_at(point) for point in points} == {
                point: tuple(effective.at(point)) for point in points if effective
            }
