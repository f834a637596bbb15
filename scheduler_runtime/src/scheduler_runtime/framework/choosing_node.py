"""Which node a pod should go to.

Two ways lead to the same answer. The quick one goes by the class of the pod: what the row-local plugins say is kept,
and only the other plugins are asked. It ends as soon as something is out of the ordinary (a pod that fits nowhere, a
plugin that rejects the pod as a whole), and the thorough way asks plugin after plugin, as the order of the profile
has it, and can say why.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from random import Random
from time import perf_counter
from typing import Any

import numpy as np

from scheduler_runtime.api import SKIP, Ints, Mask, NodeTable, Pod, Reject, Restrict
from scheduler_runtime.framework.answer_cache import AnswerCache, CachedAnswers
from scheduler_runtime.framework.filtering import Diagnosis, pre_filter, run_filters
from scheduler_runtime.framework.hook import Hook, checked_rows, rejections
from scheduler_runtime.framework.nominated_nodes import NominatedPods, judge, refuse
from scheduler_runtime.framework.point_metrics import FILTER, PRE_FILTER, PRE_SCORE, SCORE, Measures, timed
from scheduler_runtime.framework.sampling import Sampler
from scheduler_runtime.framework.scoring import Scorer, best_row, pre_score, relative_scores, total_scores
from scheduler_runtime.framework.what_if import WhatIf
from scheduler_runtime.state.table import Table

_WORST = np.iinfo(np.int64).min
"""Below whatever a feasible node can have."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks that choose a node, in the profile's order."""

    pre_filter: Sequence[Hook]
    filter: Sequence[Hook]
    pre_score: Sequence[Hook]
    score: Sequence[Scorer]

    def without(self, plugins: Collection[str]) -> Hooks:
        """The hooks of the other plugins."""
        return Hooks(
            [hook for hook in self.pre_filter if hook.plugin not in plugins],
            [hook for hook in self.filter if hook.plugin not in plugins],
            [hook for hook in self.pre_score if hook.plugin not in plugins],
            [scorer for scorer in self.score if scorer.score.plugin not in plugins],
        )

    def timed(self, measures: Measures) -> Hooks:
        """The same hooks, each with a clock beside it."""
        return Hooks(
            [timed(hook, measures) for hook in self.pre_filter],
            [timed(hook, measures) for hook in self.filter],
            [timed(hook, measures) for hook in self.pre_score],
            [each.timed(measures) for each in self.score],
        )

    def of(self, plugin: str) -> PluginHooks:
        """The hooks of one plugin."""
        return PluginHooks(
            next((hook for hook in self.pre_filter if hook.plugin == plugin), None),
            next((hook for hook in self.filter if hook.plugin == plugin), None),
            next((hook for hook in self.pre_score if hook.plugin == plugin), None),
            next((scorer for scorer in self.score if scorer.score.plugin == plugin), None),
        )


@dataclass(frozen=True, slots=True)
class PluginHooks:
    """Those hooks of a plugin that choose a node and are enabled."""

    pre_filter: Hook | None
    filter: Hook | None
    pre_score: Hook | None
    score: Scorer | None


@dataclass(slots=True)
class DecisionState:
    """One pod, and what the plugins have answered so far: nobody is asked the same twice."""

    pod: Pod
    table: Table
    cycle: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    """What each ``pre_filter`` answered."""
    rejections: dict[str, list[Reject]] = field(default_factory=dict)
    """What each ``filter`` yielded."""
    states: Mapping[str, Any] = field(default_factory=dict)
    """What the filters, and the hooks after the choice, are given."""
    skipped: AbstractSet[str] = frozenset()
    """The plugins whose filter is left out."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each extension point took."""


@dataclass(frozen=True, slots=True)
class NoFeasibleNode:
    """No node is feasible, and why."""

    nodes: NodeTable
    diagnosis: Diagnosis


