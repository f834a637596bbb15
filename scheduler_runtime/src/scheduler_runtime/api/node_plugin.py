"""Plugins that look at one node at a time: the form to begin with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scheduler_runtime.api.answers import Reject, Scores
from scheduler_runtime.api.contract import Plugin
from scheduler_runtime.api.normalizers import highest_is_best
from scheduler_runtime.state.objects import Node, Pod
from scheduler_runtime.state.table import Mask, NodeTable


class NodePlugin(Plugin):
    """A plugin that looks at one node at a time.

    Implement ``filter_node``, ``score_node`` or both. Simple, and slow on large clusters, unless it has a
    ``signature``: then its answers are cached for pods that look the same to it, until a node changes. A plugin that
    goes by more than the pod, the node and what it watches (a clock, a counter of its own) must not have one.
    """

    row_local = True
    looks_at_pods = False

    def filter_node(self, pod: Pod, node: Node) -> str | None:
        """Return why ``pod`` cannot be on ``node``; None when it can."""
        raise NotImplementedError

    def score_node(self, pod: Pod, node: Node) -> float:
        """Return how good ``node`` is for ``pod``; the highest becomes 100, the lowest 0."""
        raise NotImplementedError

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.filter_node is not NodePlugin.filter_node:
            cls.filter = _filter  # type: ignore[method-assign, assignment]
            cls.filter_row = _filter_row  # type: ignore[method-assign, assignment]
        if cls.score_node is not NodePlugin.score_node:
            cls.score = _score  # type: ignore[method-assign, assignment]
            cls.normalize_score = highest_is_best  # type: ignore[method-assign]


def _filter(plugin: NodePlugin, pod: Pod, nodes: NodeTable, _state: Any) -> Iterator[Reject]:
    rejected: dict[str, Mask] = {}
    for row in np.flatnonzero(nodes.feasible).tolist():
        reason = plugin.filter_node(pod, nodes.node(row))
        if reason is not None:
            try:
                rejected.setdefault(reason, np.zeros(len(nodes), np.bool_))[row] = True
            except TypeError:  # It is no text, and cannot be a key. The framework reports it.
                yield Reject(True, reason)
    for reason, rows in rejected.items():
        yield Reject(rows, reason, resolvable=False)  # It does not see the pods there, so evicting them helps nothing.


def _filter_row(plugin: NodePlugin, pod: Pod, nodes: NodeTable, _state: Any, row: int) -> Iterator[Reject]:
    reason = plugin.filter_node(pod, nodes.node(row))
    if reason is not None:
        yield Reject(True, reason, resolvable=False)


def _score(plugin: NodePlugin, pod: Pod, nodes: NodeTable, _state: Any) -> Scores:
    scores = np.zeros(len(nodes), np.float64)
    for row in np.flatnonzero(nodes.feasible).tolist():
        scores[row] = plugin.score_node(pod, nodes.node(row))
    return scores
