"""Cached scores updated pod by pod, against a plugin that sees the cluster for the first time."""

from __future__ import annotations

from random import Random
from typing import Any
from unittest.mock import patch

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.api import SKIP, NodeTable, Pod
from scheduler_runtime.plugins.interpodaffinity.topology_scores import ScoresByRareLabels, TopologyScoresCache
from scheduler_runtime.state.table import (
    PodSelection,
    PodSelector,
    Requirement,
    Requirements,
    WeightedPods,
    columns,
)
from tests.scheduler_runtime.plugins.interpodaffinity.clusters import (
    by_node,
    namespace,
    nodes,
    plugin,
    pod,
    pods,
    preferred,
    required,
    table_of,
    term,
)

RARE = [f"rare-{number}" for number in range(6)]
NAMES = [f"node-{number}" for number in range(5)]
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["a", "b"]))


class Lasting(RuleBasedStateMachine):
    """One plugin sees every change of a cluster; at each step another one is made anew."""

    @initialize(incoming=st.lists(pods(), min_size=1, max_size=3))
    def begin(self, incoming: list[Pod]) -> None:
        self.cluster = testing.Cluster(testing.node("node-0", labels={"zone": "a"}))
        self.objects = testing.Objects()
        self.lasting = plugin(objects=self.objects)
        self.incoming = incoming
        self.placed: dict[str, tuple[Pod, str]] = {}

    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def node_comes_or_is_relabelled(self, data: st.DataObject, name: str) -> None:
        self.cluster.table.set_node(data.draw(nodes(name)))

    @precondition(lambda self: len(self.cluster.table) > 1)
    @rule(data=st.data())
    def node_goes(self, data: st.DataObject) -> None:
        self.cluster.table.remove_node(data.draw(st.sampled_from(sorted(self.cluster.table.names))))

    @rule(data=st.data())
    def pod_comes(self, data: st.DataObject) -> None:
        name = f"pod-{len(self.placed)}-{data.draw(st.integers(0, 10**6))}"
        node = data.draw(st.sampled_from(sorted(self.cluster.table.names)))
        drawn = data.draw(st.sampled_from(self.incoming) | pods())
        comes = replace(drawn, metadata=replace(drawn.metadata, name=name, uid=f"uid-of-{name}"))
        if comes.uid not in self.placed:
            self.cluster.place(comes, node)
            self.placed[comes.uid] = (comes, node)

    @precondition(lambda self: self.placed)
    @rule(data=st.data())
    def pod_goes(self, data: st.DataObject) -> None:
        pod, node = self.placed.pop(data.draw(st.sampled_from(sorted(self.placed))))
        self.cluster.table.remove_pod(pod, node)

    @rule(name=st.sampled_from(["default", "red"]), labels=LABELS)
    def namespace_is_labelled(self, name: str, labels: dict[str, str]) -> None:
        self.objects.put(namespace(name, labels))

    @rule()
    def says_the_same(self) -> None:
        for one in self.incoming:
            assert answers(self.lasting, one, self.cluster) == answers(plugin(objects=self.objects), one, self.cluster)


def answers(judge: Any, pod: Pod, cluster: testing.Cluster) -> tuple[Any, Any]:
    table = table_of(cluster)
    state, points = judge.pre_filter(pod, table, {}), judge.pre_score(pod, table, {})
    rejected = state if state is SKIP else by_node(table, judge.filter(pod, table, state))
    scored = points if points is SKIP else judge.score(pod, table, points).tolist()
    return rejected, scored


TestLasting = Lasting.TestCase
TestLasting.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)


def test_the_state_of_one_attempt_stays_as_it_is_when_the_next_pod_brings_the_counts_up_to_date() -> None:
    cluster = testing.Cluster(testing.node("a"), testing.node("b"))
    table, judge = table_of(cluster), plugin()
    wants = pod("p", {"app": "x"}, affinity=required("podAntiAffinity", term(app="x")))
    before = judge.pre_filter(wants, table, {})
    cluster.place(pod("other", {"app": "x"}), "a")
    after = judge.pre_filter(wants, table, {})
    assert not any(by_node(table, judge.filter(wants, table, before)).values())
    assert by_node(table, judge.filter(wants, table, after))["a"]


def test_many_changes_at_once_count_like_few() -> None:
    cluster = testing.Cluster(testing.node("a"), testing.node("b"))
    table, judge = table_of(cluster), plugin()
    likes = pod("p", affinity=preferred("podAffinity", 2, term(app="x")))
    cluster.place(pod("first", {"app": "x"}), "b")
    judge.pre_score(likes, table, {})
    for number in range(100):
        cluster.place(pod(f"other-{number}", {"app": "x"}), "a")
    assert judge.score(likes, table, judge.pre_score(likes, table, {})).tolist() == [200, 2]


def cluster_of_rare_labels(seed: int) -> NodeTable:
    """Seven nodes with some of six labels, and pods on them."""
    random = Random(seed)  # noqa: S311
    cluster = testing.Cluster(
        *(
            testing.node(f"n{number}", labels={key: random.choice("ab") for key in RARE if random.random() < 0.6})
            for number in range(7)
        )
    )
    for number in range(12):
        cluster.place(pod(f"p{number}", {"app": random.choice("xyz")}), f"n{random.randrange(7)}")
    return table_of(cluster)


def sources_in(nodes: NodeTable, seed: int) -> dict[str, list[WeightedPods]]:
    random = Random(seed)  # noqa: S311
    selectors = [PodSelector(None, Requirements([Requirement("app", "In", frozenset(app))])) for app in "xyz"]
    counts = [nodes.match_counts(PodSelection((selector,))) for selector in selectors]
    return {key: [WeightedPods(one, random.randrange(-9, 9)) for one in random.sample(counts, 2)] for key in RARE}


@pytest.mark.parametrize("seed", range(10))
def test_points_by_labels_that_few_nodes_have_are_those_of_any_label(seed: int) -> None:
    with patch.object(columns, "_FEW_NODES", 0):
        nodes = cluster_of_rare_labels(seed)
    cache, sources = TopologyScoresCache(), sources_in(nodes, seed)
    expected = [cache.get(nodes, key, tuple(of_key)) for key, of_key in sources.items()]
    nodes = cluster_of_rare_labels(seed)
    cache, sources = TopologyScoresCache(), sources_in(nodes, seed)
    few = [cache.get(nodes, key, tuple(of_key)) for key, of_key in sources.items()]
    assert [(one.points.tolist(), one.total) for one in few] == [(one.points.tolist(), one.total) for one in expected]
    together = ScoresByRareLabels(nodes, sources)
    assert together.points.tolist() == np.sum([one.points for one in expected], axis=0).tolist()
    assert together.total == sum(one.total for one in expected)
