"""The plugin over all nodes at once and from cached counts, against upstream's rules for one node at a time."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime.api import SKIP, NodeTable, Pod, Reject
from scheduler_runtime.plugins.interpodaffinity import InterPodAffinity, own_terms
from scheduler_runtime.plugins.interpodaffinity import plugin as plugin_module
from scheduler_runtime.state.table import affinity_terms
from tests.scheduler_runtime.plugins.interpodaffinity.clusters import (
    by_node,
    cluster_of,
    objects_of,
    plugin,
    pods,
    table_of,
    worlds,
)
from tests.scheduler_runtime.plugins.interpodaffinity.naive import World, scores

SETTINGS = settings(max_examples=60, deadline=None)
THOROUGHLY = settings(max_examples=600, deadline=None)
ARGS = st.fixed_dictionaries(
    {"hardPodAffinityWeight": st.sampled_from([0, 1, 50]), "ignorePreferredTermsOfExistingPods": st.booleans()}
)


def plugin_for(world: World, **args: Any) -> InterPodAffinity:
    return plugin(world.version, objects_of(world.namespaces), **args)


def rejected(judge: InterPodAffinity, pod: Pod, nodes: NodeTable) -> dict[str, list[tuple[str, bool]]] | None:
    """Why each node is; None when there is nothing to filter by."""
    state = judge.pre_filter(pod, nodes, {})
    assert not isinstance(state, Reject)
    return None if state is SKIP else by_node(nodes, judge.filter(pod, nodes, state))


def scored(judge: InterPodAffinity, pod: Pod, nodes: NodeTable) -> dict[str, int] | None:
    """The score of each feasible node; None when there is nothing to score by."""
    state = judge.pre_score(pod, nodes, {})
    if state is SKIP:
        return None
    normalised = judge.normalize_score(pod, nodes, judge.score(pod, nodes, state), state)
    assert normalised.dtype == np.int64
    assert 0 <= normalised.min() <= normalised.max() <= 100
    return {name: int(normalised[row]) for row, name in enumerate(nodes.names) if nodes.feasible[row]}


def expected_rejections(world: World, pod: Pod) -> dict[str, list[tuple[str, bool]]] | None:
    if not world.filters(pod):
        return None
    reasons = {node.name: world.rejection(pod, node) for node in world.nodes}
    return {name: [] if reason is None else [reason] for name, reason in reasons.items()}


@SETTINGS
@given(worlds(), pods())
def test_filter(world: World, pod: Pod) -> None:
    nodes = table_of(cluster_of(world))
    assert rejected(plugin_for(world), pod, nodes) == expected_rejections(world, pod)


@pytest.mark.thorough
@THOROUGHLY
@given(worlds(), pods())
def test_filter_on_many_clusters(world: World, pod: Pod) -> None:
    nodes = table_of(cluster_of(world))
    assert rejected(plugin_for(world), pod, nodes) == expected_rejections(world, pod)


@SETTINGS
@given(worlds(), pods())
def test_what_is_said_of_one_row_is_what_is_said_of_all(world: World, pod: Pod) -> None:
    nodes = table_of(cluster_of(world))
    judge = plugin_for(world)
    state = judge.pre_filter(pod, nodes, {})
    if state is SKIP:
        return
    every = by_node(nodes, judge.filter(pod, nodes, state))
    for row, name in enumerate(nodes.names):
        rejects = judge.filter_row(pod, nodes, state, row)
        assert [(reject.reason, reject.resolvable) for reject in rejects] == every[name]


def check_scores(world: World, pod: Pod, args: dict[str, Any], mask: int) -> None:
    """Against the naive scores of the nodes that ``mask`` leaves."""
    nodes = table_of(cluster_of(world))
    nodes.feasible[:] = [not mask >> row & 1 for row in range(len(nodes))]
    if not nodes.feasible.any():
        return
    points = world.points(pod, args["hardPodAffinityWeight"], ignores=args["ignorePreferredTermsOfExistingPods"])
    inside = {name for row, name in enumerate(nodes.names) if nodes.feasible[row]}
    expected = None if points is None else scores({name: value for name, value in points.items() if name in inside})
    assert scored(plugin_for(world, **args), pod, nodes) == expected


@SETTINGS
@given(worlds(), pods(), ARGS, st.integers(0, 15))
def test_score(world: World, pod: Pod, args: dict[str, Any], mask: int) -> None:
    check_scores(world, pod, args, mask)


@pytest.mark.thorough
@THOROUGHLY
@given(worlds(), pods(), ARGS, st.integers(0, 15))
def test_score_on_many_clusters(world: World, pod: Pod, args: dict[str, Any], mask: int) -> None:
    check_scores(world, pod, args, mask)


@SETTINGS
@given(worlds(), st.lists(pods(), min_size=2, max_size=4))
def test_what_long_lists_of_terms_say_is_remembered_by_kind_of_pod(world: World, incoming: list[Pod]) -> None:
    nodes, judge = table_of(cluster_of(world)), plugin_for(world)
    with patch.object(affinity_terms, "_FEW", 0):
        for pod in incoming:
            assert rejected(judge, pod, nodes) == expected_rejections(world, pod)
            points = world.points(pod, 1, ignores=False)
            assert scored(judge, pod, nodes) == (None if points is None else scores(points))


@given(st.data())
@SETTINGS
def test_many_terms_say_what_few_do(data: st.DataObject) -> None:
    world = data.draw(worlds())
    nodes = table_of(cluster_of(world))
    incoming, args = data.draw(pods()), data.draw(ARGS)
    with patch.object(own_terms, "_FEW_TERMS", 0), patch.object(plugin_module, "_FEW_LABELS", 0):
        judge = plugin_for(world, **args)
        many = rejected(judge, incoming, nodes), scored(judge, incoming, nodes)
    judge = plugin_for(world, **args)
    assert many == (rejected(judge, incoming, nodes), scored(judge, incoming, nodes))
