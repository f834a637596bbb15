"""Totals over the pods of each node: requested resources, and the lowest priority."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from scheduler_runtime.state.objects import Pod, QuantityError, Requests
from scheduler_runtime.state.objects.pod_requests import Amounts
from scheduler_runtime.state.table.change_log import ChangeLog
from scheduler_runtime.state.table.columns import Column, Ints

_NOTHING = Requests(amounts={}, scored_cpu=0, scored_memory=0, pending={})
NO_POD: Final = 2**31
"""Above any priority: the lowest priority on a node without pods."""


def requests_or_nothing(pod: Pod) -> Requests:
    """The requests of ``pod``; nothing at all when they cannot be read."""
    try:
        return pod.requests
    except QuantityError:
        return _NOTHING


class RequestedResources:
    """A column for each resource that some pod on a node requests."""

    __slots__ = ("_new_column", "_pods_by_resource", "columns")

    def __init__(self, new_column: Callable[[], Column]) -> None:
        self._new_column = new_column
        self._pods_by_resource: dict[str, int] = {}
        self.columns: dict[str, Column] = {}

    def column(self, resource: str) -> Column:
        """The column of ``resource``; a new one when no pod on a node requests it so far."""
        column = self.columns.get(resource)
        if column is None:
            column = self.columns[resource] = self._new_column()
        return column

    def add(self, row: int, amounts: Amounts) -> None:
        """Count a pod that requests ``amounts`` in a row."""
        columns, pods_by_resource = self.columns, self._pods_by_resource
        for resource, amount in amounts.items():
            if amount:
                pods_by_resource[resource] = pods_by_resource.get(resource, 0) + 1
                column = columns[resource] if resource in columns else self.column(resource)
                column.add(row, amount)

    def remove(self, row: int, amounts: Amounts) -> None:
        """Take back what :meth:`add` counted in a row, and drop the columns that nobody needs any more."""
        columns, pods_by_resource = self.columns, self._pods_by_resource
        for resource, amount in amounts.items():
            if amount:
                columns[resource].add(row, -amount)
                pods_by_resource[resource] -= 1
                if not pods_by_resource[resource]:
                    del pods_by_resource[resource], columns[resource]

    def drop_unused(self, *resources: str) -> None:
        """Drop the columns of those ``resources`` that no pod on a node requests."""
        for resource in resources:
            if resource not in self._pods_by_resource:
                del self.columns[resource]


class LowestPriorities:
    """The lowest priority on each node. It is computed only when read, and then only for rows that changed."""

    def __init__(
        self, pods: Sequence[dict[str, Pod]], changes: ChangeLog[int], new_column: Callable[[], Column]
    ) -> None:
        self._pods = pods
        self._changes = changes
        self._new_column = new_column
        self._column = new_column()
        self._position = -1

    def read(self) -> Ints:
        """For each node, as of now; ``NO_POD`` where there is no pod."""
        rows: Iterable[int] | None = self._changes.since(self._position)
        if rows is None:
            self._column, rows = self._new_column(), range(len(self._pods))
        values = self._column.writable
        for row in set(rows):
            values[row] = min((pod.spec.priority for pod in self._pods[row].values()), default=NO_POD)
        self._position = self._changes.position
        return self._column.values
