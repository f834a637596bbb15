"""Asking a plugin about a pod as the framework does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from scheduler_runtime.api import SKIP, Mask, NodePlugin, NodeTable, Pod, Reject, Restrict
from scheduler_runtime.framework import Framework
from scheduler_runtime.framework.hook import Hook
from scheduler_runtime.framework.hook_answers import (
    check_normalized_scores,
    check_rows,
    check_scores,
    collect_rejections,
)
from scheduler_runtime.framework.what_if import RowFilter, WhatIf, row_filter
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.testing.builders import Cluster
from scheduler_runtime.testing.formatting import brief
from scheduler_runtime.testing.recorded_answers import Reason, Reasons, RecordedAnswers

ELSEWHERE: Reason = ("not among the nodes that pre_filter names", False, False)


class Asked:
    """An object of the plugin that is asked about one pod after the other."""

    def __init__(self, framework: Framework, name: str, hooks: Collection[str]) -> None:
        self.name = name
        self.plugin = framework.plugin(name)
        self._context = framework.context
        self._hooks = {hook: Hook(name, hook, getattr(self.plugin, hook), self.plugin) for hook in hooks}

    def __call__(self, hook: str, *args: Any) -> Any:
        """Run a hook. Raises PluginError, naming plugin and hook."""
        answer = self._hooks[hook](*args)
        if isinstance(answer, Reject):
            self._explained(self._hooks[hook], answer)
        return answer

    def _explained(self, hook: Hook, reject: Reject) -> None:
        """Refuse a rejection that nobody could read. Raises PluginError."""
        if not isinstance(reject.reason, str):
            raise hook.error(f"the reason of a Reject is {brief(reject.reason)}, not text")
        if not reject.reason.strip():
            fits = "; where the pod fits, filter_node returns None" if isinstance(self.plugin, NodePlugin) else ""
            raise hook.error(f"the reason of a Reject is empty; say why, for users read it in the pod's events{fits}")

    def hook(self, name: str) -> Hook:
        """One of its hooks."""
        return self._hooks[name]

    def row_filter(self) -> RowFilter:
        """Its filter, asked about one row."""
        return row_filter(self._hooks["filter"], self._hooks.get("filter_row"), self.plugin)

    @contextmanager
    def about(self, cluster: Cluster) -> Iterator[NodeTable]:
        """All nodes of ``cluster``, as during a decision."""
        with self._context.decision(cluster.table):
            yield NodeTable(cluster.table, np.ones(len(cluster.table), np.bool_))

    @contextmanager
    def afterwards(self, pod: Pod, cluster: Cluster) -> Iterator[NodeTable]:
        """The nodes when no filter left any: ``post_filter`` may try them, and nobody else rejects what it tries."""
        with self.about(cluster) as nodes:
            self._context.open_what_if(WhatIf(pod, cluster.table, (), {}, Nominations()))
            yield NodeTable(cluster.table, mask_of(nodes, ()))

    def about_pod(self, pod: Pod, cluster: Cluster) -> RecordedAnswers:
        """What it says of ``pod`` when every node is in play."""
        with self.about(cluster) as nodes:
            state = self.filter_state(pod, nodes)
            if isinstance(state, Reject):
                return RecordedAnswers(whole=state.reason)
            reasons = {} if state is SKIP else self.reasons(pod, nodes, state)
            raw, scores = self.scores(pod, left(cluster, nodes, reasons), state)
            return RecordedAnswers("", state is SKIP, reasons, raw, scores)

    def to_be_scored(self, pod: Pod, cluster: Cluster, among: NodeTable) -> tuple[NodeTable, Any]:
        """The nodes ``among`` these that it does not reject, and the state of ``score``, or SKIP."""
        state = self.filter_state(pod, among)
        if isinstance(state, Reject):
            return among, SKIP
        reasons = {} if state is SKIP else self.reasons(pod, among, state)
        nodes = left(cluster, among, reasons)
        return nodes, self.score_state(pod, nodes, state) if nodes.feasible.any() else SKIP

    def filter_state(self, pod: Pod, nodes: NodeTable) -> Any:
        """What ``pre_filter`` answers: a state, SKIP, a Restrict or a Reject; None without the hook."""
        return self("pre_filter", pod, nodes, {}) if "pre_filter" in self._hooks else None

    def reasons(self, pod: Pod, nodes: NodeTable, state: Any) -> dict[str, frozenset[Reason]]:
        """Its reasons for every node in play."""
        elsewhere = state.node_names if isinstance(state, Restrict) else nodes.names
        found: dict[str, set[Reason]] = {name: set() for name in played(nodes)}
        for name in found.keys() - elsewhere:
            found[name].add(ELSEWHERE)
        if "filter" in self._hooks:
            for name, reason in self._rejected(pod, nodes, unrestricted(state)):
                found[name].add(reason)
        return {name: frozenset(reasons) for name, reasons in found.items()}

    def _rejected(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[tuple[str, Reason]]:
        hook = self._hooks["filter"]
        for reject in collect_rejections(hook, pod, nodes, state):
            self._explained(hook, reject)
            rows = check_rows(hook, reject.rows, len(nodes)) & nodes.feasible
            resolvable = np.broadcast_to(np.asarray(reject.resolvable), rows.shape)
            for row in np.flatnonzero(rows):
                yield nodes.names[int(row)], (reject.reason, bool(resolvable[row]), reject.pending)

    def score_state(self, pod: Pod, nodes: NodeTable, state: Any) -> Any:
        """What ``score`` is given, or SKIP."""
        if "pre_score" in self._hooks:
            return self("pre_score", pod, nodes, {})
        return None if state is SKIP else unrestricted(state)

    def scores(self, pod: Pod, nodes: NodeTable, state: Any) -> tuple[dict[str, float], dict[str, int]]:
        """Its scores of every node in play, as they are and normalised."""
        if "score" not in self._hooks or not nodes.feasible.any():
            return {}, {}
        scoring = self.score_state(pod, nodes, state)
        if scoring is SKIP:
            return {}, {}
        raw = check_scores(self._hooks["score"], self("score", pod, nodes, scoring), nodes.feasible)
        scores = self.normalised(pod, nodes, raw, scoring)
        rows = {name: nodes.row(name) for name in played(nodes)}
        return {name: raw[row].item() for name, row in rows.items()}, {
            name: int(scores[row]) for name, row in rows.items()
        }

    def normalised(self, pod: Pod, nodes: NodeTable, raw: Any, state: Any) -> Any:
        """The scores from 0 to 100. Raises PluginError when they are not."""
        hook = self._hooks.get("normalize_score")
        if hook is None:
            return check_normalized_scores(self._hooks["score"], raw, nodes.feasible)
        given = raw.view()
        given.flags.writeable = False  # They may be kept for other pods.
        scores = check_scores(hook, hook(pod, nodes, given, state), nodes.feasible)
        return check_normalized_scores(hook, scores, nodes.feasible)


def mask_of(nodes: NodeTable, names: Iterable[str]) -> Mask:
    """The rows of these names."""
    wanted = frozenset(names)
    return np.array([name in wanted for name in nodes.names], np.bool_)


def left(cluster: Cluster, nodes: NodeTable, reasons: Reasons) -> NodeTable:
    """The nodes in play for which there are no reasons."""
    rejected = mask_of(nodes, [name for name, found in reasons.items() if found])
    return NodeTable(cluster.table, nodes.feasible & ~rejected)


def played(nodes: NodeTable) -> list[str]:
    """The names of the nodes in play."""
    return [nodes.names[int(row)] for row in np.flatnonzero(nodes.feasible)]


def unrestricted(state: Any) -> Any:
    """The state itself, of an answer of ``pre_filter``."""
    return state.state if isinstance(state, Restrict) else state
