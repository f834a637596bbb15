"""How much speaks for each node, by the pods that are near it: added up once, then kept up to date pod by pod.

The table counts pods where they are. What is near is told by a label: a pod counts for every node that has the same
value of it as its own node.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import numpy as np

from ...table import Census, Ints, LabelColumn, NodeTable

MAX_TALLIES = 512
"""As many are kept; the one that was not asked for the longest is given up."""
_MANY_CHANGES = 64
"""Adding up anew costs about as much as this many changes one by one."""

Source = tuple[Census, int]
"""Pods, and the points that each of them gives."""


class Tally:
    """The points that each node gets from the pods that are near it by one label."""

    __slots__ = ("_are_alone", "_positions", "_sources", "_version", "key", "label", "points")

    def __init__(self, key: str, sources: tuple[Source, ...], nodes: NodeTable) -> None:
        self.key = key
        self._sources = sources
        self._add_up(nodes)

    def catch_up(self, nodes: NodeTable) -> None:
        """Take account of what happened since the last time. Arrays that were shown before stay as they are."""
        changes = self._changes() if self._version == nodes.nodes_version else None
        if changes is None:
            self._add_up(nodes)
        elif changes:
            self._follow(changes)

    @property
    def near(self) -> int:
        """How many pods there are on nodes that have the label at all."""
        return sum(census.total - census.by_domain(self.key).item(0) for census, _ in self._sources)

    def _changes(self) -> list[tuple[int, int]] | None:
        """Rows, each with the points that come from it; None when there are too many, or some are not known."""
        found: list[tuple[int, int]] = []
        for (census, points), position in zip(self._sources, self._positions, strict=True):
            changes = census.changes_since(position) if census.position != position else ()
            if changes is None or len(changes) > _MANY_CHANGES:
                return None
            found.extend((row, change * points) for row, change in changes)
        return found

    def _follow(self, changes: Iterable[tuple[int, int]]) -> None:
        points, ids = self.points.copy(), self.label.ids
        for row, more in changes:
            domain = ids.item(row)
            if domain and self._are_alone:
                points[row] += more
            elif domain:
                points[ids == domain] += more
        self._show(points)

    def _add_up(self, nodes: NodeTable) -> None:
        self._version = nodes.nodes_version
        self.label = nodes.label(self.key)
        self._are_alone = _are_alone(self.label)
        by_domain: Ints = np.zeros(len(self.label.values) + 1, np.int64)
        for census, points in self._sources:
            by_domain += points * census.by_domain(self.key)
        by_domain[0] = 0  # Nodes without the label are near nothing.
        self._show(by_domain.take(self.label.ids))

    def _show(self, points: Ints) -> None:
        points.flags.writeable = False
        self.points = points
        self._positions = [census.position for census, _ in self._sources]


def _are_alone(label: LabelColumn) -> bool:
    """Whether no two nodes have the same value, as with host names."""
    return not (np.bincount(label.ids)[1:] > 1).any()


class Tallies:
    """The tallies that pods asked for lately. Pods of one kind ask for the same ones."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, tuple[Source, ...]], Tally] = OrderedDict()

    def get(self, nodes: NodeTable, key: str, sources: Iterable[Source]) -> Tally:
        """The tally of ``sources`` by the label ``key``, as of now."""
        asked = (key, tuple(sources))
        tally = self._kept.get(asked)
        if tally is not None:
            tally.catch_up(nodes)
            self._kept.move_to_end(asked)
            return tally
        tally = self._kept[asked] = Tally(key, asked[1], nodes)
        if len(self._kept) > MAX_TALLIES:
            self._kept.popitem(last=False)
        return tally
