"""Filter state: the pods near each node that a pod requires or must avoid, as counted by ``pre_filter``.

Preemption asks for verdicts with pods added or removed. Each such change makes another state, which shares the counts
with the first one and has the difference beside them. Upstream: filtering.go in interpodaffinity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from scheduler_runtime.api import Mask, NodeTable, Pod, Reject
from scheduler_runtime.plugins.interpodaffinity.own_terms import OwnTerms
from scheduler_runtime.plugins.interpodaffinity.topology_scores import Points
from scheduler_runtime.state.table import (
    NO_LABELS,
    AffinityTerms,
    LabelColumn,
    LabelIndex,
    PodSelection,
    SelectorError,
    terms_of,
)

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
_NO_CHANGES: Mapping[Any, int] = MappingProxyType({})
_MAX_KINDS = 1024
"""Answers about so many kinds of pods are in memory at most."""


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


class OtherPods:
    """What a pod's terms say of other pods, and theirs of it: found once for all that are alike to these terms.

    Preemption asks about a pod on each node, twice, and a pod may have thousands of terms.
    """

    __slots__ = ("_index", "_keeping_away", "_label_keys", "_namespace_labels", "_own", "_pod", "_selected")

    def __init__(self, pod: Pod, namespace_labels: Mapping[str, str], own: OwnTerms) -> None:
        self._pod = pod
        self._namespace_labels = namespace_labels
        self._own = own
        self._index: LabelIndex[tuple[str, PodSelection], None] | None = None
        """The selections of ``own.apart``."""
        self._label_keys: AbstractSet[str] = frozenset()
        """The labels that own terms look at."""
        self._selected: dict[object, tuple[bool, Mapping[str, int]]] = {}
        self._keeping_away: dict[AffinityTerms, Mapping[str, int]] = {}

    def selected(self, other: Pod, keys: Iterable[str]) -> tuple[bool, Mapping[str, int]]:
        """True if ``other`` must be near; then, by the label, how many of the own terms keep it away.

        ``keys`` are the labels that matter, the same ones each time.
        """
        if not self._own.affinity_keys and not self._own.apart:
            return False, _NO_CHANGES
        if self._index is None:
            self._index = self._filed(keys)
        labels = other.metadata.labels or NO_LABELS
        kind = other.metadata.namespace, frozenset([item for item in labels.items() if item[0] in self._label_keys])
        found = self._selected.get(kind)
        if found is None:
            terms = self._index.candidates(other)
            apart = Counter(key for (key, selection), _ in terms if selection.includes(other))
            found = self._own.includes(other), apart
            if len(self._selected) >= _MAX_KINDS:
                self._selected.clear()
            self._selected[kind] = found
        return found

    def _filed(self, keys: Iterable[str]) -> LabelIndex[tuple[str, PodSelection], None]:
        index: LabelIndex[tuple[str, PodSelection], None] = LabelIndex()
        requirements = list(self._own.affinity.requirements)
        for key in keys:
            for selection in self._own.apart[key]:
                index.add(selection.requirements, (key, selection), None)
                requirements += selection.requirements
        self._label_keys = frozenset([requirement.key for requirement in requirements])
        return index

    def keeping_away(self, other: Pod, nodes: NodeTable) -> Mapping[str, int]:
        """By the label, how many of the terms of ``other`` keep the pod away."""
        try:
            terms = terms_of(other)
        except SelectorError:
            return _NO_CHANGES  # As in the table, terms that cannot be read bind nobody.
        if not terms.required_anti_affinity:
            return _NO_CHANGES
        found = self._keeping_away.get(terms)
        if found is None:
            found = Counter(
                term.topology_key
                for term, _ in terms.required_anti_affinity
                if nodes.has_label(term.topology_key) and term.selects(self._pod, self._namespace_labels)
            )
            if len(self._keeping_away) >= _MAX_KINDS:
                self._keeping_away.clear()
            self._keeping_away[terms] = found
        return found


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
    """The pods that the pod's own terms keep away, by the labels of these terms, as far as nodes have them."""
    existing: AllCounts
    """The pods whose terms keep the pod away, by the labels of these terms."""
    others: OtherPods

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
        affinity, partners, apart, existing = self.affinity, self.partners, self.apart, self.existing
        is_partner, kept_away = self.others.selected(other, [counts.key for counts in apart])
        if is_partner:
            partners += change * sum(counts.label.ids.item(row) > 0 for counts in affinity)
            affinity = tuple(counts.changed(row, change) for counts in affinity)
        if kept_away:
            apart = tuple([counts.changed(row, change * kept_away.get(counts.key, 0)) for counts in apart])
        keeping_away = self.others.keeping_away(other, nodes)
        if keeping_away:
            by_key = {counts.key: counts for counts in existing}
            for key, number in keeping_away.items():
                counts = by_key.get(key) or AffinityCounts(key, nodes.label(key), np.zeros(len(nodes), np.int32))
                by_key[key] = counts.changed(row, change * number)
            existing = tuple(by_key.values())
        return replace(self, affinity=affinity, partners=partners, apart=apart, existing=existing)
