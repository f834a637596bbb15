"""The choice of a node for one pod, without taking it.

Two ways lead to the same node. The quick one goes by cached answers, and only plugins whose answers are not cached run.
It gives up as soon as something is out of the ordinary (the pod fits nowhere, a plugin rejects the pod as a whole);
then plugin after plugin runs in the profile's order, which also gives the reasons. So it does for pods that extenders
are interested in, with questions to the extenders in between (docs/adr/0009).

The mask ``feasible`` of the nodes has True for the rows still in play: each step leaves some of them, or none.

Upstream's schedulePod, findNodesThatFitPod and prioritizeNodes in schedule_one.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Any

import numpy as np

from scheduler_runtime.api import SKIP, Ints, Mask, NodeTable, Pod, Reject, Restrict
from scheduler_runtime.framework.answer_cache import INFEASIBLE, AnswerCache, CachedAnswers
from scheduler_runtime.framework.decision_hooks import (
    DecisionHooks,
    run_filter_plugins,
    run_pre_filter_plugins,
    run_pre_score_plugins,
    run_score_plugins,
    select_row,
)
from scheduler_runtime.framework.decision_state import DecisionState
from scheduler_runtime.framework.diagnosis import Diagnosis
from scheduler_runtime.framework.extender_contract import (
    EXTENDER,
    MAX_ROUNDS,
    ExtenderAnswers,
    FilterAnswer,
    FilterQuestion,
    ScoreQuestion,
)
from scheduler_runtime.framework.plugin_times import FILTER, PRE_FILTER, PRE_SCORE, SCORE
from scheduler_runtime.framework.sampling import Sampler
from scheduler_runtime.framework.what_if import RowFilter, WhatIf
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.table import Table, wrap_int64

BELOW_ALL_SCORES = np.iinfo(np.int64).min
"""Below any score of a feasible node."""


@dataclass(frozen=True, slots=True)
class NoFeasibleNode:
    """No node is feasible, and the reasons."""

    nodes: NodeTable
    diagnosis: Diagnosis


Choice = int | NoFeasibleNode | FilterQuestion | ScoreQuestion
"""A row, or why there is none, or what the extenders have to be asked first."""


class NodeChooser:
    """Chooses nodes by the plugins of one profile."""

    def __init__(
        self,
        hooks: DecisionHooks,
        row_filters: Sequence[RowFilter],
        cache: AnswerCache,
        cached: Collection[str],
        nominations: Nominations,
        random: Random,
        sampler: Sampler | None = None,
    ) -> None:
        """``cached`` names the plugins in ``cache``. Without a ``sampler`` all feasible nodes are scored."""
        self.hooks = hooks
        self._uncached = hooks.without(cached)
        self._row_filters = row_filters
        self.cache = cache
        self._nominations = nominations
        self._random = random
        self._sampler = sampler

    def choose(self, decision: DecisionState, answers: ExtenderAnswers | None) -> Choice:
        """Return the row of the best node, any of several that are equally good. Raises PluginError.

        With ``answers`` extenders have a say: a question to them is returned where their answer is not there yet.
        """
        # A nominated pod: plugin after plugin, first about its node alone, which is work for the filters of one row.
        # Any other whose answers are cached: by the cache, which returns None when only all plugins can tell.
        # Otherwise, and after such a None: plugin after plugin, about all rows.
        nominated = self.nominated_row(decision.pod, decision.table)
        if nominated is None and answers is None:
            began = perf_counter()
            cached = self.cache.lookup(decision.pod, decision.table)
            if cached is not None:
                row = self._choose_from_cache(decision, cached, began)
                if row is not None:
                    return row
        return self._choose_from_plugins(decision, nominated, answers)

    # By cached answers.

    def _choose_from_cache(self, decision: DecisionState, cached: CachedAnswers, began: float) -> int | None:
        """Return the best row by cached answers and the other plugins; None when only all plugins can tell.

        Bringing the cached answers up to date, which ``began`` before, counts as filtering.
        """
        pod, table = decision.pod, decision.table
        pre_filter_began = perf_counter()
        answers = {**cached.node_answers.prepared.pre_filter_answers, **cached.prepared.pre_filter_answers}
        # From here on every way out leaves in ``decision`` what was answered: no hook runs twice for one decision.
        decision.pre_filter_answers = answers
        if not cached.is_usable:
            return None
        nodes = NodeTable(table, cached.mask)
        states: dict[str, Any] = {}
        skipped: set[str] = set()
        for hook in self._uncached.pre_filter:
            answer = answers[hook.plugin] = hook(pod, nodes, decision.cycle)
            if answer is SKIP:
                skipped.add(hook.plugin)
            elif isinstance(answer, Reject | Restrict):
                # The order of the profile decides which plugin rejects the pod first, and is named.
                return None
            else:
                states[hook.plugin] = answer
        decision.states = {**cached.states, **states} if states else cached.states
        decision.skipped = skipped
        filter_began = perf_counter()
        if self._uncached.filter:
            run_filter_plugins(self._uncached.filter, decision, nodes)
        if self._nominations.nodes and (rows := self.rows_with_nominated_pods(pod, nodes)):
            # Cached plugins, too, are asked about these rows: all that skip have to be known.
            decision.skipped = {plugin for plugin, answer in answers.items() if answer is SKIP}
            nodes.feasible = _set_rows(nodes.feasible, self.what_if(decision).rejected_rows(rows), value=False)
        if self._sampler is not None:
            nodes.feasible = self._sampler.sample(nodes.feasible, table)
        decision.seconds = {
            PRE_FILTER: filter_began - pre_filter_began,
            FILTER: pre_filter_began - began + perf_counter() - filter_began,
        }
        count = np.count_nonzero(nodes.feasible)
        if not count:
            return None  # The cache has no reasons: the pod's message needs all filters.
        if count == 1:
            return int(nodes.feasible.argmax())  # As upstream, a node without a rival is not scored.
        return self._best_by_cache(decision, nodes, cached)

    def _best_by_cache(self, decision: DecisionState, nodes: NodeTable, cached: CachedAnswers) -> int:
        """Return the best of the feasible rows: cached scores, and those of the other plugins. Raises PluginError."""
        began = perf_counter()
        states, skipped = run_pre_score_plugins(self._uncached.pre_score, decision, nodes)
        score_began = perf_counter()
        total = cached.total
        # Their worth depends on which nodes are feasible in this decision, so that only the raw numbers are cached.
        for unnormalized in cached.node_answers.unnormalized:
            scorer, scores, state = unnormalized.scorer, unnormalized.scores, unnormalized.state
            total = total + scorer.weighted(scorer.normalized(decision.pod, nodes, scores, state))
        others = run_score_plugins(self._uncached.score, decision.pod, nodes, states, skipped)
        if others is not None:
            total = total + others
        # ``cached.total`` itself is INFEASIBLE wherever ``cached.mask`` is false.
        is_masked = total is cached.total and nodes.feasible is cached.mask
        if not is_masked and np.count_nonzero(nodes.feasible) < len(nodes):
            total = np.where(nodes.feasible, total, total.dtype.type(INFEASIBLE))
        row = select_row(total, self._random)
        decision.seconds[PRE_SCORE] = score_began - began
        decision.seconds[SCORE] = perf_counter() - score_began
        return row

    # By plugin after plugin.

    def _choose_from_plugins(
        self, decision: DecisionState, nominated: int | None, answers: ExtenderAnswers | None
    ) -> Choice:
        """Ask all plugins, about the row that the pod is ``nominated`` to before all others if it has one.

        After the plugins the extenders, if they have a say: about the nominated node, about the feasible nodes, and
        about scores.
        """
        diagnosis = Diagnosis(len(decision.table))
        nodes = self._run_pre_filters(decision, diagnosis)
        if nominated is not None and self.fits_nominated_row(decision, nominated, nodes, diagnosis):
            if answers is None:
                return nominated
            name, answer = decision.table.names[nominated], answers.nominated_node
            if answer is None or name not in answer.question.nodes:
                return FilterQuestion((name,), is_nominated_node=True)
            if name in answer.allowed:
                return nominated
        # Once extenders were asked about a sample it stays the same: another would hold nodes that they do not know.
        sampler = self._sampler if answers is None or answers.filtered is None else None
        self._run_filters(decision, nodes, diagnosis, sampler)
        count = np.count_nonzero(nodes.feasible)
        if count and answers is not None:
            question = self._apply_answer(answers, nodes, diagnosis)
            if question is not None:
                return question
            count = np.count_nonzero(nodes.feasible)
        if not count:
            return NoFeasibleNode(nodes, diagnosis)
        if count == 1:
            return int(nodes.feasible.argmax())
        if answers is None:
            return self._best_by_plugins(decision, nodes)
        if answers.scores is None:
            return ScoreQuestion(_feasible_names(nodes))
        return self._best_by_plugins(decision, nodes, _scores_of_extenders(answers.scores, nodes))

    def _run_pre_filters(self, decision: DecisionState, diagnosis: Diagnosis) -> NodeTable:
        """Run every ``pre_filter`` that has not answered yet; return the nodes, those in play that it leaves."""
        began = perf_counter()
        nodes = NodeTable(decision.table, np.ones(diagnosis.size, np.bool_))
        run_pre_filter_plugins(self.hooks.pre_filter, decision, nodes, diagnosis)
        decision.seconds = {PRE_FILTER: perf_counter() - began}
        return nodes

    def _run_filters(
        self, decision: DecisionState, nodes: NodeTable, diagnosis: Diagnosis, sampler: Sampler | None
    ) -> None:
        """Judge the nodes that are in play; those that are feasible stay there, or a sample of them."""
        if diagnosis.rejection:
            return
        began, candidates = perf_counter(), nodes.feasible
        if np.count_nonzero(candidates) == 1:
            # A single row costs less by ``filter_row``: pods of a DaemonSet name their node.
            rejected = self.what_if(decision).rejected_rows([int(candidates.argmax())], diagnosis)
            nodes.feasible = _set_rows(candidates, rejected, value=False)
        else:
            apart = self.rows_with_nominated_pods(decision.pod, nodes) if self._nominations.nodes else []
            nodes.feasible = _set_rows(candidates, apart, value=False)
            run_filter_plugins(self.hooks.filter, decision, nodes, diagnosis.reject_rows)
            if apart:
                rejected = self.what_if(decision).rejected_rows(apart, diagnosis)
                nodes.feasible = _set_rows(nodes.feasible, set(apart).difference(rejected), value=True)
        if sampler is not None:
            nodes.feasible = sampler.sample(nodes.feasible, decision.table, candidates)
        decision.seconds[FILTER] = perf_counter() - began

    def _best_by_plugins(self, decision: DecisionState, nodes: NodeTable, extra: Ints | None = None) -> int:
        """Return the best of the feasible rows, with ``extra`` beside the scores of plugins. Raises PluginError."""
        began = perf_counter()
        states, skipped = run_pre_score_plugins(self.hooks.pre_score, decision, nodes)
        score_began = perf_counter()
        total = run_score_plugins(self.hooks.score, decision.pod, nodes, states, skipped)
        if total is None:
            total = np.zeros(len(nodes), np.int64)
        if extra is not None:
            # Extenders may score as low as 64 bits go: a feasible node stays above all that are not.
            total = np.maximum(total + extra, BELOW_ALL_SCORES + 1)
        # Extenders' scores may be negative: unlike in the cache, INFEASIBLE would not be below all others.
        row = select_row(np.where(nodes.feasible, total, BELOW_ALL_SCORES), self._random)
        decision.seconds[PRE_SCORE] = score_began - began
        decision.seconds[SCORE] = perf_counter() - score_began
        return row

    # Nominated nodes.

    def nominated_row(self, pod: Pod, table: Table) -> int | None:
        """Return the row of the node that ``pod`` is nominated to: likely the only one where there is room for it."""
        node = self._nominations.node_of(pod)
        return table.row(node) if node else None

    def fits_nominated_row(self, decision: DecisionState, row: int, nodes: NodeTable, diagnosis: Diagnosis) -> bool:
        """Return whether the pod can go to the node it is nominated to, also where ``pre_filter`` left that one out.

        Upstream's evaluateNominatedNode. Raises PluginError.
        """
        if diagnosis.rejection:
            return False  # As upstream: a pod that PreFilter rejects is not evaluated on its nominated node either.
        plugin, rejects = self.what_if(decision).judge(row)
        if rejects and not nodes.feasible[row]:
            diagnosis.reject_restricted_row(plugin, row, rejects)
        return not rejects

    def rows_with_nominated_pods(self, pod: Pod, nodes: NodeTable) -> list[int]:
        """Return the rows in play with nominated pods for which ``pod`` has to leave room."""
        rows = ((node, nodes.row(node)) for node in self._nominations.nodes)
        return [
            row
            for node, row in rows
            if row is not None and nodes.feasible[row] and self._nominations.competing_with(pod, node)
        ]

    def what_if(self, decision: DecisionState) -> WhatIf:
        """Return how to ask the filters about single nodes, after every ``pre_filter`` has run."""
        filters = [row_filter for row_filter in self._row_filters if row_filter.row.plugin not in decision.skipped]
        return WhatIf(decision.pod, decision.table, filters, decision.states, self._nominations)

    # With extenders.

    def _apply_answer(self, answers: ExtenderAnswers, nodes: NodeTable, diagnosis: Diagnosis) -> FilterQuestion | None:
        """Leave in play what the extenders allow, or return the question to ask them.

        A node that became feasible since they were asked is not in play. If no other is left they are asked again: the
        pod's message would be wrong, and a preemption needless, if the pod counted as fitting nowhere.
        """
        answer = answers.filtered
        if answer is None:
            return FilterQuestion(_feasible_names(nodes), is_sample=self._sampler is not None)
        question, feasible = answer.question, nodes.feasible
        in_question = _rows_of(nodes, question.nodes)
        allowed = feasible & _rows_of(nodes, answer.allowed)
        is_new = feasible & ~in_question
        if not allowed.any() and is_new.any() and not question.is_sample and answers.rounds < MAX_ROUNDS:
            return FilterQuestion(_feasible_names(nodes), is_sample=self._sampler is not None)
        _note_rejections(answer, nodes, diagnosis, feasible & in_question & ~allowed)
        # Nobody knows whether extenders would allow the new nodes, so that no pod is evicted from them.
        diagnosis.add_unresolvable(is_new)
        nodes.feasible = allowed
        return None


def _scores_of_extenders(scores: Mapping[str, int], nodes: NodeTable) -> Ints:
    """Return the extenders' ``scores`` row by row."""
    by_row = np.zeros(len(nodes), np.int64)
    for name, score in scores.items():
        row = nodes.row(name)
        if row is not None:
            # As Go's int64 overflows: extenders may score, and documents weigh, as high as they like.
            by_row[row] = wrap_int64(score)
    return by_row


