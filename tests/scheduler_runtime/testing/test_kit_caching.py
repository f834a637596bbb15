"""What the kit says of promises about keeping answers, and about saying the same in another way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject
from tests.support.sound_plugin import Sound, breach_of, broken


class ByAll(Sound):
    """Sound, and asked about all rows only."""

    filter_row = Plugin.filter_row  # type: ignore[assignment]


class Remembers(ByAll):
    """Looks at the table once in its life."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        if not hasattr(self, "seen"):
            self.seen = dict(zip(nodes.names, nodes.pod_counts.tolist(), strict=True))
        yield Reject(np.array([self.seen.get(name, 0) >= state for name in nodes.names]), "node is in company")


class LooksAround(ByAll):
    """Counts the pods of all nodes."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(np.full(len(nodes), nodes.pod_counts.sum() > 4), "cluster is full")


class LooksAhead(ByAll):
    """Makes an array of the nodes in pre_filter."""

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Any) -> Any:
        return nodes.pod_counts >= 2

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(state, "node is in company")


def nothing(self: Any, pod: Pod) -> Any:
    return ()


def a_list(self: Any, pod: Pod) -> Any:
    return [pod.spec.priority]


@pytest.mark.parametrize(
    ("check", "plugin", "words"),
    [
        pytest.param("memory", Remembers, "an object that has seen nothing says otherwise", id="remembers"),
        pytest.param(
            "row_local", LooksAround, "set row_local = False, or look at the row and the pod alone", id="looks-around"
        ),
        pytest.param(
            "shared_states",
            LooksAhead,
            "let pre_filter look at the pod alone, and look at the nodes in filter",
            id="state-of-nodes",
        ),
        pytest.param(
            "looks_at_pods", broken(looks_at_pods=False), "set looks_at_pods = True", id="looks-at-pods-after-all"
        ),
        pytest.param(
            "signature", broken(signature=nothing), "add spec.priority to signature", id="signature-lacks-something"
        ),
        pytest.param("signature", broken(signature=a_list), "return a tuple or a frozenset", id="signature-is-no-key"),
    ],
)
def test_what_is_kept_must_hold(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)


def lenient_row(self: Any, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
    if nodes.pod_counts.item(row) > state:
        yield Reject(True, "node is in company")


def masked_row(self: Any, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
    yield Reject(nodes.pod_counts.item(row) >= state, "node is in company")


def other_row(self: Any, pod: Pod, nodes: NodeTable, state: Any, row: int) -> int:
    return nodes.pod_counts.item(row)


class CountsAhead(ByAll):
    """Counts in pre_filter, and not again when a pod comes or goes."""

    row_local = False

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Any) -> Any:
        return nodes.pod_counts.copy()

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(state >= 2, "node is in company")


class CountsOn(CountsAhead):
    """Counts on, in the state that is everybody's."""

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
        pytest.param("trial", CountsAhead, "add_pod must bring the state of pre_filter up to date", id="no-add-pod"),
        pytest.param("trial", CountsOn, "after a trial with add_pod it answers otherwise", id="changes-for-good"),
    ],
)
def test_what_is_said_in_two_ways_must_agree(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)


class NeedsItsState(Sound):
    """Sends pods away, and does not expect to be asked again."""

    row_local = False

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Any) -> Any:
        if pod.spec.priority:
            return Reject.pod("not today", resolvable=self.args.most_pods == 3)
        return super().pre_filter(pod, nodes, cycle)


def test_filter_is_asked_without_a_state_after_a_rejection_that_eviction_could_change() -> None:
    sentence = breach_of(NeedsItsState, "after_rejecting")
    assert sentence.startswith('pre_filter rejected the pod ("not today"), and then filter fails: TypeError: ')
    checks = {breach.check for breach in testing.breaches(NeedsItsState, {"mostPods": 4})}
    assert "after_rejecting" not in checks
