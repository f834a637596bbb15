"""Pods that say nothing are spread with those of their Services and of their owner."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import SKIP, Pod
from scheduler_runtime.catalog import IN_TREE_ARGS, in_tree
from scheduler_runtime.state.objects import OwnerReference, TopologySpreadConstraint
from tests.scheduler_runtime.plugins.podtopologyspread.clusters import (
    ZONE,
    Changes,
    Handle,
    all_nodes,
    filter_verdicts,
    labelled,
    plugin_of,
    scored,
    spreading,
)
from tests.scheduler_runtime.plugins.podtopologyspread.naive import HOSTNAME, NaiveFilter, NaiveScore, Rule

SYSTEM = [
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway"),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable="ScheduleAnyway"),
]
LIST: list[dict[str, Any]] = [
    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
    {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"},
]
ARGS = {"defaultingType": "List", "defaultConstraints": LIST}
IN_LIST = [
    TopologySpreadConstraint(max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule"),
    TopologySpreadConstraint(max_skew=2, topology_key="rack", when_unsatisfiable="ScheduleAnyway"),
]


def an_object(kind: str, selector: Any, name: str = "web", namespace: str = "default") -> dict[str, Any]:
    version = "apps/v1" if kind in ("ReplicaSet", "StatefulSet") else "v1"
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"selector": selector}}


def owned(pod: Pod, kind: str, *, version: str = "apps/v1", controller: bool | None = True) -> Pod:
    """``pod`` with an owner called web."""
    owner = OwnerReference(api_version=version, kind=kind, name="web", uid="1", controller=controller)
    return labelled(pod, pod.metadata.labels, owner_references=(owner,))


def app(name: str, labels: dict[str, str] | None = None) -> Pod:
    return labelled(testing.pod(name), {"app": "a"} if labels is None else labels)


@pytest.mark.parametrize("seed", range(6))
def test_system_defaults_score_nodes_with_and_without_a_zone(seed: int) -> None:
    changes, plugin = Changes(seed), spreading({}, an_object("Service", {"app": "a"}))
    pod = app("incoming")
    rules = [Rule(pod, constraint, {"app": "a"}) for constraint in SYSTEM]
    for _ in range(80):
        changes.step()
        feasible = changes.some_feasible()
        expected = NaiveScore(rules, changes.cluster, feasible, requires_all=False).scores()
        assert scored(plugin, pod, changes.cluster, feasible) == expected


@pytest.mark.parametrize("seed", range(6))
def test_listed_defaults_filter_and_score(seed: int) -> None:
    changes, plugin = Changes(seed), spreading(ARGS, an_object("Service", {"app": "a"}))
    pod = app("incoming")
    hard, soft = ([Rule(pod, constraint, {"app": "a"})] for constraint in IN_LIST)
    for _ in range(60):
        changes.step()
        table, feasible = changes.cluster.table, changes.some_feasible()
        naive = NaiveFilter(hard, changes.cluster)
        assert filter_verdicts(plugin, pod, changes.cluster) == [
            naive.verdict(table.node(row)) for row in range(len(table))
        ]
        expected = NaiveScore(soft, changes.cluster, feasible, requires_all=True).scores()
        assert scored(plugin, pod, changes.cluster, feasible) == expected


RS = an_object("ReplicaSet", {"matchLabels": {"app": "a"}})
TIERS = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["x", "y"]}]}


@pytest.mark.parametrize(
    ("objects", "pod", "selects", "passes_over"),
    [
        pytest.param([an_object("Service", {"app": "a"})], app("p"), [{"app": "a"}], [{"app": "b"}], id="a-service"),
        pytest.param(
            [an_object("Service", {"app": "a"}), an_object("Service", {"tier": "x"}, name="other")],
            app("p", {"app": "a", "tier": "x"}),
            [{"app": "a", "tier": "x"}],
            [{"app": "a"}, {"tier": "x"}],
            id="two-services-together",
        ),
        pytest.param([RS], owned(app("p"), "ReplicaSet"), [{"app": "a"}], [{"app": "b"}], id="a-replica-set"),
        pytest.param(
            [an_object("StatefulSet", TIERS), an_object("Service", {"app": "a"})],
            owned(app("p", {"app": "a", "tier": "x"}), "StatefulSet"),
            [{"app": "a", "tier": "y"}],
            [{"app": "a"}, {"tier": "y"}],
            id="a-stateful-set-and-a-service",
        ),
        pytest.param(
            [an_object("ReplicationController", {"app": "a"})],
            owned(app("p"), "ReplicationController", version="v1"),
            [{"app": "a"}],
            [{}],
            id="a-replication-controller",
        ),
        pytest.param(
            [
                an_object("ReplicaSet", {"matchExpressions": [{"key": "a", "operator": "?"}]}),
                an_object("Service", {"app": "a"}),
            ],
            owned(app("p"), "ReplicaSet"),
            [{"app": "a"}],
            [{"app": "b"}],
            id="an-owner-whose-selector-cannot-be-read-adds-nothing",
        ),
    ],
)
def test_who_counts(
    objects: list[Any], pod: Pod, selects: list[dict[str, str]], passes_over: list[dict[str, str]]
) -> None:
    plugin = spreading(ARGS, *objects)
    for labels, counts in ((selects, True), (passes_over, False)):
        for pod_labels in labels:
            cluster = testing.Cluster(testing.node("a", labels={ZONE: "a"}), testing.node("b", labels={ZONE: "b"}))
            cluster.place(labelled(testing.pod("there"), pod_labels), "a")
            cluster.place(labelled(testing.pod("elsewhere"), pod_labels, namespace="other"), "b")
            selects_itself = filter_verdicts(plugin, pod, cluster) != [None, None]
            assert selects_itself == counts


@pytest.mark.parametrize(
    ("objects", "pod"),
    [
        pytest.param([], app("p"), id="nothing-there"),
        pytest.param([an_object("Service", {"app": "b"})], app("p"), id="a-service-of-others"),
        pytest.param([an_object("Service", {"app": "a"}, namespace="other")], app("p"), id="of-another-namespace"),
        pytest.param([an_object("Service", None)], app("p"), id="without-a-selector"),
        pytest.param([an_object("Service", {})], app("p"), id="with-an-empty-selector"),
        pytest.param([an_object("Service", {"app": "a"})], testing.pod("p"), id="a-pod-without-labels"),
        pytest.param([RS], owned(app("p"), "ReplicaSet", controller=None), id="an-owner-that-is-no-controller"),
        pytest.param([RS], owned(app("p"), "ReplicaSet", version="apps/v2"), id="of-another-version"),
        pytest.param([RS], owned(app("p"), "Job", version="batch/v1"), id="of-another-kind"),
        pytest.param([an_object("ReplicaSet", None)], owned(app("p"), "ReplicaSet"), id="that-selects-nothing"),
        pytest.param([an_object("ReplicaSet", {})], owned(app("p"), "ReplicaSet"), id="that-selects-everything"),
        pytest.param([an_object("ReplicaSet", {}, name="x")], owned(app("p"), "ReplicaSet"), id="that-is-gone"),
    ],
)
def test_nobody_is_spread_without_a_selector(objects: list[Any], pod: Pod) -> None:
    plugin, cluster = spreading(ARGS, *objects), testing.Cluster(testing.node("a"))
    assert plugin.pre_filter(pod, all_nodes(cluster), {}) is SKIP
    assert plugin.pre_score(pod, all_nodes(cluster), {}) is SKIP


def test_services_and_owners_that_change_are_noticed() -> None:
    objects, cluster = testing.Objects(), testing.Cluster(testing.node("a"))
    plugin = plugin_of({}, Handle(objects, "v1.36.4", {}))
    pod, service = owned(app("p"), "ReplicaSet"), an_object("Service", {"app": "a"})

    def is_spread() -> bool:
        return plugin.pre_score(pod, all_nodes(cluster), {}) is not SKIP

    assert not is_spread()
    for one in (service, RS):
        objects.put(one)
        assert is_spread()
        objects.remove(one)
        assert not is_spread()


def test_own_constraints_replace_the_defaults() -> None:
    own = [{**LIST[0], "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}]
    pod = labelled(testing.pod("p", topologySpreadConstraints=own), {"app": "a"})
    plugin, nodes = spreading(ARGS, an_object("Service", {"app": "a"})), all_nodes(testing.Cluster(testing.node("a")))
    assert plugin.pre_filter(pod, nodes, {}) is SKIP


@pytest.mark.parametrize(
    ("args", "watched"),
    [
        ({}, ["Service", "ReplicationController", "ReplicaSet", "StatefulSet"]),
        (ARGS, ["Service", "ReplicationController", "ReplicaSet", "StatefulSet"]),
        ({"defaultingType": "List"}, []),
        (None, ["Service", "ReplicationController", "ReplicaSet", "StatefulSet"]),
    ],
)
def test_only_default_constraints_need_to_know_services_and_owners(
    args: dict[str, Any] | None, watched: list[str]
) -> None:
    parsed = None if args is None else IN_TREE_ARGS["PodTopologySpread"].model_validate(args, strict=False)
    declaration = in_tree()["PodTopologySpread"]
    assert [watch.kind for watch in declaration.watches_for(parsed)] == watched
    assert len(declaration.rules_for(parsed)) == len(watched)
