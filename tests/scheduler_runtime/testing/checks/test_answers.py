"""The kit finds answers that depend on anything else than pod and node, and hooks that disagree."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Action, ClusterEvent, Node, NodePlugin, NodeTable, Plugin, Pod, Reject
from tests.support.sound_plugin import Sound, breach_of, broken

CALLS = itertools.count()


def rejecting(rows: Callable[[NodeTable], Any], **more: Any) -> type[Plugin]:
    """A plugin with little more than a filter."""

    def rejects(self: Any, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(rows(nodes), "no")

    return broken(Plugin, **{"filter": rejects, "events": (ClusterEvent("*", Action.ALL),), **more})


def writes(nodes: NodeTable) -> Any:
    nodes.node(0).labels["call"] = str(next(CALLS))
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
            "feasible_nodes",
            rejecting(lambda nodes: nodes.unschedulable & nodes.feasible.all()),
            "when other plugins have rejected other nodes",
            id="others-in-play",
        ),
        pytest.param(
            "normalize_score",
            broken(Plugin, score=company, normalize_score=by_all),
            "normalize_score counts nodes that are not feasible; look at scores[nodes.feasible] alone",
            id="normalises-by-all",
        ),
    ],
)
def test_answers_depend_on_nothing_else(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)


def changing(change: Callable[[Pod, Node], object]) -> type[Plugin]:
    """A plugin that changes pods and nodes, the same way each time."""

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
def test_a_change_that_is_the_same_each_time_is_a_breach(change: Callable[[Pod, Node], object], words: str) -> None:
    examples = {"nodes": [testing.node("n", labels={"spot": "true"})], "pods": [testing.pod("p", labels={"a": "b"})]}
    before = msgspec.to_builtins(examples)
    assert words in breach_of(changing(change), "purity", **examples)
    assert msgspec.to_builtins(examples) == before


def test_a_change_by_a_hook_after_the_decision_is_a_breach() -> None:
    def reserve(self: Any, pod: Pod, node: str, state: Any) -> None:
        pod.requests.amounts["cpu"] = 0

    plugin = broken(reserve=reserve, unreserve=lambda *_: None)
    assert breach_of(plugin, "purity").startswith("one of its hooks changed the requests of pod ")


def test_normalizing_must_not_write_to_the_raw_scores() -> None:
    def in_place(self: Any, pod: Pod, nodes: NodeTable, scores: Any, state: Any) -> Any:
        scores -= scores
        return scores

    sentence = breach_of(broken(Plugin, score=company, normalize_score=in_place), "error")
    assert sentence.startswith("failed in normalize_score: ValueError: output array is read-only (")


class WithoutFilterRow(Sound):
    """Sound, with a filter for all rows at once only."""

    filter_row = Plugin.filter_row  # type: ignore[assignment]


def lenient_row(self: Any, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
    if nodes.pod_counts.item(row) > state:
        yield Reject(True, "node is in company")


def masked_row(self: Any, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
    yield Reject(nodes.pod_counts.item(row) >= state, "node is in company")


def other_row(self: Any, pod: Pod, nodes: NodeTable, state: Any, row: int) -> int:
    return nodes.pod_counts.item(row)


class CountsAhead(WithoutFilterRow):
    """Counts in pre_filter, and not again when a pod comes or goes."""

    row_local = False

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Any) -> Any:
        return nodes.pod_counts.copy()

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(state >= 2, "node is in company")


class CountsOn(CountsAhead):
    """Counts on, in a state that all decisions share."""

    def add_pod(self, pod: Pod, nodes: NodeTable, state: Any, other: Pod, row: int) -> Any:
        self.counts[row] += 1
        return self.counts

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Any) -> Any:
        if not hasattr(self, "counts"):
            self.counts = nodes.pod_counts.copy()
        return self.counts


@pytest.mark.parametrize(
    ("check", "plugin", "words"),
    [
        pytest.param(
            "filter_row", broken(filter_row=lenient_row), "filter_row disagrees with filter about node-", id="lenient"
        ),
        pytest.param("filter_row", broken(filter_row=masked_row), "and for no other", id="yields-what-does-not-reject"),
        pytest.param("score_row", broken(score_row=other_row), "both must give the same number", id="another-score"),
        pytest.param("what_if", CountsAhead, "add_pod must bring the state of pre_filter up to date", id="no-add-pod"),
        pytest.param("what_if", CountsOn, "after a what-if with add_pod it answers differently", id="changes-for-good"),
    ],
)
def test_two_hooks_about_the_same_must_agree(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)


class NeedsItsState(Sound):
    """Sends pods away, and does not expect to be asked again."""

    row_local = False

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Any) -> Any:
        if pod.spec.priority:
            return Reject.pod("not today", resolvable=self.args.most_pods == 3)
        return super().pre_filter(pod, nodes, cycle)


def test_filter_runs_without_a_state_after_a_rejection_that_eviction_could_change() -> None:
    sentence = breach_of(NeedsItsState, "filter_without_state")
    assert sentence.startswith('pre_filter rejected the pod ("not today"), and then filter fails: TypeError: ')
    checks = {breach.check for breach in testing.breaches(NeedsItsState, {"mostPods": 4})}
    assert "filter_without_state" not in checks
