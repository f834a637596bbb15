"""Looking at a part of the nodes: as many feasible ones as ``percentageOfNodesToScore`` asks for, others each time.

Upstream stops filtering when it has found that many. Here all nodes are filtered at once, and those that it would not
have come to are put out of play. Which ones these are is the same: nodes are visited zone by zone in turn, and each
search begins where the last one ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import Mask, Node
from scheduler_runtime.state.table import Table

FEWEST = 100
"""So many feasible nodes are looked for at least."""

Rows = NDArray[np.intp]

_ZONES = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGIONS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")


class NodeOrder:
    """The order in which nodes are visited: one of each zone, then the next of each, and so on."""

    def __init__(self) -> None:
        self._of: tuple[Table, int] | None = None
        self._zones: dict[str, tuple[str, str]] = {}
        self._tree: dict[tuple[str, str], dict[str, None]] = {}
        self._rows: Rows = np.zeros(0, np.intp)

    def rows(self, table: Table) -> Rows:
        """The rows of ``table`` in that order."""
        if self._of is None or self._of[0] is not table or self._of[1] != table.nodes_version:
            self._follow(table)
            self._of = table, table.nodes_version
            turns = chain.from_iterable(zip_longest(*self._tree.values()))
            self._rows = np.array([table.row(name) for name in turns if name is not None], np.intp)
        return self._rows

    def _follow(self, table: Table) -> None:
        for name in [name for name in self._zones if table.row(name) is None]:
            self._remove(name)
        for row, name in enumerate(table.names):
            zone = _zone_of(table.node(row))
            if self._zones.get(name) == zone:
                continue
            if name in self._zones:
                self._remove(name)
            self._zones[name] = zone
            self._tree.setdefault(zone, {})[name] = None

    def _remove(self, name: str) -> None:
        zone = self._zones.pop(name)
        del self._tree[zone][name]
        if not self._tree[zone]:
            del self._tree[zone]


@dataclass(slots=True)
class SearchPosition:
    """Where the next search begins. All profiles of a process go on where the others ended."""

    first: int = 0
    tour: NodeOrder = field(default_factory=NodeOrder)


class Sampler:
    """Leaves as many feasible nodes in play as one profile asks for."""

    def __init__(self, percentage: int, rotation: SearchPosition, *, weighs: bool = True) -> None:
        """``percentage`` is above 0 and below 100.

        When nobody ``weighs`` the nodes against each other the first that does is as good as any.
        """
        self._percentage = percentage
        self._rotation = rotation
        self._weighs = weighs

    def sample(self, feasible: Mask, table: Table, asked: Mask | None = None) -> Mask:
        """Those of the ``feasible`` rows that a search among the ``asked`` ones, or all, finds. It moves on."""
        visited = self._rotation.tour.rows(table)
        if asked is not None:
            visited = visited[asked[visited]]
        if not len(visited):
            return feasible
        visited = np.roll(visited, -(self._rotation.first % len(visited)))
        found = np.flatnonzero(feasible[visited])
        wanted = self.wanted(len(visited))
        is_enough = len(found) > wanted
        seen = int(found[wanted]) if is_enough else len(visited)  # It ends when it comes to one more than enough.
        self._rotation.first = (self._rotation.first + seen) % len(table)
        if not is_enough:
            return feasible
        sample = np.zeros(len(feasible), np.bool_)
        sample[visited[found[:wanted]]] = True
        return sample

    def wanted(self, count: int) -> int:
        """How many feasible nodes are enough where there are so many nodes."""
        if not self._weighs:
            return 1
        return count if count < FEWEST else max(FEWEST, count * self._percentage // 100)


def _zone_of(node: Node) -> tuple[str, str]:
    """Region and zone: the old labels count before the new ones, also when they are empty."""
    labels = node.labels
    region, zone = (next((labels[key] for key in keys if key in labels), "") for keys in (_REGIONS, _ZONES))
    return region, zone
