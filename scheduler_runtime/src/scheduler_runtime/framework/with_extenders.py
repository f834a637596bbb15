"""Choosing a node where extenders have a say: after the filters about which nodes do, and in the scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from scheduler_runtime.api import Ints, Mask, NodeTable, Reject
from scheduler_runtime.framework.choosing_node import DecisionState, NodeChooser, NoFeasibleNode
from scheduler_runtime.framework.extender_contract import (
    EXTENDER,
    MAX_ROUNDS,
    ExtenderAnswers,
    FilterAnswer,
    FilterQuestion,
    ScoreQuestion,
)
from scheduler_runtime.framework.filtering import Diagnosis
from scheduler_runtime.state.table import Table


class ExtendedChooser:
    """Chooses as ``decider``, and asks for the advice that it lacks."""

    def __init__(self, decider: NodeChooser) -> None:
        self._decider = decider

    def choose(
        self, attempt: DecisionState, advice: ExtenderAnswers
    ) -> int | NoFeasibleNode | FilterQuestion | ScoreQuestion:
        """The row of the best node, or what has to be asked before that is known. Raises PluginError."""
        diagnosis = Diagnosis(len(attempt.table))
        nodes = NodeTable(attempt.table, diagnosis.feasible)
        self._decider.pre_filter(attempt, nodes, diagnosis)
        own = self._own(attempt, diagnosis, advice)
        if own is not None:
            return own
        self._decider.filter(attempt, nodes, diagnosis, samples=advice.filtered is None)
        if not np.count_nonzero(diagnosis.feasible):
            return NoFeasibleNode(nodes, diagnosis)
        asks = self._take(advice, attempt.table, diagnosis)
        if asks is not None:
            return asks
        count = np.count_nonzero(diagnosis.feasible)
        if not count:
            return NoFeasibleNode(nodes, diagnosis)
        return int(diagnosis.feasible.argmax()) if count == 1 else self._best(attempt, nodes, advice)

    def _own(
        self, attempt: DecisionState, diagnosis: Diagnosis, advice: ExtenderAnswers
    ) -> int | FilterQuestion | None:
        """The row of the node that the pod is nominated to, if it does."""
        own = self._decider.nominated.own_row(attempt.pod, attempt.table)
        if own is None or diagnosis.rejection or not self._decider.takes(attempt, own, diagnosis):
            return None
        name = attempt.table.names[own]
        if advice.nominated_node is None or name not in advice.nominated_node.question.nodes:
            return FilterQuestion((name,), is_nominated_node=True)
        return own if name in advice.nominated_node.allowed else None

    def _take(self, advice: ExtenderAnswers, table: Table, diagnosis: Diagnosis) -> FilterQuestion | None:
        """Leave in play what the extenders allow, or say what they have to be asked.

        A node that came to be feasible since they were asked is not in play. If there is no other, they are asked
        again: the pod must not be told, and nobody be preempted, as if it fitted nowhere.
        """
        said = advice.filtered
        if said is None:
            return self._asks(table, diagnosis)
        asked = rows_of(table, said.question.nodes)
        allowed = diagnosis.feasible & rows_of(table, said.allowed)
        unasked = diagnosis.feasible & ~asked
        if not allowed.any() and unasked.any() and not said.question.is_sample and advice.rounds < MAX_ROUNDS:
            return self._asks(table, diagnosis)
        _note(said, table, diagnosis, diagnosis.feasible & asked & ~allowed)
        diagnosis.unresolvable |= unasked
        diagnosis.feasible &= allowed
        return None

    def _asks(self, table: Table, diagnosis: Diagnosis) -> FilterQuestion:
        feasible = [table.names[row] for row in np.flatnonzero(diagnosis.feasible)]
        return FilterQuestion(feasible, is_sample=self._decider.samples)

    def _best(self, attempt: DecisionState, nodes: NodeTable, advice: ExtenderAnswers) -> int | ScoreQuestion:
        names = attempt.table.names
        if advice.scores is None:
            return ScoreQuestion([names[row] for row in np.flatnonzero(nodes.feasible)])
        return self._decider.best_of_all(attempt, nodes, _column(advice.scores, attempt.table))


def rows_of(table: Table, names: Iterable[str]) -> Mask:
    """The rows of the nodes called ``names`` that still exist."""
    rows = [row for row in map(table.row, names) if row is not None]
    mask = np.zeros(len(table), np.bool_)
    mask[rows] = True
    return mask


def _note(said: FilterAnswer, table: Table, diagnosis: Diagnosis, rejected: Mask) -> None:
    """Note why the extenders reject rows. As upstream, there need not be a reason."""
    without_a_word = Reject(True, diagnosis.left_out, resolvable=False)
    for row in np.flatnonzero(rejected).tolist():
        diagnosis.reject_row(EXTENDER, row, (said.rejects.get(table.names[row], without_a_word),))
    del diagnosis.reasons[""]


def _as_in_go(number: int) -> int:
    """What 64 bits hold of ``number``: extenders may score, and documents weigh, as high as they like."""
    return (number + 2**63) % 2**64 - 2**63


def _column(scores: Mapping[str, int], table: Table) -> Ints:
    column = np.zeros(len(table), np.int64)
    for name, score in scores.items():
        row = table.row(name)
        if row is not None:
            column[row] = _as_in_go(score)
    return column
