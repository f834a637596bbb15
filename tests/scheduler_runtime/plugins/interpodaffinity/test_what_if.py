"""Hypothetical pods on a node, or off it, against a cluster where they really are."""

from __future__ import annotations

from copy import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime import testing
from scheduler_runtime.api import SKIP, NodeTable, Pod
from scheduler_runtime.plugins.interpodaffinity import InterPodAffinity
from tests.scheduler_runtime.plugins.interpodaffinity.clusters import (
    by_node,
    cluster_of,
    objects_of,
    plugin,
    pod,
    pods,
    required,
    table_of,
    term,
    worlds,
)
from tests.scheduler_runtime.plugins.interpodaffinity.naive import World


def by_row(judge: InterPodAffinity, pod: Pod, nodes: NodeTable, state: Any) -> dict[str, list[tuple[str, Any]]]:
    return {
        name: [(reject.reason, reject.resolvable) for reject in judge.filter_row(pod, nodes, state, row)]
        for row, name in enumerate(nodes.names)
    }


@pytest.mark.thorough
@settings(max_examples=100, deadline=None)
@given(worlds(), pods(), pods("added"), st.data())
def test_pods_that_come_and_go(world: World, pod: Pod, added: Pod, data: st.DataObject) -> None:
    cluster, judge = cluster_of(world), plugin(world.version, objects_of(world.namespaces))
    nodes = table_of(cluster)
    state = judge.pre_filter(pod, nodes, {})
    if state is SKIP:
        return  # Then the framework does not ask either.
    removed = [one for one in world.placed if data.draw(st.booleans())]
    comes_to = data.draw(st.sampled_from(world.nodes)).name
    for other, node in removed:
        state = judge.remove_pod(pod, nodes, copy(state), other, cluster.table.row(node.name) or 0)
        cluster.table.remove_pod(other, node.name)
    state = judge.add_pod(pod, nodes, copy(state), added, cluster.table.row(comes_to) or 0)
    cluster.place(added, comes_to)
    fresh = judge.pre_filter(pod, nodes, {})
    really = by_node(nodes, () if fresh is SKIP else judge.filter(pod, nodes, fresh))
    assert by_node(nodes, judge.filter(pod, nodes, state)) == really
    assert by_row(judge, pod, nodes, state) == really


def test_a_question_does_not_change_the_state_it_started_from() -> None:
    cluster, judge = testing.Cluster(testing.node("a")), plugin()
    table = table_of(cluster)
    wants = pod("p", affinity=required("podAntiAffinity", term(app="x")))
    state = judge.pre_filter(wants, table, {})
    then = judge.add_pod(wants, table, copy(state), pod("other", {"app": "x"}), 0)
    assert by_row(judge, wants, table, then)["a"]
    assert not by_row(judge, wants, table, state)["a"]


def test_a_pod_that_is_added_may_keep_it_away_by_the_labels_of_its_namespace() -> None:
    cluster = testing.Cluster(testing.node("a"))
    table, judge = table_of(cluster), plugin(objects=objects_of({"default": {"team": "t"}}))
    wants = pod("p", {"app": "p"}, affinity=required("podAntiAffinity", term(app="x")))
    by_team = {**term(app="p"), "namespaceSelector": {"matchLabels": {"team": "t"}}}
    shy = pod("shy", {}, "red", affinity=required("podAntiAffinity", by_team))
    state = judge.add_pod(wants, table, judge.pre_filter(wants, table, {}), shy, 0)
    (reject,) = judge.filter_row(wants, table, state, 0)
    assert reject.reason == "node(s) didn't satisfy existing pods anti-affinity rules"
    assert not by_row(judge, wants, table, judge.remove_pod(wants, table, state, shy, 0))["a"]


def test_pods_that_leave_one_after_the_other_count_together() -> None:
    cluster = testing.Cluster(testing.node("a", labels={"zone": "z"}), testing.node("b", labels={"zone": "z"}))
    unwanted = [(pod(f"unwanted-{row}", {"app": "x"}), row) for row in (0, 1)]
    for other, row in unwanted:
        cluster.place(other, cluster.table.names[row])
    table, judge = table_of(cluster), plugin()
    wants = pod("p", affinity=required("podAntiAffinity", term("zone", app="x")))
    state = judge.pre_filter(wants, table, {})
    for expected, (other, row) in zip((True, False), unwanted, strict=True):
        state = judge.remove_pod(wants, table, state, other, row)
        assert bool(by_row(judge, wants, table, state)["b"]) is expected
