"""A part of the nodes: how many, which ones, and where the next search goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject, Restrict, Scores
from scheduler_runtime.config import ExtenderConfig
from scheduler_runtime.framework import Framework, Placed, Unschedulable
from scheduler_runtime.framework.sampling import NodeOrder, Sampler, SearchPosition
from scheduler_runtime.scheduling.extenders import Extender, ExtenderChain

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
SCORED: list[list[str]] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    SCORED.clear()


class Looks(Plugin):
    """Remembers which nodes it is asked to score."""

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        SCORED.append([nodes.names[int(row)] for row in np.flatnonzero(nodes.feasible)])
        return np.zeros(len(nodes), np.int64)


def cluster(count: int, zones: int = 1, **node: Any) -> testing.Cluster:
    labels = [{ZONE: f"z{number % zones}"} for number in range(count)]
    return testing.Cluster(*(testing.node(f"n{number}", labels=labels[number], **node) for number in range(count)))


def framework(percentage: int | None, *plugins: type[Plugin]) -> Framework:
    every: list[type[Plugin]] = [Looks, *plugins]
    enabled = [{"name": plugin.__name__} for plugin in every]
    profile = {"percentageOfNodesToScore": percentage, "plugins": {"multiPoint": {"enabled": enabled}}}
    return testing.framework(profile, Looks, *plugins)


def names(first: int, count: int, of: int) -> list[str]:
    return sorted(f"n{(first + number) % of}" for number in range(count))


@pytest.mark.parametrize(
    ("percentage", "nodes", "expected"),
    [
        pytest.param(40, 10, 10, id="set percentageOfNodesToScore and nodes number not more than 50"),
        pytest.param(40, 1000, 400, id="set profile percentageOfNodesToScore and nodes number more than 50"),
        pytest.param(40, 6000, 2400, id="set percentageOfNodesToScore and nodes number more than 50*125"),
        pytest.param(5, 1000, 100, id="never fewer than a hundred"),
        pytest.param(99, 100, 100, id="a hundred nodes"),
    ],
)
def test_num_feasible_nodes_to_find(percentage: int, nodes: int, expected: int) -> None:
    assert Sampler(percentage, SearchPosition()).enough(nodes) == expected


@pytest.mark.parametrize("percentage", [None, 0, 100])
def test_every_node_is_scored_without_a_percentage(percentage: int | None) -> None:
    framework(percentage).schedule(testing.pod("p"), cluster(300))
    assert [len(scored) for scored in SCORED] == [300]


def test_a_search_goes_on_where_the_last_one_ended() -> None:
    nodes, decides = cluster(300), framework(50)
    for number in range(3):
        assert isinstance(decides.schedule(testing.pod(f"p{number}"), nodes), Placed)
    assert [sorted(scored) for scored in SCORED] == [names(first, 150, 300) for first in (0, 150, 0)]


def test_the_pod_goes_to_one_of_the_scored_nodes() -> None:
    nodes, decides = cluster(300), framework(50)
    for number in range(4):
        outcome = decides.schedule(testing.pod(f"p{number}", {"cpu": "1m"}), nodes)
        assert isinstance(outcome, Placed)
        assert outcome.node in SCORED[-1]


UNWEIGHED = {"percentageOfNodesToScore": 50, "plugins": {"score": {"disabled": [{"name": "*"}]}}}


def test_where_nobody_scores_the_pod_goes_to_the_next_node_that_fits() -> None:
    nodes, decides = cluster(5), testing.framework(UNWEIGHED)
    nodes.place(testing.pod("full", {"cpu": "4"}, nodeName="n2"), "n2")
    outcomes = [decides.schedule(testing.pod(f"p{number}", {"cpu": "1m"}), nodes) for number in range(5)]
    assert [outcome.node for outcome in outcomes if isinstance(outcome, Placed)] == ["n0", "n1", "n3", "n4", "n0"]


@pytest.mark.parametrize(("verb", "expected"), [("filterVerb", 150), ("prioritizeVerb", 150), ("bindVerb", 1)])
def test_an_extender_that_weighs_nodes_gets_as_many_as_plugins_would(verb: str, expected: int) -> None:
    config = ExtenderConfig.model_validate({"urlPrefix": "http://there", verb: "ask", "weight": 1})
    nobody: Any = None  # is asked
    extenders = ExtenderChain([Extender(config, nobody)], nobody, nobody, nobody)
    decides, nodes = testing.framework(UNWEIGHED, extenders=extenders), cluster(300)
    decides.schedule(testing.pod("p"), nodes)
    assert decides.context.services.search_position.first == expected


def test_nodes_that_do_not_do_are_passed_and_not_counted() -> None:
    nodes, decides = cluster(300), framework(50)
    for number in range(100):
        nodes.place(testing.pod(f"full{number}", {"cpu": "4"}, nodeName=f"n{number}"), f"n{number}")
    decides.schedule(testing.pod("p", {"cpu": "4"}), nodes)
    decides.schedule(testing.pod("q", {"cpu": "4"}), nodes)
    assert sorted(SCORED[0]) == names(100, 150, 300)
    assert set(SCORED[1]) >= {f"n{number}" for number in range(250, 300)}


def test_cached_answers_about_nodes_outside_of_the_sample_stay_right() -> None:
    nodes, decides, whole = cluster(300), framework(50), framework(None)
    for number in range(5):
        decides.schedule(testing.pod(f"p{number}", {"cpu": "3"}), nodes)
        cached = decides.answer_cache.lookup(testing.pod("q", {"cpu": "3"}), nodes.table)
        anew = whole.answer_cache.lookup(testing.pod("q", {"cpu": "3"}), nodes.table)
        assert cached is not None
        assert anew is not None
        assert cached.mask.sum() == 300 - number - 1
        assert (cached.mask == anew.mask).all()


class Only(Plugin):
    """Leaves the last two hundred nodes."""

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Any) -> Restrict:
        return Restrict(None, frozenset(nodes.names[-200:]))

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        return iter(())


def test_of_nodes_that_a_plugin_names_a_part_is_looked_at() -> None:
    decides, nodes = framework(60, Only), cluster(300)
    decides.schedule(testing.pod("p"), nodes)
    decides.schedule(testing.pod("q"), nodes)
    assert [len(scored) for scored in SCORED] == [120, 120]
    assert sorted(SCORED[0]) == names(100, 120, 300)
    assert SCORED[0] != SCORED[1]


def test_the_message_of_a_pod_that_fits_nowhere_counts_every_node() -> None:
    outcome = framework(50).schedule(testing.pod("p", {"cpu": "99"}), cluster(300))
    assert isinstance(outcome, Unschedulable)
    assert outcome.message.startswith("0/300 nodes are available: 300 Insufficient cpu.")


def test_profiles_of_a_process_go_on_where_the_others_ended() -> None:
    rotation, table = SearchPosition(), cluster(300).table
    feasible = np.ones(300, np.bool_)
    assert np.flatnonzero(Sampler(50, rotation).sample(feasible, table)).tolist() == list(range(150))
    assert np.flatnonzero(Sampler(40, rotation).sample(feasible, table)).tolist() == list(range(150, 270))
    assert rotation.first == 270


# Upstream's cases of the order in which nodes are visited.


def visited(nodes: testing.Cluster, tour: NodeOrder | None = None) -> list[str]:
    return [nodes.table.names[row] for row in (tour or NodeOrder()).rows(nodes.table)]


def in_zone(name: str, region: str, zone: str) -> Any:
    return testing.node(name, labels={key: value for key, value in ((REGION, region), (ZONE, zone)) if value})


def test_zones_are_visited_in_turn() -> None:
    places = {
        "node-0": ("region-1", ""),
        "node-1": ("", "zone-2"),
        "node-2": ("region-1", "zone-2"),
        "node-3": ("region-1", "zone-3"),
        "node-4": ("region-1", "zone-2"),
        "node-5": ("", ""),
        "node-6": ("region-1", "zone-3"),
    }
    nodes = testing.Cluster(*(in_zone(name, *place) for name, place in places.items()))
    assert visited(nodes) == ["node-0", "node-1", "node-2", "node-3", "node-5", "node-4", "node-6"]


def test_a_node_that_moves_comes_last_in_its_zone_and_one_that_goes_disappears() -> None:
    tour = NodeOrder()
    nodes = testing.Cluster(*(in_zone(f"node-{number}", "", f"zone-{number % 2}") for number in range(5)))
    assert visited(nodes, tour) == ["node-0", "node-1", "node-2", "node-3", "node-4"]
    nodes.table.set_node(in_zone("node-0", "", "zone-1"))
    nodes.table.remove_node("node-1")
    assert visited(nodes, tour) == ["node-2", "node-3", "node-4", "node-0"]
    nodes.table.remove_node("node-2")
    nodes.table.remove_node("node-4")
    assert visited(nodes, tour) == ["node-3", "node-0"]


def test_old_labels_of_a_zone_count_before_the_new_ones() -> None:
    old = {"failure-domain.beta.kubernetes.io/zone": "a", ZONE: "b"}
    nodes = testing.Cluster(testing.node("x", labels=old), in_zone("y", "", "a"), in_zone("z", "", "b"))
    assert visited(nodes) == ["x", "z", "y"]
