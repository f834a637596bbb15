"""The kit finds a plugin whose answers cannot be cached as it promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject
from tests.support.sound_plugin import Sound, breach_of, broken


class WithoutFilterRow(Sound):
    """Sound, with a filter for all rows at once only."""

    filter_row = Plugin.filter_row  # type: ignore[assignment]


class Remembers(WithoutFilterRow):
    """Looks at the table once in its life."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        if not hasattr(self, "counts"):
            self.counts = dict(zip(nodes.names, nodes.pod_counts.tolist(), strict=True))
        yield Reject(np.array([self.counts.get(name, 0) >= state for name in nodes.names]), "node is in company")


class LooksAround(WithoutFilterRow):
    """Counts the pods of all nodes."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(np.full(len(nodes), nodes.pod_counts.sum() > 4), "cluster is full")


class LooksAhead(WithoutFilterRow):
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
        pytest.param("stale_memory", Remembers, "a new object of the plugin answers differently", id="remembers"),
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
def test_a_promise_about_cached_answers_must_hold(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)
