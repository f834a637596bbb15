"""Filtering by hard spread constraints. Upstream: filtering.go in podtopologyspread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from scheduler_runtime.api import Mask, NodeTable, Pod, Reject
from scheduler_runtime.plugins.podtopologyspread.domains import DomainCounts

TOO_UNEVEN: Final = "node(s) didn't match pod topology spread constraints"
NO_DOMAIN: Final = f"{TOO_UNEVEN} (missing required label)"
_MAX_PODS: Final = 2**31 - 1
"""More pods than any domain has."""

_FEW_CONSTRAINTS: Final = 8
_FEW_ROWS: Final = 4
"""After so many constraints, so few nodes are looked at one by one: a user may write thousands of constraints."""

Changes = dict[int, int]
"""The number of pods more, or fewer, in each domain that changed."""


def hard_constraints(counts: Sequence[DomainCounts], pod: Pod, nodes: NodeTable) -> HardConstraints:
    """The state for ``pod``, with the constraints brought up to date that decide anything.

    After the one by which every node lacks a label, no other is asked about any node, whichever pods come and go: of
    the thousands that a user may write, that is mostly the first.
    """
    without_labels = np.zeros(len(nodes), np.bool_)
    for number, one in enumerate(counts, 1):
        one.refresh(nodes)
        if one.domains.without_label is not None:
            without_labels |= one.domains.without_label
            if np.count_nonzero(without_labels) == len(nodes):
                return HardConstraints(counts[:number], pod)
    return HardConstraints(counts, pod)


class HardConstraints:
    """The filter state of one attempt: counts by domain, and their changes by pods that are added or removed."""

    __slots__ = ("_changes", "_limits", "_selects_itself", "_two_emptiest", "counts")

    def __init__(self, counts: Sequence[DomainCounts], pod: Pod) -> None:
        self.counts = counts
        self._selects_itself = [one.constraint.selects(pod) for one in counts]
        self._changes: list[Changes] = [{} for _ in counts]
        self._two_emptiest: list[tuple[int, int] | None] = [None] * len(counts)
        """The two smallest counts before the changes (upstream's criticalPaths); None until somebody asks."""
        self._limits: list[int | None] = [None] * len(counts)

    def copy(self) -> HardConstraints:
        """The same state, to be changed without changing this one."""
        copied = HardConstraints.__new__(HardConstraints)
        copied.counts, copied._selects_itself = self.counts, self._selects_itself
        copied._changes = [dict(changes) for changes in self._changes]
        copied._two_emptiest = self._two_emptiest  # Shared: it does not depend on the changes.
        copied._limits = list(self._limits)
        return copied

    def count(self, pod: Pod, row: int, change: int) -> None:
        """Count ``pod`` on the node in ``row`` (1), or take it off (-1).

        As in upstream's updateWithPod, and only there, a pod that is being deleted counts like any other, and so do all
        pods for a selector that matches every pod.
        """
        for index, counts in enumerate(self.counts):
            domains, changes = counts.domains, self._changes[index]
            if domains.nodes.eligible.item(row) and counts.constraint.selects(pod):
                domain = domains.ids.item(row)
                changes[domain] = changes.get(domain, 0) + change
                self._limits[index] = None

    def rejections(self) -> Iterator[Reject]:
        """The reasons against nodes: for each node the first constraint that it does not meet."""
        rejected: Mask | None = None
        for index, counts in enumerate(self.counts):
            if index == _FEW_CONSTRAINTS and rejected is not None:
                left = np.flatnonzero(~rejected).tolist()
                if len(left) <= _FEW_ROWS:
                    yield from self._rejections_in(left, len(rejected), start=index)
                    return
            limit, by_domain, domains = self._limit(index), counts.by_domain, counts.domains
            is_full = by_domain > limit
            for domain, change in self._changes[index].items():
                is_full[domain] = by_domain.item(domain) + change > limit
            too_uneven = is_full.take(domains.ids) if np.count_nonzero(is_full) else None
            for rows, reason, resolvable in ((domains.without_label, NO_DOMAIN, False), (too_uneven, TOO_UNEVEN, True)):
                if rows is not None:
                    fresh = rows if rejected is None else rows & ~rejected
                    yield Reject(fresh, reason, resolvable)
                    rejected = fresh if rejected is None else rejected | fresh

    def _rejections_in(self, rows: Sequence[int], size: int, start: int) -> Iterator[Reject]:
        """As :meth:`rejections` for some of ``size`` nodes, by the constraints from ``start`` on."""
        for row in rows:
            for reject in self.rejections_in_row(row, start):
                rejected = np.zeros(size, np.bool_)
                rejected[row] = True
                yield Reject(rejected, reject.reason, reject.resolvable)

    def rejections_in_row(self, row: int, start: int = 0) -> Iterable[Reject]:
        """As :meth:`rejections`, for one node, by the constraints from ``start`` on."""
        for index in range(start, len(self.counts)):
            counts = self.counts[index]
            domains = counts.domains
            if domains.without_label is not None and domains.without_label.item(row):
                return (Reject.pod(NO_DOMAIN),)
            domain = domains.ids.item(row)
            if counts.by_domain.item(domain) + self._changes[index].get(domain, 0) > self._limit(index):
                return (Reject.pod(TOO_UNEVEN, resolvable=True),)
        return ()

    def _limit(self, index: int) -> int:
        """The number of pods that a domain may have for one more to be allowed."""
        limit = self._limits[index]
        if limit is None:
            limit = self.counts[index].constraint.max_skew + self._minimum(index) - self._selects_itself[index]
            self._limits[index] = limit
        return limit

    def _minimum(self, index: int) -> int:
        """The number of pods in the emptiest domain; 0 when there are fewer domains than ``minDomains``."""
        counts, changes = self.counts[index], self._changes[index]
        size = counts.domains.size
        if size < max(counts.constraint.min_domains, 1):
            return 0
        two_emptiest = self._two_emptiest[index]
        if two_emptiest is None:
            inside = counts.by_domain[:size]
            if size <= _FEW_ROWS:
                first, second, *_ = sorted([*inside.tolist(), _MAX_PODS])
                two_emptiest = first, second
            else:
                domain = int(inside.argmin())
                others = [int(part.min()) for part in (inside[:domain], inside[domain + 1 :]) if len(part)]
                two_emptiest = inside.item(domain), min(others, default=_MAX_PODS)
            self._two_emptiest[index] = two_emptiest
        first, second = two_emptiest
        match list(changes.items()):
            case []:
                return first
            case [(domain, change)]:
                # By far the most frequent case in preemption: pods of one node come and go.
                before = counts.by_domain.item(domain)
                return min(second if before == first else first, before + change)
        changed = counts.by_domain[:size].copy()
        changed[list(changes)] += list(changes.values())
        return int(changed.min())
