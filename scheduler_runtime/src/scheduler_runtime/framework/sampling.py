"""Scoring a part of the nodes: as many feasible ones as ``percentageOfNodesToScore`` asks for, others each time.

Upstream stops filtering when it has enough feasible nodes. Here all nodes are filtered at once, and those that it would
not have come to are taken out of play. They are the same ones: nodes are visited zone by zone in turn, and each search
begins where the last one ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import Mask
from scheduler_runtime.state.table import Table

MIN_FEASIBLE_NODES = 100
"""Upstream's minFeasibleNodesToFind (schedule_one.go)."""

Rows = NDArray[np.intp]

_ZONES = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGIONS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")


class NodeOrder:
    """The order in which nodes are visited: one of each zone, then the next of each, and so on.

    Upstream's nodeTree (backend/cache/node_tree.go).
    """

    def __init__(self) -> None:
        self._version: tuple[Table, int] | None = None
        """The table, and its version of the nodes, that ``_rows`` was made for."""
        self._zones: dict[str, tuple[str, str]] = {}
        self._tree: dict[tuple[str, str], dict[str, None]] = {}
        self._rows: Rows = np.zeros(0, np.intp)

    def rows(self, table: Table) -> Rows:
        """Return the rows of ``table`` in that order."""
        if self._version is None or self._version[0] is not table or self._version[1] != table.nodes_version:
            self._update_tree(table)
            self._version = table, table.nodes_version
            in_turn = chain.from_iterable(zip_longest(*self._tree.values()))
            self._rows = np.array([table.row(name) for name in in_turn if name is not None], np.intp)
        return self._rows

    def _update_tree(self, table: Table) -> None:
        """Take in nodes that came, went or moved; the others keep their places, as in upstream's tree."""
        for name in [name for name in self._zones if table.row(name) is None]:
            self._remove(name)
        for row, name in enumerate(table.names):
            labels = table.node(row).labels
            # The old labels count before the new ones, also when they are empty.
            region, zone = (next((labels[key] for key in keys if key in labels), "") for keys in (_REGIONS, _ZONES))
            if self._zones.get(name) == (region, zone):
                continue
            if name in self._zones:
                self._remove(name)
            self._zones[name] = region, zone
            self._tree.setdefault((region, zone), {})[name] = None

    def _remove(self, name: str) -> None:
        zone = self._zones.pop(name)
        del self._tree[zone][name]
        if not self._tree[zone]:
            del self._tree[zone]


@dataclass(slots=True)
class SearchPosition:
    """The place at which the next search begins. All profiles of a process go on where the others ended."""

    first: int = 0
    """Upstream's nextStartNodeIndex."""
    order: NodeOrder = field(default_factory=NodeOrder)


class Sampler:
    """Leaves as many feasible nodes in play as one profile asks for."""

    def __init__(self, percentage: int, position: SearchPosition, *, first_will_do: bool = False) -> None:
        """``percentage`` is above 0 and below 100.

        ``first_will_do`` where neither a plugin nor an extender scores nodes: then any that fits is as good.
        """
        self._percentage = percentage
        self._position = position
        self._first_will_do = first_will_do

    def sample(self, feasible: Mask, table: Table, candidates: Mask | None = None) -> Mask:
        """Return those of the ``feasible`` rows that a search among the ``candidates``, or all rows, comes to.

        The next search begins after them.
        """
        visited = self._position.order.rows(table)
        if candidates is not None:
            visited = visited[candidates[visited]]
        if not len(visited):
            return feasible
        # As upstream, the position is taken modulo the nodes in question, and moved modulo all nodes.
        visited = np.roll(visited, -(self._position.first % len(visited)))
        hits = np.flatnonzero(feasible[visited])
        enough = self.enough(len(visited))
        has_more = len(hits) > enough
        # Upstream's search ends when it comes to one more than enough, which the next search begins with.
        looked_at = int(hits[enough]) if has_more else len(visited)
        self._position.first = (self._position.first + looked_at) % len(table)
        if not has_more:
            return feasible
        sample = np.zeros(len(feasible), np.bool_)
        sample[visited[hits[:enough]]] = True
        return sample

    def enough(self, count: int) -> int:
        """Return how many feasible nodes are enough among ``count``: upstream's numFeasibleNodesToFind."""
        if self._first_will_do:
            return 1
        if count < MIN_FEASIBLE_NODES:
            return count
        return max(MIN_FEASIBLE_NODES, count * self._percentage // 100)
