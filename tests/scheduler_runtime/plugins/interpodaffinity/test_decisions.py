"""Affinity between pods, decision by decision, with the messages of pods that fit nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import SKIP, Pod, Reject
from scheduler_runtime.framework import Placed
from tests.scheduler_runtime.plugins.interpodaffinity.clusters import (
    HOSTNAME,
    by_node,
    namespace,
    objects_of,
    plugin,
    pod,
    preferred,
    required,
    table_of,
    term,
)
from tests.support.decisions import only

SELF_AFFINE = required("podAffinity", term("zone", app="x"))
AWAY_FROM_X = required("podAntiAffinity", term(app="x"))


def zoned(name: str, zone: str) -> Any:
    return testing.node(name, labels={"zone": zone})


@pytest.fixture
def cluster() -> testing.Cluster:
    """Zone a with nodes a1 and a2, zone b with b1, and a node in no zone."""
    return testing.Cluster(zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b"), testing.node("nowhere"))


def where(cluster: testing.Cluster, pod: Pod, **args: Any) -> str:
    """The node that is chosen, or the message."""
    config = [{"name": "InterPodAffinity", "args": args}] if args else []
    decides = testing.framework({**only("InterPodAffinity"), "pluginConfig": config})
    outcome = decides.schedule(pod, cluster)
    return outcome.node if isinstance(outcome, Placed) else outcome.message


def feasible(cluster: testing.Cluster, pod: Pod) -> set[str]:
    table, judge = table_of(cluster), plugin()
    state = judge.pre_filter(pod, table, {})
    rejected = by_node(table, judge.filter(pod, table, state))
    return {name for name, reasons in rejected.items() if not reasons}


def test_a_pod_goes_near_the_pod_it_needs(cluster: testing.Cluster) -> None:
    cluster.place(pod("there", {"app": "x"}), "a1")
    assert feasible(cluster, pod("p", affinity=SELF_AFFINE)) == {"a1", "a2"}


def test_without_the_pod_it_needs_a_pod_goes_nowhere(cluster: testing.Cluster) -> None:
    assert (
        where(cluster, pod("p", affinity=SELF_AFFINE))
        == "0/4 nodes are available: 4 node(s) didn't match pod affinity rules."
    )


def test_the_first_of_pods_that_need_each_other_goes_wherever_there_is_a_zone(cluster: testing.Cluster) -> None:
    first, second = (pod(name, {"app": "x"}, affinity=SELF_AFFINE) for name in ("first", "second"))
    assert feasible(cluster, first) == {"a1", "a2", "b1"}
    cluster.place(first, "b1")
    assert feasible(cluster, second) == {"b1"}


def test_a_pod_that_it_needs_on_a_node_without_the_label_does_not_count(cluster: testing.Cluster) -> None:
    cluster.place(pod("there", {"app": "x"}), "nowhere")
    assert feasible(cluster, pod("p", {"app": "x"}, affinity=SELF_AFFINE)) == {"a1", "a2", "b1"}
    assert feasible(cluster, pod("q", affinity=SELF_AFFINE)) == set()


def test_one_pod_must_meet_all_terms(cluster: testing.Cluster) -> None:
    both = required("podAffinity", term("zone", app="x"), term(HOSTNAME, tier="y"))
    cluster.place(pod("one", {"app": "x"}), "a1")
    cluster.place(pod("other", {"tier": "y"}), "a1")
    assert "4 node(s) didn't match pod affinity rules" in where(cluster, pod("p", affinity=both))
    cluster.place(pod("both", {"app": "x", "tier": "y"}), "a2")
    assert where(cluster, pod("p", affinity=both)) == "a2"


def test_every_reason_is_told_of_the_nodes_where_it_is_the_first(cluster: testing.Cluster) -> None:
    cluster.place(pod("unwanted", {"app": "x"}), "a1")
    cluster.place(pod("unwilling", affinity=required("podAntiAffinity", term("zone", app="p"))), "a2")
    cluster.place(pod("needed", {"app": "n"}), "a1")
    affinity = {**required("podAffinity", term("zone", app="n")), **AWAY_FROM_X}
    assert where(cluster, pod("p", {"app": "p"}, affinity=affinity)) == (
        "0/4 nodes are available: 1 node(s) didn't match pod anti-affinity rules, "
        "1 node(s) didn't satisfy existing pods anti-affinity rules, 2 node(s) didn't match pod affinity rules."
    )


def test_a_plain_pod_stays_away_from_pods_that_do_not_want_it(cluster: testing.Cluster) -> None:
    for name in ("a1", "a2", "nowhere"):
        cluster.place(pod(f"on-{name}", affinity=AWAY_FROM_X), name)
    assert where(cluster, pod("p", {"app": "x"})) == "b1"


def test_pods_of_other_namespaces_do_not_count_unless_they_are_named() -> None:
    cluster = testing.Cluster(testing.node("a"))
    cluster.place(pod("there", {"app": "x"}, "red"), "a")
    named = required("podAntiAffinity", {**term(app="x"), "namespaces": ["red"]})
    assert "didn't match pod anti-affinity rules" in where(cluster, pod("p", affinity=named))
    assert where(cluster, pod("p", affinity=AWAY_FROM_X)) == "a"


@pytest.mark.parametrize("version", ["v1.36.4", "v1.37.1"])
def test_an_empty_namespace_selector_selects_namespaces_that_are_not_known_yet(version: str) -> None:
    cluster = testing.Cluster(testing.node("a"))
    cluster.place(pod("there", {"app": "x"}, "new"), "a")
    judge, table = plugin(version), table_of(cluster)
    wants = pod("p", affinity=required("podAntiAffinity", {**term(app="x"), "namespaceSelector": {}}))
    assert list(judge.filter_row(wants, table, judge.pre_filter(wants, table, {}), 0))


def test_a_namespace_counts_from_when_its_labels_are_selected() -> None:
    cluster, objects = testing.Cluster(testing.node("a")), objects_of({"red": {}})
    cluster.place(pod("there", {"app": "x"}, "red"), "a")
    judge, table = plugin(objects=objects), table_of(cluster)
    selected = {**term(app="x"), "namespaceSelector": {"matchLabels": {"team": "t"}}}
    wants = pod("p", affinity=required("podAntiAffinity", selected))
    assert not list(judge.filter_row(wants, table, judge.pre_filter(wants, table, {}), 0))
    objects.put(namespace("red", {"team": "t"}))
    assert list(judge.filter_row(wants, table, judge.pre_filter(wants, table, {}), 0))


def test_a_pod_that_wants_others_away_from_a_zone_it_is_not_in_concerns_nobody(cluster: testing.Cluster) -> None:
    cluster.place(pod("shy", affinity=required("podAntiAffinity", term("zone", app="x"))), "nowhere")
    assert plugin().pre_filter(pod("p", {"app": "x"}), table_of(cluster), {}) is SKIP


@pytest.mark.parametrize(
    ("version", "expected"),
    [("v1.36.4", "node(s) didn't match pod anti-affinity rules"), ("v1.37.1", "")],
)
def test_before_1_37_a_namespace_selector_that_selects_the_unlabelled_selects_all(version: str, expected: str) -> None:
    cluster = testing.Cluster(testing.node("a"))
    cluster.place(pod("there", {"app": "x"}, "red"), "a")
    judge = plugin(version, objects_of({"red": {"team": "t"}}))
    unlabelled = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    wants = pod("p", affinity=required("podAntiAffinity", {**term(app="x"), "namespaceSelector": unlabelled}))
    table = table_of(cluster)
    state = judge.pre_filter(wants, table, {})
    assert "".join(reject.reason for reject in judge.filter_row(wants, table, state, 0)) == expected


# Preferences.


def test_a_pod_goes_where_most_of_the_pods_are_that_it_likes(cluster: testing.Cluster) -> None:
    for number, name in enumerate(("a1", "b1", "b1")):
        cluster.place(pod(f"there-{number}", {"app": "x"}), name)
    likes = preferred("podAffinity", 10, term(app="x"))
    dislikes = preferred("podAntiAffinity", 10, term(app="x"))
    assert where(cluster, pod("p", affinity=likes)) == "b1"
    assert where(cluster, pod("q", affinity=dislikes)) in ("a2", "nowhere")


def test_a_plain_pod_goes_to_pods_that_like_it(cluster: testing.Cluster) -> None:
    cluster.place(pod("there", affinity=preferred("podAffinity", 1, term(app="x"))), "a2")
    assert where(cluster, pod("p", {"app": "x"})) == "a2"


def test_pods_that_need_a_pod_are_as_good_as_they_weigh(cluster: testing.Cluster) -> None:
    cluster.place(pod("needs", affinity=required("podAffinity", term(app="x"))), "a1")
    cluster.place(pod("likes", affinity=preferred("podAffinity", 7, term(app="x"))), "b1")
    assert where(cluster, pod("p", {"app": "x"})) == "b1"
    assert where(cluster, pod("q", {"app": "x"}), hardPodAffinityWeight=8) == "a1"


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [({}, True), (preferred("podAffinity", 1, term(app="y")), False)],
    ids=["without-preferences-of-its-own", "with-some"],
)
def test_preferences_of_others_can_be_ignored(affinity: dict[str, Any], expected: bool) -> None:
    cluster = testing.Cluster(testing.node("a"))
    cluster.place(pod("there", affinity=preferred("podAffinity", 1, term(app="x"))), "a")
    judge = plugin(ignorePreferredTermsOfExistingPods=True)
    answer = judge.pre_score(pod("p", {"app": "x"}, affinity=affinity), table_of(cluster), {})
    assert (answer is SKIP) is expected


# What cannot be read.

BROKEN = {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}}
FIELD = "DuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("affinity", "field"),
    [
        (required("podAffinity", BROKEN), f"podAffinity.required{FIELD}[0]"),
        (required("podAntiAffinity", term(), BROKEN), f"podAntiAffinity.required{FIELD}[1]"),
        (preferred("podAffinity", 1, BROKEN), f"podAffinity.preferred{FIELD}[0].podAffinityTerm"),
        (preferred("podAntiAffinity", 1, BROKEN), f"podAntiAffinity.preferred{FIELD}[0].podAffinityTerm"),
    ],
)
def test_a_pod_is_told_which_of_its_fields_cannot_be_read(affinity: dict[str, Any], field: str) -> None:
    answer = plugin().pre_filter(pod("p", affinity=affinity), table_of(testing.Cluster(testing.node("a"))), {})
    assert isinstance(answer, Reject)
    assert answer.resolvable is False
    assert answer.reason.startswith(f"spec.affinity.{field}.labelSelector.matchExpressions[0].operator: 'Near' is not")


def test_terms_of_a_running_pod_that_cannot_be_read_bind_nobody(cluster: testing.Cluster) -> None:
    cluster.place(pod("there", affinity=required("podAntiAffinity", BROKEN)), "a1")
    assert plugin().pre_filter(pod("p", {"app": "x"}), table_of(cluster), {}) is SKIP
