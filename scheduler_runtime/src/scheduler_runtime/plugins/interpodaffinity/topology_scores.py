"""How much speaks for each node, by the pods that are near it: added up once, then kept up to date pod by pod.

The table counts pods where they are. What is near is told by a label: a pod counts for every node that has the same
value of it as its own node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.state.lru import LruCache
from scheduler_runtime.state.table import MatchCounts, NodeTable

MAX_TALLIES = 512
"""As many are kept; the one that was not asked for the longest is given up."""
_MANY_CHANGES = 64
"""Adding up anew costs about as much as this many changes one by one."""

Points = NDArray[np.int32]
"""A number for each node, half as wide as elsewhere: most of what is done here is copying and comparing them."""

Source = tuple[MatchCounts, int]
"""Pods, and the points that each of them gives."""


class Domains:
    """Which nodes are near each other by one label."""

    __slots__ = ("_version", "are_alone", "ids", "is_complete", "key", "label")

    def __init__(self, key: str, nodes: NodeTable) -> None:
        self.key = key
        self.label = nodes.label(key)
        self._version = nodes.nodes_version
        self.ids: NDArray[np.intp] = self.label.ids.astype(np.intp)
        """The ids of the label, as what numpy takes by without converting them."""
        sizes = np.bincount(self.ids, minlength=1)
        self.is_complete = not sizes[0]
        """Whether every node has the label."""
        self.are_alone = not (sizes[1:] > 1).any()
        """Whether no two nodes have the same value, as with host names."""

    def are_those_of(self, nodes: NodeTable) -> bool:
        """Whether this is still how ``nodes`` are labelled."""
        return self._version == nodes.nodes_version and self.label is nodes.label(self.key)


class TopologyScores:
    """The points that each node gets from the pods that are near it by one label."""

    __slots__ = ("_positions", "_sources", "domains", "points")

    def __init__(self, domains: Domains, sources: tuple[Source, ...]) -> None:
        self._sources = sources
        self._add_up(domains)

    def catch_up(self, domains: Domains) -> None:
        """Take account of what happened since the last time. Arrays that were shown before stay as they are."""
        if self.domains is domains:
            if self._positions == self._reached():
                return
            points = self._followed() if domains.are_alone else None
            if points is not None:
                self._show(points)
                return
        self._add_up(domains)

    @property
    def near(self) -> int:
        """How many pods there are on nodes that have the label at all."""
        total = sum(census.total for census, _ in self._sources)
        if self.domains.is_complete:
            return total
        return total - sum(census.by_domain(self.domains.key).item(0) for census, _ in self._sources)

    def _reached(self) -> list[int]:
        """How far each census has come."""
        return [census.position for census, _ in self._sources]

    def _followed(self) -> Points | None:
        """The points after each change gave its own to its own row, the only one near it.

        None when there are too many changes, or some are not known any more.
        """
        points, ids = self.points.copy(), self.domains.ids
        for (census, each), position in zip(self._sources, self._positions, strict=True):
            changes = census.changes_since(position)
            if changes is None or len(changes) > _MANY_CHANGES:
                return None
            for row, change in changes:
                if ids.item(row):
                    points[row] += change * each
        return points

    def _add_up(self, domains: Domains) -> None:
        self.domains = domains
        by_domain: Points = np.zeros(len(domains.label.values) + 1, np.int32)
        for census, points in self._sources:
            by_domain += (points * census.by_domain(domains.key)).astype(np.int32)
        by_domain[0] = 0  # Nodes without the label are near nothing.
        self._show(by_domain.take(domains.ids))

    def _show(self, points: Points) -> None:
        points.flags.writeable = False
        self.points = points
        self._positions = self._reached()


class TopologyScoresCache:
    """The tallies that pods asked for lately. Pods of one kind ask for the same ones."""

    def __init__(self) -> None:
        self._kept: LruCache[tuple[str, tuple[Source, ...]], TopologyScores] = LruCache(MAX_TALLIES)
        self._domains: dict[str, Domains] = {}

    def get(self, nodes: NodeTable, key: str, sources: tuple[Source, ...]) -> TopologyScores:
        """The tally of ``sources`` by the label ``key``, as of now."""
        asked = (key, sources)
        domains = self._domains_of(key, nodes)
        tally = self._kept.get(asked)
        if tally is None:
            tally = TopologyScores(domains, sources)
            self._kept.put(asked, tally)
        else:
            tally.catch_up(domains)
        return tally

    def _domains_of(self, key: str, nodes: NodeTable) -> Domains:
        domains = self._domains.get(key)
        if domains is None or not domains.are_those_of(nodes):
            if len(self._domains) > MAX_TALLIES:
                self._domains.clear()
            domains = self._domains[key] = Domains(key, nodes)
        return domains
