"""The words a user reads when a pod finds no node: upstream's, letter for letter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from scheduler_runtime import testing
from scheduler_runtime.framework import Placed, Unschedulable
from scheduler_runtime.state import objects
from tests.support.unreadable import pod_asking

TAINTED = [objects.Taint(key="dedicated", effect="NoSchedule")]


FILTERS_ONLY = {"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}


def refusal(
    nodes: Iterable[objects.Node], pod: objects.Pod, profile: dict[str, Any] = FILTERS_ONLY, **options: Any
) -> Unschedulable:
    outcome = testing.framework(profile, **options).schedule(pod, testing.Cluster(*nodes))
    assert isinstance(outcome, Unschedulable), outcome
    return outcome


@pytest.mark.parametrize(
    ("version", "before"), [("v1.35.4", "no new claims to deallocate, "), ("v1.37.1", "")], ids=["1.35", "1.37"]
)
def test_what_the_post_filters_say_follows_in_their_order(version: str, before: str) -> None:
    nodes = [testing.node("small"), testing.node("cordoned", unschedulable=True)]
    refused = refusal(nodes, testing.pod("p", {"cpu": "9"}), {}, version=version)
    assert refused.message == (
        f"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable. {before}"
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def by_name(*names: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}


@pytest.mark.parametrize("version", ["v1.35.4", "v1.37.1"])
def test_after_a_rejection_for_good_no_post_filter_helps(version: str) -> None:
    nodes = [testing.node("a"), testing.node("b")]
    refused = refusal(nodes, testing.pod("p", affinity=affinity(by_name("a", "b"))), {}, version=version)
    assert refused.message == "0/2 nodes are available: pod affinity terms conflict. not found"
    assert refused.nomination is None


def test_the_nominated_node_is_judged_even_when_the_pod_names_another() -> None:
    nodes = [testing.node("a", taints=TAINTED), testing.node("b", cpu="1"), testing.node("c")]
    pod = testing.pod("p", {"cpu": "2"}, affinity=affinity(by_name("b")))
    pod = msgspec.structs.replace(pod, status=objects.PodStatus(nominated_node_name="a"))
    assert refusal(nodes, pod).message == (
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity], "
        "1 node(s) had untolerated taint(s)."
    )


def test_reasons_are_counted_and_sorted_as_text() -> None:
    nodes = [
        testing.node("tainted", taints=TAINTED),
        *(testing.node(f"small-{number}", cpu="1") for number in range(10)),
        *(testing.node(f"elsewhere-{number}", labels={"zone": "b"}) for number in range(2)),
    ]
    for node in nodes[:11]:
        assert node.metadata.labels is not None
        node.metadata.labels["zone"] = "a"
    refused = refusal(nodes, testing.pod("p", {"cpu": "2"}, nodeSelector={"zone": "a"}))
    assert refused.message == (
        "0/13 nodes are available: 1 node(s) had untolerated taint(s), 10 Insufficient cpu, "
        "2 node(s) didn't match Pod's node affinity/selector."
    )
    assert refused.plugins == {"TaintToleration", "NodeResourcesFit", "NodeAffinity"}


def test_one_node_may_lack_several_things() -> None:
    pod = testing.pod("p", {"cpu": "9", "memory": "90Gi", "ephemeral-storage": "1", "example.com/gpu": "1"})
    assert refusal([testing.node("a", pods="0")], pod).message == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient ephemeral-storage, "
        "1 Insufficient example.com/gpu, 1 Insufficient memory, 1 Too many pods."
    )


def test_only_the_first_plugin_that_rejects_a_node_is_named() -> None:
    node = testing.node("a", cpu="1", taints=TAINTED, unschedulable=True)
    refused = refusal([node], testing.pod("p", {"cpu": "2"}))
    assert refused.message == "0/1 nodes are available: 1 node(s) were unschedulable."
    assert refused.plugins == {"NodeUnschedulable"}


def test_no_nodes_at_all() -> None:
    refused = refusal([], testing.pod("p"))
    assert (refused.message, refused.plugins) == ("no nodes available to schedule pods", frozenset())


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        pytest.param(
            [by_name("a", "b")],
            "0/3 nodes are available: pod affinity terms conflict.",
            id="conflict",
        ),
        pytest.param(
            [by_name("gone")],
            "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity].",
            id="the-only-node-does-not-exist",
        ),
        pytest.param(
            [by_name("a"), by_name("gone")],
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
            id="the-only-node-is-full",
        ),
        pytest.param(
            [{}],
            "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
            id="an-empty-term-matches-nothing",
        ),
    ],
)
def test_pods_that_name_their_node(terms: list[dict[str, Any]], message: str) -> None:
    nodes = [testing.node(name, cpu="1") for name in "abc"]
    refused = refusal(nodes, testing.pod("p", {"cpu": "2"}, affinity=affinity(*terms)))
    assert (refused.message, refused.plugins >= {"NodeAffinity"}) == (message, True)


def test_pods_that_name_their_node_get_it() -> None:
    cluster = testing.Cluster(*(testing.node(name) for name in "abc"))
    outcome = testing.framework().schedule(testing.pod("p", affinity=affinity(by_name("b"))), cluster)
    assert isinstance(outcome, Placed)
    assert outcome.node == "b"


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        pytest.param(
            pod_asking("p", "lots"),
            "0/1 nodes are available: spec.containers[0].resources.requests[cpu]: 'lots' is not a quantity such as "
            "100m, 1.5Gi or 2.",
            id="quantity",
        ),
        pytest.param(
            testing.pod("p", affinity=affinity({"matchExpressions": [{"key": "a", "operator": "Within"}]})),
            "0/1 nodes are available: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            ".nodeSelectorTerms[0].matchExpressions[0].operator: 'Within' is not an operator; "
            "the operators are In, NotIn, Exists, DoesNotExist, Gt, Lt.",
            id="operator",
        ),
    ],
)
def test_nonsense_is_refused_by_name_of_its_field(pod: objects.Pod, message: str) -> None:
    refused = refusal([testing.node("a")], pod)
    assert refused.message == message
    assert refused.plugins


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("spec", "needs"),
    [
        ({"resourceClaims": [{"name": "gpu"}]}, "DynamicResources (spec.resourceClaims)"),
        ({"volumes": [{"name": "v", "iscsi": {}}]}, "VolumeRestrictions (spec.volumes[*].iscsi)"),
        ({"volumes": [{"name": "v", "azureDisk": {}}]}, "NodeVolumeLimits (spec.volumes[*].azureDisk)"),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {}}]},
            "VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone "
            "(spec.volumes[*].persistentVolumeClaim)",
        ),
    ],
)
def test_the_message_of_a_pod_that_needs_a_missing_plugin_has_the_way_out(spec: dict[str, Any], needs: str) -> None:
    refused = refusal([testing.node("a")], testing.pod("p", **spec))
    assert refused.message == (
        f"pod needs {needs}, which Berth does not have yet: use another scheduler for it, or leave that field out"
    )


def test_the_message_of_a_pod_that_needs_several_plugins_names_all_fields() -> None:
    spec: dict[str, Any] = {"volumes": [{"name": "v", "iscsi": {}}], "resourceClaims": [{"name": "gpu"}]}
    refused = refusal([testing.node("a")], testing.pod("p", **spec))
    assert refused.plugins == {"VolumeRestrictions", "DynamicResources"}
    assert refused.message == (
        "pod needs VolumeRestrictions (spec.volumes[*].iscsi), "
        "and DynamicResources (spec.resourceClaims), which Berth does not have yet: "
        "use another scheduler for it, or leave those fields out"
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": [{"name": "v", "configMap": {}}, {"name": "w", "hostPath": {}}, {"name": "x", "csi": {}}]},
        {"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]},
        {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}},
        {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]},
    ],
)
def test_what_no_plugin_could_reject_is_placed(spec: dict[str, Any]) -> None:
    outcome = testing.framework().schedule(testing.pod("p", **spec), testing.Cluster(testing.node("a")))
    assert isinstance(outcome, Placed)


def test_a_missing_plugin_that_the_profile_disables_is_not_needed() -> None:
    profile = {"plugins": {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}}
    pod = testing.pod("p", resourceClaims=[{"name": "gpu"}])
    assert isinstance(testing.framework(profile).schedule(pod, testing.Cluster(testing.node("a"))), Placed)
