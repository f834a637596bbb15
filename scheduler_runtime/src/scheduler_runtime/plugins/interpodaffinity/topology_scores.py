"""Points of each node by the pods that are near it, added up once and updated with every pod that comes or goes.

The table counts pods on their own nodes. A topology label decides what is near: a pod counts for every node that has
the same value of it as the pod's own node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.state.lru import LruCache
from scheduler_runtime.state.table import NodeTable, WeightedPods

MAX_SCORES = 512
"""As many are in memory; the one that was not asked for the longest is dropped."""
_LIGHT = 128
"""Scores of so many sources more count as one more: their memory is that of their sources."""
_MAX_CHANGES = 64
"""Adding up anew costs about as much as this many changes one by one."""

Points = NDArray[np.int32]
"""A number for each node, half as wide as elsewhere: most of the work here is copying and comparing them."""


class Domains:
    """The nodes by the value of one label: those with equal values are near each other."""

    __slots__ = ("_version", "are_singletons", "few_rows", "ids", "is_complete", "key", "label")

    def __init__(self, key: str, nodes: NodeTable) -> None:
        self.key = key
        self.label = nodes.label(key)
        self._version = nodes.nodes_version
        self.ids: NDArray[np.intp] = self.label.ids.astype(np.intp)
        """The ids of the label, in the type by which numpy takes without converting them."""
        self.few_rows = nodes.few_rows_with(key)
        """The nodes with the label, if they are few: then these alone are looked at."""
        self.is_complete: bool
        """True if every node has the label."""
        self.are_singletons: bool
        """True if no two nodes have the same value, as with host names."""
        if self.few_rows is not None:
            self.is_complete = len(self.few_rows) == len(nodes)
            self.are_singletons = len({self.ids.item(row) for row in self.few_rows}) == len(self.few_rows)
        else:
            sizes = np.bincount(self.ids, minlength=1)
            self.is_complete = not sizes[0]
            self.are_singletons = not (sizes[1:] > 1).any()

    def are_current(self, nodes: NodeTable) -> bool:
        """True if these are still the values of ``nodes``."""
        return self._version == nodes.nodes_version and self.label is nodes.label(self.key)


class TopologyScores:
    """The points that each node gets from the pods near it by one label."""

    __slots__ = ("_positions", "_sources", "domains", "points")

    def __init__(self, domains: Domains, sources: tuple[WeightedPods, ...]) -> None:
        self._sources = sources
        self._add_up(domains)

    def catch_up(self, domains: Domains) -> None:
        """Apply all changes since the last time. Arrays that were returned before stay as they are."""
        if self.domains is domains:
            if self._positions == [counts.position for counts, _ in self._sources]:
                return
            points = self._changed_points() if domains.are_singletons else None
            if points is not None:
                self._set(points)
                return
        self._add_up(domains)

    @property
    def total(self) -> int:
        """The number of pods on nodes that have the label at all."""
        total = sum([counts.total for counts, _ in self._sources])
        if self.domains.is_complete:
            return total
        if self.domains.few_rows is not None:
            return sum([counts.item(row) for row in self.domains.few_rows for counts, _ in self._sources])
        ids = self.domains.ids
        for counts, _ in self._sources:
            few = counts.few
            if few is None:
                total -= counts.by_domain(self.domains.key).item(0)
            else:
                total -= sum([number for row, number in few.items() if not ids.item(row)])
        return total

    def _changed_points(self) -> Points | None:
        """The points after each change, which concerns its own row only; None when there are too many changes."""
        points, ids = self.points.copy(), self.domains.ids
        for (counts, weight), position in zip(self._sources, self._positions, strict=True):
            changes = counts.changes_since(position)
            if changes is None or len(changes) > _MAX_CHANGES:
                return None
            for row, change in changes:
                if ids.item(row):
                    points[row] += change * weight
        return points

    def _add_up(self, domains: Domains) -> None:
        self.domains = domains
        by_domain: Points = np.zeros(len(domains.label.values) + 1, np.int32)
        if domains.few_rows is not None:
            for row in domains.few_rows:
                by_domain[domains.ids.item(row)] += sum([weight * counts.item(row) for counts, weight in self._sources])
            self._set(by_domain.take(domains.ids))
            return
        points_by_row: dict[int, int] = {}
        for counts, weight in self._sources:
            few = counts.few
            if few is None:
                by_domain += (weight * counts.by_domain(domains.key)).astype(np.int32)
            else:
                # Many sources have a pod or two, as those of one pod with thousands of terms.
                for row, number in few.items():
                    points_by_row[row] = points_by_row.get(row, 0) + weight * number
        for row, number in points_by_row.items():
            by_domain[domains.ids.item(row)] += number
        by_domain[0] = 0  # Nodes without the label are near nothing.
        self._set(by_domain.take(domains.ids))

    def _set(self, points: Points) -> None:
        # States of attempts that still run share the array.
        points.flags.writeable = False
        self.points = points
        self._positions = [counts.position for counts, _ in self._sources]


class ScoresByRareLabels:
    """The points that nodes get from the pods near them by many labels, each of which few nodes have: all together.

    A pod may have thousands of terms by labels of one node.
    """

    __slots__ = ("points", "total")

    def __init__(self, nodes: NodeTable, sources: Mapping[str, Sequence[WeightedPods]]) -> None:
        """``sources`` are by labels that few nodes have."""
        self.total = 0
        """The number of pods on nodes that have the labels, added up over these."""
        self.points: NDArray[np.int64] = np.zeros(len(nodes), np.int64)
        for key, of_key in sources.items():
            by_value: dict[str, int] = {}
            values = [(row, nodes.node(row).labels[key]) for row in nodes.few_rows_with(key) or ()]
            for row, value in values:
                for pods, weight in of_key:
                    number = pods.item(row)
                    self.total += number
                    by_value[value] = by_value.get(value, 0) + weight * number
            for row, value in values:
                self.points[row] += by_value[value]


class TopologyScoresCache:
    """Scores that pods asked for lately. Pods of one kind ask for the same ones."""

    def __init__(self) -> None:
        self._scores: LruCache[tuple[str, tuple[WeightedPods, ...]], TopologyScores] = LruCache(MAX_SCORES)
        self._domains: dict[str, Domains] = {}

    def get(self, nodes: NodeTable, key: str, sources: tuple[WeightedPods, ...]) -> TopologyScores:
        """The scores of ``sources`` by the label ``key``, as of now."""
        domains = self._domains.get(key)
        if domains is None or not domains.are_current(nodes):
            if len(self._domains) > MAX_SCORES:
                self._domains.clear()
            domains = self._domains[key] = Domains(key, nodes)
        scores = self._scores.get((key, sources))
        if scores is None:
            scores = TopologyScores(domains, sources)
            self._scores.put((key, sources), scores, 1 + len(sources) // _LIGHT)
        else:
            scores.catch_up(domains)
        return scores
