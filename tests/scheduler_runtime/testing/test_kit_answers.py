"""What the kit says of answers that depend on what they must not depend on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Action, ClusterEvent, Node, NodePlugin, NodeTable, Plugin, Pod, Reject
from tests.support.sound_plugin import breach_of, broken

CALLS = itertools.count()


def rejecting(rows: Callable[[NodeTable], Any], **more: Any) -> type[Plugin]:
    """A plugin with little more than a filter."""

    def rejects(self: Any, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(rows(nodes), "no")

    return broken(Plugin, **{"filter": rejects, "events": (ClusterEvent("*", Action.ALL),), **more})


def writes(nodes: NodeTable) -> Any:
    nodes.node(0).labels["seen"] = str(next(CALLS))
    return nodes.unschedulable


def cordoned_rows(self: Any, pod: Pod, nodes: NodeTable, cycle: Any) -> Any:
    return iter(np.flatnonzero(nodes.unschedulable))


def company(self: Any, pod: Pod, nodes: NodeTable, state: Any) -> Any:
    return nodes.pod_counts.copy()


def exhausts(self: Any, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
    for row in state:
        yield Reject(np.arange(len(nodes)) == row, "cordoned")


def pops(self: Any, pod: Pod, nodes: NodeTable, state: Any) -> Any:
    return np.full(len(nodes), state.pop() if state else 0) + nodes.unschedulable


def by_all(self: Any, pod: Pod, nodes: NodeTable, scores: Any, state: Any) -> Any:
    return scores * 100 // max(scores.max(), 1)


@pytest.mark.parametrize(
    ("check", "plugin", "words"),
    [
        pytest.param(
            "order",
            rejecting(lambda nodes: np.arange(len(nodes)) == 0),
            "let no answer depend on where a row is",
            id="the-first-row",
        ),
        pytest.param(
            "purity",
            rejecting(lambda nodes: np.full(len(nodes), next(CALLS) % 3 == 0)),
            "asked twice, it answers differently (",
            id="counts-calls",
        ),
        pytest.param("purity", rejecting(writes), "it changed the metadata of node node-", id="writes"),
        pytest.param(
            "states",
            rejecting(lambda nodes: nodes.unschedulable, pre_filter=cordoned_rows, filter=exhausts),
            "filter answers differently when it gets the same state again",
            id="a-generator-as-state",
        ),
        pytest.param(
            "states",
            broken(Plugin, pre_score=lambda *_: [1], score=pops),
            "score answers differently when it gets the same state again",
            id="score-uses-its-state-up",
        ),
        pytest.param(
            "in_play",
            rejecting(lambda nodes: nodes.unschedulable & nodes.feasible.all()),
            "when other plugins have rejected other nodes",
            id="others-in-play",
        ),
        pytest.param(
            "normalising",
            broken(Plugin, score=company, normalize_score=by_all),
            "normalize_score counts nodes that are not in play; look at scores[nodes.feasible] alone",
            id="normalises-by-all",
        ),
    ],
)
def test_answers_depend_on_nothing_else(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)


def changing(change: Callable[[Pod, Node], object]) -> type[Plugin]:
    """A plugin that changes what it is given, the same way each time."""

    def filter_node(self: Any, pod: Pod, node: Node) -> str | None:
        change(pod, node)
        return "cordoned" if node.spec.unschedulable else None

    return type("Broken", (NodePlugin,), {"filter_node": filter_node, "events": (ClusterEvent("*", Action.ALL),)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(lambda pod, _: pod.labels.update(k="v"), "the metadata of pod ", id="label-of-a-pod"),
        pytest.param(lambda pod, _: pod.requests.amounts.update(cpu=0), "the requests of pod ", id="requests"),
        pytest.param(lambda _, node: node.labels.pop("spot", None), "the metadata of node ", id="label-of-a-node"),
    ],
)
def test_a_change_that_is_the_same_each_time_is_found(change: Callable[[Pod, Node], object], words: str) -> None:
    examples = {"nodes": [testing.node("n", labels={"spot": "true"})], "pods": [testing.pod("p", labels={"a": "b"})]}
    before = msgspec.to_builtins(examples)
    assert words in breach_of(changing(change), "purity", **examples)
    assert msgspec.to_builtins(examples) == before


def test_a_change_by_a_hook_after_the_decision_is_found() -> None:
    def reserve(self: Any, pod: Pod, node: str, state: Any) -> None:
        pod.requests.amounts["cpu"] = 0

    plugin = broken(reserve=reserve, unreserve=lambda *_: None)
    assert breach_of(plugin, "purity").startswith("one of its hooks changed the requests of pod ")


def test_normalising_must_not_write_what_it_is_given() -> None:
    def in_place(self: Any, pod: Pod, nodes: NodeTable, scores: Any, state: Any) -> Any:
        scores -= scores
        return scores

    sentence = breach_of(broken(Plugin, score=company, normalize_score=in_place), "error")
    assert sentence.startswith("failed in normalize_score: ValueError: output array is read-only (")
