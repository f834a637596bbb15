"""Many nodes at once, each with other pods on it: for filters that look at each node by itself.

Such filters say of a node what they say whatever is on the others, so that all nodes can be changed before they are
asked about all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import Mask, NodeTable, Pod, Reject
from scheduler_runtime.framework.hook import Hook, checked_rows, rejections
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.table import Table


class NodesWhatIf:
    """Some nodes with other pods on them. The table is as before when the ``with`` ends."""

    def __init__(
        self,
        pod: Pod,
        table: Table,
        rows: NDArray[np.intp],
        filters: tuple[Sequence[Hook], Sequence[Hook]],
        states: Mapping[str, Any],
        nominations: Nominations,
    ) -> None:
        """``filters`` are all of them, and those that look at pods."""
        self._pod = pod
        self._table = table
        self._rows = rows
        self._filters, self._moving = filters
        self._states = states
        self._ahead = (
            [nominations.competing_with(pod, table.names[row]) for row in rows.tolist()] if nominations else []
        )
        self._hopeful: Mask = np.zeros(len(table), np.bool_)
        self._hopeful[rows] = True
        self.rejected: list[tuple[str, Mask, Reject]] = []
        """Which plugin rejected which rows when they were looked at for the first time, and why."""
        self._tried = table.hypothetical_nodes(rows)

    def __enter__(self) -> NodesWhatIf:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tried.restore()

    @property
    def reasons(self) -> Counter[str]:
        """Why nodes did not do when they were looked at for the first time."""
        reasons: Counter[str] = Counter()
        for _, rows, reject in self.rejected:
            reasons[reject.reason] += int(np.count_nonzero(rows))
        return reasons

    def remove(self, pods: Sequence[Sequence[Pod]]) -> None:
        """Take pods off the nodes: some for each of them."""
        self._tried.change(pods, -1)

    def add(self, pods: Sequence[Sequence[Pod]]) -> None:
        """Put pods on the nodes: some for each of them."""
        self._tried.change(pods, 1)

    def fits(self) -> Mask:
        """Where the pod could be now; where it could not at first is not looked at again. Raises PluginError."""
        fits = self._with_nominated()
        if self._filters is not self._moving:
            self._filters, self._hopeful = self._moving, fits
        answer: Mask = fits[self._rows]
        return answer

    def _with_nominated(self) -> Mask:
        if not any(self._ahead):
            return self._ask(self._hopeful)
        self._tried.change(self._ahead, 1)
        fits = self._ask(self._hopeful)
        self._tried.change(self._ahead, -1)
        alone = self._rows[[bool(ahead) for ahead in self._ahead]]
        asked = np.zeros(len(fits), np.bool_)
        asked[alone] = fits[alone]
        fits[alone] = self._ask(asked)[alone]
        return fits

    def _ask(self, hopeful: Mask) -> Mask:
        feasible = hopeful.copy()
        for hook in self._filters:
            nodes = NodeTable(self._table, feasible)
            for reject in rejections(hook, self._pod, nodes, self._states.get(hook.plugin)):
                rows = checked_rows(hook, reject.rows, len(nodes)) & nodes.feasible
                if self._filters is not self._moving:
                    self.rejected.append((hook.plugin, rows, reject))
                feasible = feasible & ~rows
        return feasible
