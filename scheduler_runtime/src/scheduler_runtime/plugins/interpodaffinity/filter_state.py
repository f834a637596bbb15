"""Filter state: the pods near each node that a pod requires or must avoid, as counted by ``pre_filter``.

Preemption asks for verdicts with pods added or removed. Each such change makes another state, which shares the counts
with the first one and has the difference beside them. Upstream: filtering.go in interpodaffinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from types import MappingProxyType

import numpy as np

from scheduler_runtime.api import Mask, NodeTable, Pod, Reject
from scheduler_runtime.plugins.interpodaffinity.own_terms import OwnTerms
from scheduler_runtime.plugins.interpodaffinity.topology_scores import Points
from scheduler_runtime.state.table import LabelColumn, SelectorError, terms_of

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
_NO_CHANGES: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AffinityCounts:
    """The number of pods near each node, by the label ``key``."""

    key: str
    label: LabelColumn
    counted: Points
    """As counted by ``pre_filter``; 0 without the label."""
    changes: Mapping[int, int] = field(default_factory=lambda: _NO_CHANGES)
    """The number of pods more since then, by the ids of the label."""

    def at(self, row: int) -> int:
        """The number of pods near the node in ``row``."""
        count: int = self.counted.item(row)
        return count + self.changes.get(self.label.ids.item(row), 0) if self.changes else count

    def everywhere(self) -> Points:
        """The number of pods near each node."""
        if not self.changes:
            return self.counted
        counts = self.counted.copy()
        for domain, change in self.changes.items():
            counts[self.label.ids == domain] += change
        return counts

    def changed(self, row: int, change: int) -> AffinityCounts:
        """The counts with so many pods more on the node in ``row``."""
        domain: int = self.label.ids.item(row)
        if not domain:
            return self
        return replace(self, changes={**self.changes, domain: self.changes.get(domain, 0) + change})


AllCounts = tuple[AffinityCounts, ...]


@dataclass(frozen=True, slots=True)
class FilterState:
    """All that decides which nodes the affinity between pods allows for one pod."""

    pod: Pod
    namespace_labels: Mapping[str, str]
    own: OwnTerms
    affinity: AllCounts
    """The pods that must be near, for each label by which they must be."""
    partners: int
    """The number of such pods on nodes with such a label, added up over the labels."""
    apart: AllCounts
    """The pods that the pod's own terms keep away, term by term."""
    existing: AllCounts
    """The pods whose terms keep the pod away, by the labels of these terms."""

    def clone(self) -> FilterState:
        """The state itself: nothing changes it."""
        return self

    def rejections(self) -> Iterator[Reject]:
        """The reasons against nodes: for each node the first one, in upstream's order."""
        rejected: Mask | None = None
        for counts, reason in (
            (self.affinity, AFFINITY),
            (self.apart, ANTI_AFFINITY),
            (self.existing, EXISTING_ANTI_AFFINITY),
        ):
            if counts:
                if reason == AFFINITY:
                    rows = self._without_partners()
                else:
                    rows = reduce(np.logical_or, (one.everywhere() > 0 for one in counts))
                yield Reject(rows if rejected is None else rows & ~rejected, reason, reason != AFFINITY)
                rejected = rows if rejected is None else rejected | rows

    def _without_partners(self) -> Mask:
        if self._may_be_first():
            return ~reduce(np.logical_and, (counts.label.exists() for counts in self.affinity))
        return ~reduce(np.logical_and, (counts.everywhere() > 0 for counts in self.affinity))

    def rejection_in_row(self, row: int) -> Reject | None:
        """The reason against the node in ``row``; None when the pod may be there."""
        if self.affinity and not all(counts.at(row) > 0 for counts in self.affinity):
            has_labels = all(counts.label.ids.item(row) for counts in self.affinity)
            if not (has_labels and self._may_be_first()):
                return Reject(True, AFFINITY, resolvable=False)
        if any(counts.at(row) > 0 for counts in self.apart):
            return Reject(True, ANTI_AFFINITY)
        if any(counts.at(row) > 0 for counts in self.existing):
            return Reject(True, EXISTING_ANTI_AFFINITY)
        return None

    def _may_be_first(self) -> bool:
        """True if the pod may go anywhere, as the first of pods that want each other near: one of them has to begin."""
        return not self.partners and self.own.includes(self.pod)

    def changed(self, other: Pod, nodes: NodeTable, row: int, change: int) -> FilterState:
        """The state with ``other`` on the node in ``row`` (``change`` 1), or without it (-1)."""
        affinity, partners = self.affinity, self.partners
        if self.own.includes(other):
            partners += change * sum(counts.label.ids.item(row) > 0 for counts in affinity)
            affinity = tuple(counts.changed(row, change) for counts in affinity)
        apart = tuple(
            counts.changed(row, change) if selection.includes(other) else counts
            for counts, (_, selection) in zip(self.apart, self.own.apart, strict=True)
        )
        existing = {counts.key: counts for counts in self.existing}
        for key in self._labels_keeping_away(other):
            counts = existing.get(key) or AffinityCounts(key, nodes.label(key), np.zeros(len(nodes), np.int32))
            existing[key] = counts.changed(row, change)
        return replace(self, affinity=affinity, partners=partners, apart=apart, existing=tuple(existing.values()))

    def _labels_keeping_away(self, other: Pod) -> list[str]:
        """The labels by which ``other`` keeps the pod away."""
        try:
            terms = terms_of(other).required_anti_affinity
        except SelectorError:
            return []  # As in the table, terms that cannot be read bind nobody.
        return [term.topology_key for term, _ in terms if term.selects(self.pod, self.namespace_labels)]
