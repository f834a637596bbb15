"""Findings that only a SchedulerProfile can have, and those that its author allows."""

from typing import Any

import pytest

from scheduler_operator.render import ObjectProblems, Rendered, render
from scheduler_operator.render.findings import ANNOTATION, CODES, codes_in, unknown_codes
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import Finding
from tests.scheduler_operator.builders import NAMESPACE, V1_36, declaring

TARGET = Target(V1_36)


def authored(annotation: str = "", **spec: Any) -> UserObject:
    return UserObject("SchedulerProfile", "a", "uid", 1, spec, {}, {ANNOTATION: annotation} if annotation else {})


def findings_of(profile: UserObject) -> list[Finding]:
    outcome = render([profile], {}, NAMESPACE, TARGET)
    assert isinstance(outcome, Rendered), str(outcome)
    return list(outcome.findings)


def refused(profile: UserObject) -> list[str]:
    outcome = render([profile], {}, NAMESPACE, TARGET)
    assert isinstance(outcome, ObjectProblems)
    return [str(problem) for problem in outcome.problems]


def affinity(*values: str) -> list[dict[str, Any]]:
    expression = {"key": "pool", "operator": "In", "values": [*values]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return [{"name": "NodeAffinity", "args": args}]


BATCH = {"matchLabels": {"pool": "batch"}}


def test_an_ordinary_profile_gets_no_finding() -> None:
    assert findings_of(authored()) == []


@pytest.mark.parametrize("connection", [{"qps": 60}, {"qps": -1, "burst": 0}], ids=["berths-own", "no-limit"])
def test_a_burst_that_nobody_wrote_or_that_says_nothing_is_no_finding(connection: dict[str, Any]) -> None:
    assert findings_of(authored(scheduler={"clientConnection": connection})) == []


def test_a_burst_of_zero_that_the_author_wrote_is_reported() -> None:
    result = findings_of(authored(scheduler={"clientConnection": {"qps": 60, "burst": 0}}))
    assert [(item.code, item.path) for item in result] == [
        ("ZeroMeansDefault", "spec.scheduler.clientConnection.burst")
    ]


def test_spread_constraints_that_ignore_nodes_are_reported() -> None:
    result = findings_of(authored(engine="KubeScheduler", nodes=BATCH))
    assert [(item.code, item.path) for item in result] == [("NodesIgnoredBySpread", "spec.nodes")]
    assert (
        result[0].message
        == "pods go to nodes with pool In batch, but hard spread constraints count the other nodes too"
    )


def test_nodes_that_addedAffinity_rules_out_are_an_error_that_names_both() -> None:  # noqa: N802
    messages = refused(authored(nodes=BATCH, pluginConfig=affinity("web", "db")))
    assert len(messages) == 1
    assert messages[0].startswith("spec.pluginConfig[0].args.addedAffinity.")
    assert "nodes asks for pool In batch, which addedAffinity rules out; no node can match: " in messages[0]
    assert "(NodesContradictAffinity)" in messages[0]


def test_nodes_that_contradict_themselves_say_so() -> None:
    never = {"matchLabels": {"pool": "batch"}, "matchExpressions": [{"key": "pool", "operator": "DoesNotExist"}]}
    messages = refused(authored(nodes=never))
    assert [message.partition(". Suggested: ")[0] for message in messages] == [
        "spec.nodes: nodes contradicts itself: no node can match pool In batch and pool DoesNotExist"
    ]


def test_an_affinity_of_ones_own_is_reported_in_its_own_words() -> None:
    result = findings_of(authored(engine="KubeScheduler", pluginConfig=affinity("web")))
    assert [item.code for item in result] == ["NodesIgnoredBySpread"]
    assert result[0].path.startswith("spec.pluginConfig[0].args.addedAffinity")


def test_what_is_allowed_is_not_reported() -> None:
    assert findings_of(authored("NodesIgnoredBySpread", engine="KubeScheduler", nodes=BATCH)) == []


def test_an_allowed_error_lets_the_profile_run() -> None:
    gates = {"preEnqueue": {"disabled": [{"name": "SchedulingGates"}]}}
    assert "(GatesIgnored)" in refused(authored(plugins=gates))[0]
    assert findings_of(authored("GatesIgnored", plugins=gates)) == []


def test_a_misspelt_allowance_is_reported_with_the_code_that_is_intended() -> None:
    result = findings_of(authored("WieghtReset, NodesIgnoredBySpread", nodes=BATCH))
    assert [item.code for item in result] == ["UnknownCode"]
    assert result[0].message == "there is no finding 'WieghtReset'; did you mean WeightReset?"
    assert result[0].suggestion == "berth.dev/allow-findings: WeightReset"


@pytest.mark.parametrize(
    ("annotation", "codes"),
    [("", ()), (" , ", ()), ("A", ("A",)), ("B, A,,C ", ("B", "A", "C"))],
)
def test_codes_are_separated_by_commas(annotation: str, codes: tuple[str, ...]) -> None:
    assert codes_in(annotation) == codes


def test_every_code_may_be_allowed() -> None:
    assert list(unknown_codes(",".join(CODES))) == []


PRICES = declaring("prices", "PriceCap", {"hooks": ["filter"]})


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        pytest.param(
            {}, "spec.plugins.filter.enabled[0]: PriceCap is not in upstream's kube-scheduler", id="upstreams"
        ),
        pytest.param({"image": "registry.example.com/kube-scheduler:v1"}, None, id="ones-own"),
    ],
)
def test_a_declared_plugin_is_refused_without_an_image_that_has_it(scheduler: Any, expected: str | None) -> None:
    scheduler_profile = authored(
        engine="KubeScheduler", scheduler=scheduler, plugins={"filter": {"enabled": [{"name": "PriceCap"}]}}
    )
    outcome = render([scheduler_profile], {"prices": PRICES}, NAMESPACE, TARGET)
    assert isinstance(outcome, Rendered) is (expected is None)
    assert expected is None or str(outcome).startswith(expected)
