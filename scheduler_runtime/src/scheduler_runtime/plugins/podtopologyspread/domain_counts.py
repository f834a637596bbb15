"""How many pods are in each domain of a constraint, kept from one pod of a kind to the next."""

from __future__ import annotations

import numpy as np

from scheduler_runtime.api import Ints, NodeTable
from scheduler_runtime.plugins.podtopologyspread.constraints import Constraint
from scheduler_runtime.plugins.podtopologyspread.eligible_domains import EligibleDomains
from scheduler_runtime.state.table import MatchCounts

_FEW = 128
"""Up to so many changes are taken in one by one; adding up all nodes anew is quicker than more."""


class DomainCounts:
    """One constraint on its ground, with the pods that are counted for it."""

    def __init__(self, constraint: Constraint, ground: EligibleDomains) -> None:
        self.constraint = constraint
        self.ground = ground
        self.census: MatchCounts | None = None
        """Where the pods are that are counted; None when the constraint counts none."""
        self.sums: Ints = np.zeros(1, np.int64)
        """How many of them are in each domain; the last is for all domains that do not count."""
        self._generation = -1
        self._position = 0

    def refresh(self, nodes: NodeTable) -> None:
        """Be true of ``nodes`` and of the pods on them."""
        ground = self.ground
        ground.refresh(nodes)
        counted = self.constraint.counted
        census = None if counted is None else nodes.census(counted)
        if ground.generation != self._generation or census is not self.census:
            self._generation, self.census = ground.generation, census
            self._add_up()
        elif census is not None and census.position != self._position:
            self._catch_up(census)

    def _add_up(self) -> None:
        ground, census = self.ground, self.census
        if census is None:
            self.sums = np.zeros(ground.size + 1, np.int64)
            return
        inside = ground.eligible
        self.sums = np.bincount(ground.places[inside], census.counts[inside], ground.size + 1).astype(np.int64)
        self._position = census.position

    def _catch_up(self, census: MatchCounts) -> None:
        changes = census.changes_since(self._position)
        if changes is None or len(changes) > _FEW:
            self._add_up()
            return
        eligible, places, sums = self.ground.eligible, self.ground.places, self.sums
        for row, change in changes:
            if eligible.item(row):
                sums[places.item(row)] += change
        self._position = census.position