class NodeChooser:
    """Chooses nodes by the plugins of one profile."""

    def __init__(
        self,
        hooks: Hooks,
        classes: AnswerCache,
        kept: Collection[str],
        nominated: NominatedPods,
        random: Random,
        sampler: Sampler | None = None,
    ) -> None:
        """``kept`` names the plugins that ``classes`` speaks for. Without a ``sampler`` all nodes are looked at."""
        self._hooks = hooks
        self._kept = kept
        self._others = hooks.without(kept)
        self.classes = classes
        self.nominated = nominated
        self._random = random
        self._sampler = sampler

    @property
    def samples(self) -> bool:
        """Whether not all nodes are looked at."""
        return self._sampler is not None

    def timed(self, measures: Measures) -> NodeChooser:
        """One that decides alike, with a clock beside each hook."""
        hooks = self._hooks.timed(measures)
        nominated = self.nominated.timed(measures)
        return NodeChooser(hooks, self.classes, self._kept, nominated, self._random, self._sampler)

    def choose(self, attempt: DecisionState) -> int | NoFeasibleNode:
        """The row of the best node, any of several that are equally good. Raises PluginError."""
        own = self.nominated.own_row(attempt.pod, attempt.table)
        if own is not None:
            return self._thoroughly(attempt, own)
        began = perf_counter()
        known = self.classes.lookup(attempt.pod, attempt.table)
        row = self._by_class(attempt, known, began) if known is not None else None
        return self._thoroughly(attempt) if row is None else row

    def trials(self, attempt: DecisionState) -> WhatIf:
        """For asking about single nodes, after the plugins' ``pre_filter`` was run for ``attempt``."""
        return self.nominated.trials(attempt.pod, attempt.table, attempt.states, attempt.skipped)

    # The quick way.

    def _by_class(self, attempt: DecisionState, known: CachedAnswers, began: float) -> int | None:
        """The best row, by what is kept and by the other plugins; None when only the thorough way can tell.

        Bringing up to date what is kept, which was ``began`` before, counts as filtering.
        """
        asking = perf_counter()
        attempt.answers = {**known.node.said.answers, **known.said.answers}
        if not known.is_sound:
            return None
        nodes = NodeTable(attempt.table, known.mask)
        skipped = self._ask_others(attempt, nodes, known)
        if skipped is None:
            return None
        filtering = perf_counter()
        feasible = self._filtered_by_others(attempt, nodes, skipped)
        apart = self.nominated.rows(attempt.pod, attempt.table)
        if apart:
            attempt.skipped = {plugin for plugin, answer in attempt.answers.items() if answer is SKIP}
            feasible = nodes.feasible = refuse(feasible, apart, self.trials(attempt))
        if self._sampler is not None:
            feasible = nodes.feasible = self._sampler.sample(feasible, attempt.table)
        filtered = asking - began + perf_counter() - filtering
        attempt.seconds = {PRE_FILTER: filtering - asking, FILTER: filtered}
        count = np.count_nonzero(feasible)
        if not count:
            return None
        if count == 1:
            return int(feasible.argmax())  # Its score does not matter.
        return self._best(attempt, nodes, known)

    def _ask_others(self, attempt: DecisionState, nodes: NodeTable, known: CachedAnswers) -> set[str] | None:
        """Run the other plugins' ``pre_filter``; return who skips, or None when one does not simply go on."""
        skipped: set[str] = set()
        states: dict[str, Any] = {}
        for hook in self._others.pre_filter:
            answer = attempt.answers[hook.plugin] = hook(attempt.pod, nodes, attempt.cycle)
            if answer is SKIP:
                skipped.add(hook.plugin)
            elif isinstance(answer, Reject | Restrict):
                return None
            else:
                states[hook.plugin] = answer
        attempt.states = {**known.states, **states} if states else known.states
        return skipped

    def _filtered_by_others(self, attempt: DecisionState, nodes: NodeTable, skipped: set[str]) -> Mask:
        for hook in self._others.filter:
            if hook.plugin in skipped:
                continue
            if not np.count_nonzero(nodes.feasible):
                break
            found = rejections(hook, attempt.pod, nodes, attempt.states.get(hook.plugin))
            attempt.rejections[hook.plugin] = found
            for reject in found:
                rows = checked_rows(hook, reject.rows, len(nodes))
                if np.count_nonzero(rows):
                    nodes.feasible = nodes.feasible & ~rows
        return nodes.feasible

    def _best(self, attempt: DecisionState, nodes: NodeTable, known: CachedAnswers) -> int:
        pod, began = attempt.pod, perf_counter()
        scoring, skipped = pre_score(self._others.pre_score, pod, nodes, attempt.cycle, attempt.states)
        scorers = [each for each in self._others.score if each.score.plugin not in skipped]
        scored = perf_counter()
        total = known.ranked
        relative = known.node.relative
        if scorers or relative or nodes.feasible is not known.mask:
            for each in relative:
                total = total + relative_scores(each.scorer, pod, nodes, each.scores, each.state)
            if scorers:
                total = total + total_scores(scorers, pod, nodes, scoring)
            if np.count_nonzero(nodes.feasible) < len(nodes):
                total = np.where(nodes.feasible, total, total.dtype.type(-1))
        row = best_row(total, self._random)
        attempt.seconds[PRE_SCORE] = scored - began
        attempt.seconds[SCORE] = perf_counter() - scored
        return row

    # The thorough way.

    def _thoroughly(self, attempt: DecisionState, own: int | None = None) -> int | NoFeasibleNode:
        """Ask plugin after plugin, about the pod's ``own`` row before all others if it has one."""
        diagnosis = Diagnosis(len(attempt.table))
        nodes = NodeTable(attempt.table, diagnosis.feasible)
        self.pre_filter(attempt, nodes, diagnosis)
        if own is not None and not diagnosis.rejection and self.takes(attempt, own, diagnosis):
            return own
        self.filter(attempt, nodes, diagnosis)
        count = np.count_nonzero(diagnosis.feasible)
        if not count:
            return NoFeasibleNode(nodes, diagnosis)
        if count == 1:
            return int(diagnosis.feasible.argmax())
        return self.best_of_all(attempt, nodes)

    def pre_filter(self, attempt: DecisionState, nodes: NodeTable, diagnosis: Diagnosis) -> None:
        """Run every ``pre_filter`` that was not asked before; of ``nodes`` those stay in play that they leave."""
        began = perf_counter()
        attempt.states, attempt.skipped = pre_filter(
            self._hooks.pre_filter, attempt.pod, nodes, attempt.cycle, diagnosis, attempt.answers
        )
        attempt.seconds = {PRE_FILTER: perf_counter() - began}

    def filter(self, attempt: DecisionState, nodes: NodeTable, diagnosis: Diagnosis, *, samples: bool = True) -> None:
        """Ask about the nodes that are in play; those that are feasible stay there, or a sample of them."""
        if diagnosis.rejection:
            return
        sampler = self._sampler if samples else None
        began, asked = perf_counter(), diagnosis.feasible.copy() if sampler is not None else None
        apart = self._apart(attempt, diagnosis.feasible)
        diagnosis.feasible[apart] = False
        if np.count_nonzero(diagnosis.feasible):
            remaining = [hook for hook in self._hooks.filter if hook.plugin not in attempt.skipped]
            run_filters(remaining, attempt.pod, nodes, attempt.states, diagnosis, attempt.rejections)
        judge(apart, self.trials(attempt), diagnosis)
        if sampler is not None:
            diagnosis.feasible[:] = sampler.sample(diagnosis.feasible, attempt.table, asked)
        attempt.seconds[FILTER] = perf_counter() - began

    def _apart(self, attempt: DecisionState, in_play: Mask) -> list[int]:
        """The rows that are asked about one by one: where nominated pods count, and the only one there is."""
        if np.count_nonzero(in_play) == 1:
            return [int(in_play.argmax())]
        return [row for row in self.nominated.rows(attempt.pod, attempt.table) if in_play[row]]

    def best_of_all(self, attempt: DecisionState, nodes: NodeTable, more: Ints | None = None) -> int:
        """The best of the feasible rows, with ``more`` than what plugins score. Raises PluginError."""
        began = perf_counter()
        scoring, unscored = pre_score(self._hooks.pre_score, attempt.pod, nodes, attempt.cycle, attempt.states)
        scorers = [each for each in self._hooks.score if each.score.plugin not in unscored]
        scored = perf_counter()
        total = total_scores(scorers, attempt.pod, nodes, scoring)
        if more is not None:
            total = np.maximum(total + more, _WORST + 1)
        row = best_row(np.where(nodes.feasible, total, _WORST), self._random)
        attempt.seconds[PRE_SCORE] = scored - began
        attempt.seconds[SCORE] = perf_counter() - scored
        return row

    def takes(self, attempt: DecisionState, own: int, diagnosis: Diagnosis) -> bool:
        """Whether the pod can go to the node in its ``own`` row, which is asked even if ``pre_filter`` left it out."""
        plugin, rejects = self.trials(attempt).judge(own)
        if rejects and not diagnosis.feasible[own]:
            diagnosis.reject_left_out(plugin, own, rejects)
        return not rejects