def _note_rejections(answer: FilterAnswer, nodes: NodeTable, diagnosis: Diagnosis, rejected: Mask) -> None:
    """Note why the extenders reject rows. As upstream, there need not be a reason."""
    without_reason = Reject(True, diagnosis.restriction_reason, resolvable=False)
    for row in np.flatnonzero(rejected).tolist():
        diagnosis.reject_row(EXTENDER, row, (answer.rejects.get(nodes.names[row], without_reason),))
    del diagnosis.reasons[""]  # Neither a reason nor a count: upstream's message leaves such nodes out.


def _feasible_names(nodes: NodeTable) -> list[str]:
    """Return the names of the nodes in play, in the table's order."""
    return [nodes.names[row] for row in np.flatnonzero(nodes.feasible).tolist()]


def _rows_of(nodes: NodeTable, names: Iterable[str]) -> Mask:
    """Return the rows of those nodes called ``names`` that still exist."""
    return _set_rows(
        np.zeros(len(nodes), np.bool_), [row for row in map(nodes.row, names) if row is not None], value=True
    )


def _set_rows(mask: Mask, rows: Collection[int], *, value: bool) -> Mask:
    """Return ``mask`` with another ``value`` in some rows: another array, if there are any."""
    if not rows:
        return mask
    changed = mask.copy()
    changed[list(rows)] = value
    return changed
