"""How important the least important pod of each node is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table.change_log import ChangeLog
from scheduler_runtime.state.table.columns import Column, Ints

NOBODY: Final = 2**31
"""More than any priority: what stands for a node without pods."""


class LowestPriorities:
    """The lowest priority on each node, looked at only when somebody asks, and then where something changed."""

    def __init__(
        self, pods: Sequence[dict[str, Pod]], changes: ChangeLog[int], new_column: Callable[[], Column]
    ) -> None:
        self._pods = pods
        self._changes = changes
        self._new_column = new_column
        self._column = new_column()
        self._position = -1

    def read(self) -> Ints:
        """For each node, as it is now."""
        rows: Iterable[int] | None = self._changes.since(self._position)
        if rows is None:
            self._column, rows = self._new_column(), range(len(self._pods))
        values = self._column.all
        for row in set(rows):
            values[row] = min((pod.spec.priority for pod in self._pods[row].values()), default=NOBODY)
        self._position = self._changes.position
        return self._column.shown
