"""Why a pod goes where it goes: one decision in full, asked of the plugins anew and without anything that was kept.

``Framework.schedule`` is quick because it remembers. This is what it has to agree with, and what can be shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from scheduler_runtime.api import NodeTable, Pod
from scheduler_runtime.framework.choosing_node import DecisionState
from scheduler_runtime.framework.filtering import Diagnosis, pre_filter, run_filters
from scheduler_runtime.framework.outcomes import AssumeCache
from scheduler_runtime.framework.scoring import plugin_scores, pre_score
from scheduler_runtime.state.table import Table

if TYPE_CHECKING:
    from scheduler_runtime.framework.framework import Framework

Rejected = dict[str, Counter[str]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One decision, up to the choice among the best."""

    feasible: frozenset[str]
    """The nodes that no plugin rejects; the one that the pod is nominated to alone, if that is one of them."""
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """What each plugin gives each feasible node, normalised and weighted; empty with fewer than two nodes."""
    totals: Mapping[str, int] = field(default_factory=dict)
    """The sum over the plugins."""
    rejected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How many nodes each plugin rejected, by reason."""


def explain(framework: Framework, pod: Pod, cluster: AssumeCache) -> Explanation:
    """How ``framework`` would decide about ``pod`` now. Changes nothing. Raises PluginError."""
    context = framework.context
    context.table = cluster.table
    try:
        return _Asking(framework, pod, cluster.table).explanation()
    finally:
        context.table = None


class _Asking:
    """One decision under way."""

    def __init__(self, framework: Framework, pod: Pod, table: Table) -> None:
        self._decider = framework.decisions.decider
        self._hooks = framework.decisions.hooks
        self._pod = pod
        self._attempt = DecisionState(pod, table)
        self._diagnosis = Diagnosis(len(table))
        self._nodes = NodeTable(table, self._diagnosis.feasible)
        self._rejected: Rejected = {}

    def explanation(self) -> Explanation:
        attempt, diagnosis = self._attempt, self._diagnosis
        states, skipped = pre_filter(self._hooks.pre_filter, self._pod, self._nodes, attempt.cycle, diagnosis, {})
        attempt.states, attempt.skipped = states, skipped
        if diagnosis.rejection or not len(attempt.table):
            return Explanation(frozenset(), rejected=self._rejected_as_a_whole())
        own = self._decider.nominated.own_row(self._pod, attempt.table)
        if own is not None and self._decider.takes(attempt, own, diagnosis):
            return Explanation(frozenset([attempt.table.names[own]]))
        self._filter()
        feasible = frozenset(self._feasible())
        scores = dict(self._scores()) if len(feasible) > 1 else {}
        totals = {node: sum(given[node] for given in scores.values()) for node in feasible} if scores else {}
        return Explanation(feasible, scores, totals, self._rejected)

    def _rejected_as_a_whole(self) -> Rejected:
        reason = Counter({self._diagnosis.rejection: self._diagnosis.size})
        return dict.fromkeys(self._diagnosis.plugins, reason)

    def _filter(self) -> None:
        """Ask every filter about the nodes that are left, and about those with nominated pods all over again."""
        attempt, diagnosis = self._attempt, self._diagnosis
        apart = [row for row in self._decider.nominated.rows(self._pod, attempt.table) if diagnosis.feasible[row]]
        diagnosis.feasible[apart] = False
        for hook in self._hooks.filter:
            if hook.plugin not in attempt.skipped:
                before = diagnosis.reasons.copy()
                run_filters([hook], self._pod, self._nodes, attempt.states, diagnosis, {})
                self._note(hook.plugin, diagnosis.reasons - before)
        for row in apart:
            plugin, rejects = self._decider.trials(attempt).judge(row)
            diagnosis.feasible[row] = not rejects
            self._note(plugin, Counter(reject.reason for reject in rejects))

    def _note(self, plugin: str, reasons: Counter[str]) -> None:
        if reasons:
            self._rejected.setdefault(plugin, Counter()).update(reasons)

    def _feasible(self) -> Iterator[str]:
        names = self._attempt.table.names
        return (names[row] for row in np.flatnonzero(self._diagnosis.feasible))

    def _scores(self) -> Iterator[tuple[str, Mapping[str, int]]]:
        attempt, nodes = self._attempt, self._nodes
        states, unscored = pre_score(self._hooks.pre_score, self._pod, nodes, attempt.cycle, attempt.states)
        for scorer in self._hooks.score:
            plugin = scorer.score.plugin
            if plugin not in unscored:
                scores = plugin_scores(scorer, self._pod, nodes, states.get(plugin))
                given = (int(scores[row]) * scorer.weight for row in np.flatnonzero(self._diagnosis.feasible))
                yield plugin, dict(zip(self._feasible(), given, strict=True))
