"""Nodes that pods are nominated to, which are asked about apart from all others.

A pod may go to such a node only if those that are nominated to it still fit, as far as they are at least as important.
So there the filters are asked with these pods on the node, and without them, because they may end up elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from scheduler_runtime.api import Mask, Pod
from scheduler_runtime.framework.filtering import Diagnosis
from scheduler_runtime.framework.point_metrics import Measures
from scheduler_runtime.framework.what_if import RowFilter, WhatIf
from scheduler_runtime.framework.what_if_many import NodesWhatIf
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.table import Table

_FEW = 8
"""As few nodes are asked about one by one."""


class NominatedPods:
    """Knows the nodes that pods are nominated to, and asks the filters of one profile about them."""

    def __init__(self, filters: Sequence[RowFilter], nominations: Nominations) -> None:
        self._filters = filters
        self._nominations = nominations

    def timed(self, measures: Measures) -> NominatedPods:
        """One that asks alike, with a clock beside each filter."""
        return NominatedPods([each.timed(measures) for each in self._filters], self._nominations)

    def trials(self, pod: Pod, table: Table, states: Mapping[str, Any], skipped: AbstractSet[str]) -> WhatIf:
        """Ask about ``pod``, with what each ``pre_filter`` returned, and without the plugins that it ``skipped``."""
        filters = [each for each in self._filters if each.plugin not in skipped]
        return WhatIf(pod, table, filters, states, self._nominations)

    def own_row(self, pod: Pod, table: Table) -> int | None:
        """The row of the node that ``pod`` itself is nominated to: likely the only one where there is room for it."""
        node = self._nominations.node_of(pod)
        return table.row(node) if node else None

    def rows(self, pod: Pod, table: Table) -> list[int]:
        """The rows of the nodes with pods nominated to them for which ``pod`` has to leave room."""
        if not self._nominations:
            return []
        found = ((node, table.row(node)) for node in self._nominations.nodes)
        return [row for node, row in found if row is not None and self._nominations.competing_with(pod, node)]


def refuse(mask: Mask, rows: Sequence[int], trials: WhatIf) -> Mask:
    """``mask`` without those of ``rows`` that the filters reject."""
    asked = [row for row in rows if mask[row]]
    together = _together(asked, trials)
    if together is None:
        rejected = [row for row in asked if trials.judge(row)[1]]
    else:
        with together:
            rejected = [row for row, fits in zip(asked, together.fits().tolist(), strict=True) if not fits]
    if not rejected:
        return mask
    mask = mask.copy()
    mask[rejected] = False
    return mask


def judge(rows: Sequence[int], trials: WhatIf, diagnosis: Diagnosis) -> None:
    """Note of each of ``rows`` whether it is feasible, or why not."""
    together = _together(rows, trials)
    if together is None:
        for row in rows:
            plugin, rejects = trials.judge(row)
            if rejects:
                diagnosis.reject_row(plugin, row, rejects)
            else:
                diagnosis.feasible[row] = True
        return
    with together:
        diagnosis.feasible[rows] = together.fits()
    for plugin, rejected, reject in together.rejected:
        diagnosis.reject_rows(plugin, rejected, reject)


def _together(rows: Sequence[int], trials: WhatIf) -> NodesWhatIf | None:
    """To ask about ``rows`` at once, where that pays and can be done."""
    return trials.together(np.array(rows)) if len(rows) > _FEW else None
