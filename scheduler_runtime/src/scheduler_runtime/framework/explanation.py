"""Explanation of a decision: all of it, asked of the plugins anew and without cached answers.

``Framework.schedule`` is quick because it remembers. This is what it has to agree with, and what can be shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from scheduler_runtime.api import Mask, NodeTable, Pod, Reject
from scheduler_runtime.framework.decision_hooks import (
    run_filter_plugins,
    run_pre_filter_plugins,
    run_pre_score_plugins,
)
from scheduler_runtime.framework.decision_state import DecisionState
from scheduler_runtime.framework.diagnosis import Diagnosis
from scheduler_runtime.framework.framework import Framework
from scheduler_runtime.framework.hook import Hook
from scheduler_runtime.framework.node_chooser import NodeChooser
from scheduler_runtime.framework.outcomes import AssumeCache

RejectedNodes = dict[str, Counter[str]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One decision, up to the choice among the best."""

    feasible: frozenset[str]
    """The nodes that no plugin rejects; the one that the pod is nominated to alone, if that is one of them."""
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The scores of each plugin for each feasible node, normalized and weighted; empty with fewer than two nodes."""
    totals: Mapping[str, int] = field(default_factory=dict)
    """The sum over the plugins."""
    rejected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How many nodes each plugin rejected, by reason."""


def explain(framework: Framework, pod: Pod, cluster: AssumeCache) -> Explanation:
    """Return how ``framework`` would decide about ``pod`` now. Changes nothing. Raises PluginError."""
    with framework.context.decision(cluster.table):
        return _explain(framework.chooser, DecisionState(pod, cluster.table))


def _explain(chooser: NodeChooser, decision: DecisionState) -> Explanation:
    table = decision.table
    diagnosis = Diagnosis(len(table))
    nodes = NodeTable(table, np.ones(len(table), np.bool_))
    run_pre_filter_plugins(chooser.hooks.pre_filter, decision, nodes, diagnosis)
    if diagnosis.rejection or not len(table):
        reasons = Counter({diagnosis.rejection: diagnosis.size})
        return Explanation(frozenset(), rejected=dict.fromkeys(diagnosis.plugins, reasons))
    nominated = chooser.nominated_row(decision.pod, table)
    if nominated is not None and chooser.fits_nominated_row(decision, nominated, nodes, diagnosis):
        return Explanation(frozenset([table.names[nominated]]))
    rejected = _filter_all(chooser, decision, nodes)
    rows = np.flatnonzero(nodes.feasible).tolist()
    scores: dict[str, Mapping[str, int]] = {}
    if len(rows) > 1:
        states, skipped = run_pre_score_plugins(chooser.hooks.pre_score, decision, nodes)
        for scorer in chooser.hooks.score:
            plugin = scorer.score.plugin
            if plugin not in skipped:
                state = states.get(plugin)
                column = scorer.normalized(decision.pod, nodes, scorer.score(decision.pod, nodes, state), state)
                scores[plugin] = {table.names[row]: int(column[row]) * scorer.weight for row in rows}
    feasible = frozenset(table.names[row] for row in rows)
    totals = {node: sum(column[node] for column in scores.values()) for node in feasible} if scores else {}
    return Explanation(feasible, scores, totals, rejected)


def _filter_all(chooser: NodeChooser, decision: DecisionState, nodes: NodeTable) -> RejectedNodes:
    """Judge every node that is in play, those with nominated pods apart; return the reasons by plugin."""
    rejected: RejectedNodes = {}

    def note(hook: Hook, rows: Mask, reject: Reject) -> None:
        if count := int(np.count_nonzero(rows)):
            rejected.setdefault(hook.plugin, Counter())[reject.reason] += count

    apart = chooser.rows_with_nominated_pods(decision.pod, nodes)
    mask = nodes.feasible.copy()
    mask[apart] = False
    nodes.feasible = mask
    run_filter_plugins(chooser.hooks.filter, decision, nodes, note)
    mask = nodes.feasible.copy()
    for row in apart:
        plugin, rejects = chooser.what_if(decision).judge(row)
        mask[row] = not rejects
        if rejects:
            rejected.setdefault(plugin, Counter()).update(reject.reason for reject in rejects)
    nodes.feasible = mask
    return rejected
