"""Runs the hooks of one plugin about a pod, in the order and with the arguments that the framework gives them.

The checks need what a decision does not show: all reasons against every node, where the framework stops at the first
plugin that rejects a node, and raw scores beside the normalised ones.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scheduler_runtime.api import SKIP, Mask, NodePlugin, NodeTable, Pod, Reject, Restrict
from scheduler_runtime.framework import Framework
from scheduler_runtime.framework.hook import (
    Hook,
    check_normalized_scores,
    check_rows,
    check_scores,
    collect_rejections,
)
from scheduler_runtime.framework.what_if import RowFilter, WhatIf, row_filter
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.testing.builders import Cluster
from scheduler_runtime.testing.formatting import brief, shortened

Reason = tuple[str, bool, bool]
"""A Reject of one node: the reason, whether evicting pods could help, whether the plugin waits for something."""
Reasons = Mapping[str, frozenset[Reason]]
"""The reasons against each node by its name; empty for a node that is not rejected."""
OUTSIDE_RESTRICT: Reason = ("not among the nodes that pre_filter names", False, False)


@dataclass(frozen=True, slots=True)
class RecordedAnswers:
    """Everything that a plugin answered about a pod, by the names of the nodes: rows differ between two clusters."""

    pod_rejection: str = ""
    """The reason for which it rejects the pod as a whole; empty when it does not."""
    skipped: bool = False
    """Whether its ``pre_filter`` answered SKIP, so that its filter does not run."""
    reasons: Reasons = field(default_factory=dict)
    raw: Mapping[str, float] = field(default_factory=dict)
    """The scores that ``score`` returned."""
    scores: Mapping[str, int] = field(default_factory=dict)
    """The normalised scores."""

    def about(self, node_name: str) -> tuple[frozenset[Reason], float | None]:
        """Return the reasons and the raw score of one node, which do not depend on the other nodes."""
        return self.reasons.get(node_name, frozenset()), self.raw.get(node_name)

    def rejects(self, node_name: str) -> bool:
        """Return whether the pod cannot be on this node, for a reason of its own or because no node will do."""
        return bool(self.pod_rejection or self.reasons.get(node_name))


def difference(before: RecordedAnswers, after: RecordedAnswers) -> str:
    """Return the first difference of two answers in words; empty when they agree."""
    if before.pod_rejection != after.pod_rejection:
        one, other = (
            f'"{shortened(answers.pod_rejection)}"' if answers.pod_rejection else "not rejected"
            for answers in (before, after)
        )
        return f"the pod as a whole: {one}; then {other}"
    for name in sorted({*before.reasons, *after.reasons}):
        if words := difference_of_reasons(before.reasons.get(name), after.reasons.get(name)):
            return f"{name}: {words}"
    for name in sorted({*before.scores, *after.scores}):
        are_equal = same_number(before.raw.get(name), after.raw.get(name))
        if before.scores.get(name) != after.scores.get(name) or not are_equal:
            one, other = (
                f"scored {answers.raw[name]}, normalised {answers.scores[name]}"
                if name in answers.scores
                else "not scored"
                for answers in (before, after)
            )
            return f"{name}: {one}; then {other}"
    return ""


def difference_of_reasons(before: frozenset[Reason] | None, after: frozenset[Reason] | None) -> str:
    """Return the difference of the reasons against one node in words; empty when they agree."""
    if (before or frozenset()) == (after or frozenset()):
        return ""
    one, other = (
        " and ".join(
            f'"{shortened(reason)}"{" (resolvable)" if resolvable else ""}{" (pending)" if pending else ""}'
            for reason, resolvable, pending in sorted(reasons or ())
        )
        or "not rejected"
        for reasons in (before, after)
    )
    return f"{one}; then {other}"


def same_number(one: float | None, other: float | None) -> bool:
    """Return whether two raw scores are equal, but for the last bits of a float: sums in another order differ there."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


