"""How much of each resource the pods on each node ask for."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_runtime.state.objects import Pod, QuantityError, Requests
from scheduler_runtime.state.objects.pod_requests import Amounts
from scheduler_runtime.state.table.columns import Column
from scheduler_runtime.state.table.reference_counts import ReferenceCounts

_NOTHING = Requests(amounts={}, scored_cpu=0, scored_memory=0, pending={})


def requests_of(pod: Pod) -> Requests:
    """What ``pod`` asks for; nothing when it cannot be read."""
    try:
        return pod.requests
    except QuantityError:
        return _NOTHING


class Requested:
    """A column for each resource of which some pod asks for more than nothing."""

    __slots__ = ("_new_column", "_uses", "columns")

    def __init__(self, new_column: Callable[[], Column]) -> None:
        self._new_column = new_column
        self._uses = ReferenceCounts()
        self.columns: dict[str, Column] = {}

    def column(self, resource: str) -> Column:
        """The column of ``resource``; a new one when no pod on a node asked for it so far."""
        found = self.columns.get(resource)
        if found is None:
            found = self.columns[resource] = self._new_column()
        return found

    def add(self, row: int, amounts: Amounts) -> None:
        """A pod that asks for ``amounts`` came to a row."""
        asked = _asked(amounts)
        self._uses.add(asked)
        for resource in asked:
            self.column(resource).add(row, amounts[resource])

    def remove(self, row: int, amounts: Amounts) -> None:
        """A pod that asks for ``amounts`` left a row."""
        asked = _asked(amounts)
        for resource in asked:
            self.columns[resource].add(row, -amounts[resource])
        self.drop(*self._uses.remove(asked))

    def drop(self, *resources: str) -> None:
        """Forget the columns of ``resources`` that no pod on a node asks for."""
        for resource in resources:
            if resource not in self._uses:
                del self.columns[resource]


def _asked(amounts: Amounts) -> list[str]:
    return [resource for resource, amount in amounts.items() if amount]
