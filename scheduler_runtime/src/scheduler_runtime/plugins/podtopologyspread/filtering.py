"""Where hard constraints let a pod go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from scheduler_runtime.api import Mask, Pod, Reject
from scheduler_runtime.plugins.podtopologyspread.domain_counts import DomainCounts

TOO_UNEVEN: Final = "node(s) didn't match pod topology spread constraints"
NO_DOMAIN: Final = f"{TOO_UNEVEN} (missing required label)"
_MANY: Final = 2**31 - 1
"""More pods than any domain has."""

Moved = dict[int, int]
"""How many pods more, or fewer, a domain would have."""


class HardConstraints:
    """The filter state of one attempt: the tallies, and what pods that were added or removed change in them."""

    __slots__ = ("_emptiest", "_limits", "_moved", "_selves", "tallies")

    def __init__(self, tallies: Sequence[DomainCounts], pod: Pod) -> None:
        self.tallies = tallies
        self._selves = [tally.constraint.selects(pod) for tally in tallies]
        self._moved: list[Moved] = [{} for _ in tallies]
        self._emptiest: list[tuple[int, int] | None] = [None] * len(tallies)
        self._limits: list[int | None] = [None] * len(tallies)

    def copy(self) -> HardConstraints:
        """The same, to be changed without changing this one."""
        copied = HardConstraints.__new__(HardConstraints)
        copied.tallies, copied._selves = self.tallies, self._selves
        copied._moved = [dict(moved) for moved in self._moved]
        copied._emptiest = self._emptiest  # What is found out for one holds for all.
        copied._limits = list(self._limits)
        return copied

    def move(self, pod: Pod, row: int, change: int) -> None:
        """Count ``pod`` on, or off, the node in ``row``.

        As upstream does here, and only here, a pod that is being deleted counts like any other, and so do all pods
        for a selector that matches every pod.
        """
        for index, tally in enumerate(self.tallies):
            ground, moved = tally.ground, self._moved[index]
            if ground.eligible.item(row) and tally.constraint.selects(pod):
                place = ground.places.item(row)
                moved[place] = moved.get(place, 0) + change
                self._limits[index] = None

    def rejects(self) -> Iterator[Reject]:
        """Why nodes are out: each for the first constraint that it does not meet."""
        out: Mask | None = None
        for index, tally in enumerate(self.tallies):
            lacking, uneven = tally.ground.lacking, self._uneven(index)
            for rows, reason, resolvable in ((lacking, NO_DOMAIN, False), (uneven, TOO_UNEVEN, True)):
                if rows is not None:
                    fresh = rows if out is None else rows & ~out
                    yield Reject(fresh, reason, resolvable)
                    out = fresh if out is None else out | fresh

    def rejects_row(self, row: int) -> Iterable[Reject]:
        """As :meth:`rejects`, for one node."""
        for index, tally in enumerate(self.tallies):
            lacking = tally.ground.lacking
            if lacking is not None and lacking.item(row):
                return (Reject.pod(NO_DOMAIN),)
            place = tally.ground.places.item(row)
            if tally.sums.item(place) + self._moved[index].get(place, 0) > self._most(index):
                return (Reject.pod(TOO_UNEVEN, resolvable=True),)
        return ()

    def _uneven(self, index: int) -> Mask | None:
        tally, most = self.tallies[index], self._most(index)
        full = tally.sums > most
        for place, change in self._moved[index].items():
            full[place] = tally.sums.item(place) + change > most
        return full.take(tally.ground.places) if np.count_nonzero(full) else None

    def _most(self, index: int) -> int:
        """How many pods a domain may have for one more to be allowed."""
        limit = self._limits[index]
        if limit is None:
            limit = self.tallies[index].constraint.max_skew + self._minimum(index) - self._selves[index]
            self._limits[index] = limit
        return limit

    def _minimum(self, index: int) -> int:
        """How many pods the emptiest domain has; none when there are fewer domains than wanted."""
        tally, moved = self.tallies[index], self._moved[index]
        size = tally.ground.size
        if size < max(tally.constraint.min_domains, 1):
            return 0
        first, second = self._two_emptiest(index)
        match list(moved.items()):
            case []:
                return first
            case [(place, change)]:
                now = tally.sums.item(place)
                return min(second if now == first else first, now + change)
        changed = tally.sums[:size].copy()
        changed[list(moved)] += list(moved.values())
        return int(changed.min())

    def _two_emptiest(self, index: int) -> tuple[int, int]:
        """The smallest number of pods in a domain and the smallest in the others, perhaps the same."""
        known = self._emptiest[index]
        if known is None:
            known = self._emptiest[index] = _two_smallest(self.tallies[index])
        return known


def _two_smallest(tally: DomainCounts) -> tuple[int, int]:
    inside = tally.sums[: tally.ground.size]
    place = int(inside.argmin())
    smallest = inside.item(place)
    others = [int(part.min()) for part in (inside[:place], inside[place + 1 :]) if len(part)]
    return smallest, min(others, default=_MANY)
