"""The filter's state: what must be near a pod and what must not, as counted when ``pre_filter`` ran.

Preemption asks what would be if pods came or went. Each such question makes another state that shares the counts with
the first and notes the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
_NONE: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AffinityCounts:
    """How many pods there are near each node, by the label ``key``."""

    key: str
    label: LabelColumn
    counted: Points
    """As counted, for each node; 0 without the label."""
    more: Mapping[int, int] = field(default_factory=lambda: _NONE)
    """How many more since then, by the ids of the label."""

    def at(self, row: int) -> int:
        """How many there are near the node in ``row``."""
        count: int = self.counted.item(row)
        return count + self.more.get(self.label.ids.item(row), 0) if self.more else count

    def everywhere(self) -> Points:
        """How many there are near each node."""
        if not self.more:
            return self.counted
        counts = self.counted.copy()
        for domain, change in self.more.items():
            counts[self.label.ids == domain] += change
        return counts

    def changed(self, row: int, change: int) -> AffinityCounts:
        """As it would be with that many pods more on the node in ``row``."""
        domain: int = self.label.ids.item(row)
        if not domain:
            return self
        return replace(self, more={**self.more, domain: self.more.get(domain, 0) + change})


Nears = tuple[AffinityCounts, ...]


@dataclass(frozen=True, slots=True)
class Constraints:
    """What keeps a pod off nodes."""

    pod: Pod
    namespace_labels: Mapping[str, str]
    wanted: OwnTerms
    affinity: Nears
    """The pods that must be near, for each label by which they must be."""
    partners: int
    """How many times such a pod is on a node with such a label."""
    apart: Nears
    """The pods that the pod's own terms want away, term by term."""
    existing: Nears
    """The pods that want the pod away, by the labels their terms speak of."""

    def clone(self) -> Constraints:
        """Itself: nothing changes it."""
        return self

    def rejections(self) -> Iterator[Reject]:
        """Why the pod cannot be on nodes: for each node the first reason, as upstream."""
        rejected: Mask | None = None
        for rows, reason, resolvable in self._verdicts():
            yield Reject(rows if rejected is None else rows & ~rejected, reason, resolvable)
            rejected = rows if rejected is None else rows | rejected

    def _verdicts(self) -> Iterator[tuple[Mask, str, bool]]:
        if self.affinity:
            yield ~self._has_partners(), AFFINITY, False
        if self.apart:
            yield _any_near(self.apart), ANTI_AFFINITY, True
        if self.existing:
            yield _any_near(self.existing), EXISTING_ANTI_AFFINITY, True

    def _has_partners(self) -> Mask:
        if self._is_first:
            return _all(near.label.exists() for near in self.affinity)
        return _all(near.everywhere() > 0 for near in self.affinity)

    @property
    def _is_first(self) -> bool:
        """Whether it is the first of pods that want each other near: one of them has to begin."""
        return not self.partners and self.wanted.includes(self.pod)

    def rejection_at(self, row: int) -> Reject | None:
        """Why the pod cannot be on the node in ``row``."""
        if self.affinity and not self._has_partners_at(row):
            return Reject(True, AFFINITY, resolvable=False)
        if any(near.at(row) > 0 for near in self.apart):
            return Reject(True, ANTI_AFFINITY)
        if any(near.at(row) > 0 for near in self.existing):
            return Reject(True, EXISTING_ANTI_AFFINITY)
        return None

    def _has_partners_at(self, row: int) -> bool:
        if all(near.at(row) > 0 for near in self.affinity):
            return True
        return self._is_first and all(near.label.ids.item(row) for near in self.affinity)

    def changed(self, other: Pod, nodes: NodeTable, row: int, change: int) -> Constraints:
        """As it would be with ``other`` on the node in ``row`` (``change`` 1), or without it (-1)."""
        affinity, partners = self.affinity, self.partners
        if self.wanted.includes(other):
            partners += change * sum(near.label.ids.item(row) > 0 for near in affinity)
            affinity = tuple(near.changed(row, change) for near in affinity)
        wanted_away = (population.has(other) for _, population in self.wanted.apart)
        apart = tuple(
            near.changed(row, change) if away else near for near, away in zip(self.apart, wanted_away, strict=True)
        )
        existing = self._existing_with(other, nodes, row, change)
        return replace(self, affinity=affinity, partners=partners, apart=apart, existing=existing)

    def _existing_with(self, other: Pod, nodes: NodeTable, row: int, change: int) -> Nears:
        existing = {near.key: near for near in self.existing}
        for key in self._kept_away_by(other):
            near = existing.get(key) or AffinityCounts(key, nodes.label(key), np.zeros(len(nodes), np.int32))
            existing[key] = near.changed(row, change)
        return tuple(existing.values())

    def _kept_away_by(self, other: Pod) -> list[str]:
        """The labels by which ``other`` wants the pod away."""
        try:
            terms = terms_of(other).required_anti_affinity
        except SelectorError:
            return []  # As in the table, what cannot be read binds nobody.
        return [term.topology_key for term, _ in terms if term.selects(self.pod, self.namespace_labels)]


def _any_near(nears: Iterable[AffinityCounts]) -> Mask:
    return reduce(np.logical_or, (near.everywhere() > 0 for near in nears))


def _all(masks: Iterable[Mask]) -> Mask:
    return reduce(np.logical_and, masks)