class PluginDriver:
    """An object of the plugin, with methods that run its hooks about one pod after the other.

    A hook that raises, or answers what the contract does not have, ends in a PluginError that names plugin and hook.
    """

    def __init__(self, framework: Framework, name: str, hooks: Collection[str]) -> None:
        """``hooks`` are those of ``framework``'s plugin ``name``."""
        self.name = name
        self.plugin = framework.plugin(name)
        self._context = framework.context
        self._hooks = {hook: Hook(name, hook, getattr(self.plugin, hook), self.plugin) for hook in hooks}

    def run(self, hook: str, *args: Any) -> Any:
        """Run a hook and return its answer. Raises PluginError."""
        answer = self._hooks[hook](*args)
        if isinstance(answer, Reject):
            self._check_reason(self._hooks[hook], answer)
        return answer

    def _check_reason(self, hook: Hook, reject: Reject) -> None:
        """Refuse a rejection that no user could read. Raises PluginError."""
        if not isinstance(reject.reason, str):
            raise hook.error(f"the reason of a Reject is {brief(reject.reason)}, not text")
        # Stricter than the framework, which lets white space pass.
        if not reject.reason.strip():
            fits = "; where the pod fits, filter_node returns None" if isinstance(self.plugin, NodePlugin) else ""
            raise hook.error(f"the reason of a Reject is empty; say why, for users read it in the pod's events{fits}")

    def hook(self, name: str) -> Hook:
        """Return one of the hooks of the plugin, for functions of the framework that take one."""
        return self._hooks[name]

    def row_filter(self) -> RowFilter:
        """Return the filter as preemption uses it, about one row at a time.

        The plugin must have a ``filter``; its ``filter_row`` is used if there is one.
        """
        return row_filter(self._hooks["filter"], self._hooks.get("filter_row"), self.plugin)

    @contextmanager
    def decision(self, cluster: Cluster) -> Iterator[NodeTable]:
        """Provide all nodes of ``cluster``, with the handle as it is during a decision: hooks may look at the nodes."""
        with self._context.decision(cluster.table):
            yield NodeTable(cluster.table, np.ones(len(cluster.table), np.bool_))

    @contextmanager
    def failed_decision(self, pod: Pod, cluster: Cluster) -> Iterator[NodeTable]:
        """Provide the nodes for ``post_filter``: no filter left any, and no other plugin rejects what it tries."""
        with self.decision(cluster) as nodes:
            self._context.open_what_if(WhatIf(pod, cluster.table, (), {}, Nominations()))
            yield NodeTable(cluster.table, mask_of(nodes, ()))

    def record(self, pod: Pod, cluster: Cluster) -> RecordedAnswers:
        """Return the answers about ``pod``, from ``pre_filter`` to the scores, when every node is feasible so far.

        Raises PluginError when a hook fails.
        """
        with self.decision(cluster) as nodes:
            answer = self.pre_filter(pod, nodes)
            if isinstance(answer, Reject):
                return RecordedAnswers(pod_rejection=answer.reason)
            reasons = {} if answer is SKIP else self.reasons(pod, nodes, answer)
            raw, scores = self._scores(pod, _without_rejected(cluster, nodes, reasons), answer)
            return RecordedAnswers("", answer is SKIP, reasons, raw, scores)

    def pre_filter(self, pod: Pod, nodes: NodeTable) -> Any:
        """Return the answer of ``pre_filter``: a state, SKIP, a Restrict or a Reject; None without the hook."""
        return self.run("pre_filter", pod, nodes, {}) if "pre_filter" in self._hooks else None

    def reasons(self, pod: Pod, nodes: NodeTable, answer: Any) -> dict[str, frozenset[Reason]]:
        """Return the reasons against every feasible node, after this ``answer`` of ``pre_filter``.

        Nodes that a Restrict leaves out have a reason of the kit's own. Raises PluginError.
        """
        allowed = answer.node_names if isinstance(answer, Restrict) else nodes.names
        reasons: dict[str, set[Reason]] = {name: set() for name in _feasible_names(nodes)}
        for name in reasons.keys() - allowed:
            reasons[name].add(OUTSIDE_RESTRICT)
        if hook := self._hooks.get("filter"):
            for reject in collect_rejections(hook, pod, nodes, state_of(answer)):
                self._check_reason(hook, reject)
                rows = check_rows(hook, reject.rows, len(nodes)) & nodes.feasible
                resolvable = np.broadcast_to(np.asarray(reject.resolvable), rows.shape)
                for row in np.flatnonzero(rows).tolist():
                    reasons[nodes.names[row]].add((reject.reason, bool(resolvable[row]), reject.pending))
        return {name: frozenset(of_node) for name, of_node in reasons.items()}

    def nodes_to_score(self, pod: Pod, cluster: Cluster, nodes: NodeTable) -> tuple[NodeTable, Any]:
        """Return those of ``nodes`` that are not rejected, and the state of ``score``; SKIP when it does not run."""
        answer = self.pre_filter(pod, nodes)
        if isinstance(answer, Reject):
            return nodes, SKIP
        reasons = {} if answer is SKIP else self.reasons(pod, nodes, answer)
        nodes = _without_rejected(cluster, nodes, reasons)
        return nodes, self._score_state(pod, nodes, answer) if nodes.feasible.any() else SKIP

    def _score_state(self, pod: Pod, nodes: NodeTable, answer: Any) -> Any:
        """Return the state that ``score`` gets, or SKIP: that of ``pre_score``, or else of ``pre_filter``."""
        if "pre_score" in self._hooks:
            return self.run("pre_score", pod, nodes, {})
        return None if answer is SKIP else state_of(answer)

    def _scores(self, pod: Pod, nodes: NodeTable, answer: Any) -> tuple[dict[str, float], dict[str, int]]:
        """Return the scores of every feasible node, raw and normalised."""
        if "score" not in self._hooks or not nodes.feasible.any():
            return {}, {}
        state = self._score_state(pod, nodes, answer)
        if state is SKIP:
            return {}, {}
        raw = check_scores(self._hooks["score"], self.run("score", pod, nodes, state), nodes.feasible)
        scores = self.normalize(pod, nodes, raw, state)
        rows = {name: nodes.row(name) for name in _feasible_names(nodes)}
        return {name: raw[row].item() for name, row in rows.items()}, {
            name: int(scores[row]) for name, row in rows.items()
        }

    def normalize(self, pod: Pod, nodes: NodeTable, raw: Any, state: Any) -> Any:
        """Return the scores from 0 to 100. Raises PluginError when they are not."""
        hook = self._hooks.get("normalize_score")
        if hook is None:
            return check_normalized_scores(self._hooks["score"], raw, nodes.feasible)
        # The framework may use the raw scores again for other pods, so a plugin must not write to them.
        read_only = raw.view()
        read_only.flags.writeable = False
        scores = check_scores(hook, hook(pod, nodes, read_only, state), nodes.feasible)
        return check_normalized_scores(hook, scores, nodes.feasible)


def mask_of(nodes: NodeTable, names: Iterable[str]) -> Mask:
    """Return a mask with the rows of these nodes."""
    selected = frozenset(names)
    return np.array([name in selected for name in nodes.names], np.bool_)


def state_of(answer: Any) -> Any:
    """Return the state in an answer of ``pre_filter``: a Restrict wraps one."""
    return answer.state if isinstance(answer, Restrict) else answer


def _without_rejected(cluster: Cluster, nodes: NodeTable, reasons: Reasons) -> NodeTable:
    """Return the feasible nodes against which there is no reason."""
    rejected = mask_of(nodes, [name for name, of_node in reasons.items() if of_node])
    return NodeTable(cluster.table, nodes.feasible & ~rejected)


def _feasible_names(nodes: NodeTable) -> list[str]:
    return [nodes.names[row] for row in np.flatnonzero(nodes.feasible).tolist()]
