"""Nodes that are looked at one by one: where pods are nominated to, and where preemption tries.

A pod may go to a node only if those that are nominated to it still fit, as far as they are at least as important.
So there the filters are asked with these pods on the node, and without them, because they may end up elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from ..api import Mask, Pod
from ..nominations import Nominations
from ..table import Table
from .filtering import Diagnosis
from .trial import RowFilter, Trials


class Singly:
    """Asks the filters of one profile about single nodes."""

    def __init__(self, filters: Sequence[RowFilter], nominations: Nominations) -> None:
        self._filters = filters
        self._nominations = nominations

    def trials(self, pod: Pod, table: Table, states: Mapping[str, Any], skipped: AbstractSet[str]) -> Trials:
        """Ask about ``pod``, with what each ``pre_filter`` returned, and without the plugins that it ``skipped``."""
        filters = [each for each in self._filters if each.plugin not in skipped]
        return Trials(pod, table, filters, states, self._nominations)

    def own_row(self, pod: Pod, table: Table) -> int | None:
        """The row of the node that ``pod`` itself is nominated to: likely the only one where there is room for it."""
        node = self._nominations.node_of(pod)
        return table.row(node) if node else None

    def rows(self, pod: Pod, table: Table) -> list[int]:
        """The rows of the nodes with pods nominated to them for which ``pod`` has to leave room."""
        if not self._nominations:
            return []
        found = ((node, table.row(node)) for node in self._nominations.nodes)
        return [row for node, row in found if row is not None and self._nominations.ahead_of(pod, node)]


def refuse(mask: Mask, rows: Sequence[int], trials: Trials) -> Mask:
    """``mask`` without those of ``rows`` that the filters reject."""
    rejected = [row for row in rows if mask[row] and trials.judge(row)[1]]
    if not rejected:
        return mask
    mask = mask.copy()
    mask[rejected] = False
    return mask


def judge(rows: Sequence[int], trials: Trials, diagnosis: Diagnosis) -> None:
    """Note of each of ``rows`` whether it is feasible, or why not."""
    for row in rows:
        plugin, rejects = trials.judge(row)
        if rejects:
            diagnosis.reject_row(plugin, row, rejects)
        else:
            diagnosis.feasible[row] = True
