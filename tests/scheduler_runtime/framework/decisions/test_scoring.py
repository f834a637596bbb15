"""pre_score and score: whose scores count, how much, and the choice among equals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import SKIP, Cycle, NodeTable, Plugin, Pod, Reject, Scores, lowest_is_best
from scheduler_runtime.framework import Placed
from tests.support.decisions import CALLS, only, rows, schedule


class Gives(Plugin):
    """Scores a, b, c with 0, 30, 100 of the raw kind."""

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        CALLS.append("Gives.score")
        return np.array([{"a": 0, "b": 30, "c": 100}[name] for name in nodes.names])


class GivesRaw(Gives):
    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        return np.array([{"a": 1.5, "b": -7.25, "c": np.nan}[name] for name in nodes.names])

    normalize_score = lowest_is_best

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(rows(nodes, "c"), "has no score")


def test_the_best_score_wins() -> None:
    outcome = schedule(Gives)
    assert isinstance(outcome, Placed)
    assert outcome.node == "c"


def test_what_infeasible_nodes_score_does_not_matter() -> None:
    outcome = schedule(GivesRaw)
    assert isinstance(outcome, Placed)
    assert outcome.node == "b"


class Opposes(Plugin):
    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        return np.array([{"a": 100, "c": 40}[name] for name in nodes.names])


@pytest.mark.parametrize(("weight", "best"), [(1, "c"), (2, "a")])
def test_weights_multiply(weight: int, best: str) -> None:
    profile = only("Gives", "Opposes", score={"enabled": [{"name": "Opposes", "weight": weight}]})
    cluster = testing.Cluster(testing.node("a"), testing.node("c"))
    outcome = testing.framework(profile, Gives, Opposes).schedule(testing.pod("p"), cluster)
    assert isinstance(outcome, Placed)
    assert outcome.node == best


class Leaves(Plugin):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(~rows(nodes, "b"), "is not b")


def test_a_node_that_is_the_only_one_is_not_scored() -> None:
    outcome = schedule(Leaves, Gives)
    assert isinstance(outcome, Placed)
    assert (outcome.node, CALLS) == ("b", [])


class Uninterested(Gives):
    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return SKIP


def test_a_plugin_that_skips_does_not_score() -> None:
    schedule(Uninterested)
    assert CALLS == []


class Remembers(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> str:
        return "filter state"

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> str:
        return "score state"

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        CALLS.append(state)
        return np.zeros(len(nodes), np.int64)

    def reserve(self, pod: Pod, node: str, state: Any) -> None:
        CALLS.append(state)


def test_scoring_and_reserving_get_their_own_state() -> None:
    schedule(Remembers)
    assert CALLS == ["score state", "filter state"]


def test_ties_are_broken_evenly_and_a_seed_repeats_them() -> None:
    def nodes_of(seed: int) -> list[str]:
        decides = testing.framework(only(), seed=seed)
        cluster = testing.Cluster(*(testing.node(name) for name in "abcd"))
        outcomes = [decides.schedule(testing.pod(f"p-{number}"), cluster) for number in range(400)]
        return [outcome.node for outcome in outcomes if isinstance(outcome, Placed)]

    assert nodes_of(7) == nodes_of(7)
    assert nodes_of(7) != nodes_of(8)
    counts = Counter(nodes_of(7))
    assert set(counts) == set("abcd")
    assert min(counts.values()) > 60
