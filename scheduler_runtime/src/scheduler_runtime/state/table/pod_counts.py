"""How many pods of a kind are on each node, counted once and then kept up to date pod by pod.

Spreading and affinity between pods ask the same questions again and again: how many pods that a selector matches are
on each node, and in each zone. Counting answers them in time proportional to all pods; here a pod that comes or goes
changes the one number it concerns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.state.lru import next_sweep
from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table.cached_hash import hashed_once
from scheduler_runtime.state.table.change_log import ChangeLog
from scheduler_runtime.state.table.columns import Column, Ints, LabelColumn
from scheduler_runtime.state.table.pod_selectors import ByLabels, PodSelector, Requirements
from scheduler_runtime.state.table.pods_by_label import PodsByLabel

BUDGET_BYTES = 64 * 2**20
"""What all censuses together may take; the one that was not asked for the longest is given up."""

FEW = 128
"""Before there are so many new censuses nobody looks which of them count no pod."""

MAX_SUMS = 8
"""By as many labels each census is summed up at a time: every pod that comes or goes changes all of them."""


@hashed_once
@dataclass(frozen=True, slots=True)
class PodSelection:
    """The pods that all selectors match; with ``living`` without those that are being deleted."""

    selectors: tuple[PodSelector, ...]
    living: bool = False
    _hash: int = field(init=False, repr=False, compare=False)

    def has(self, pod: Pod) -> bool:
        """Whether ``pod`` belongs to it."""
        if self.living and pod.metadata.deletion_timestamp is not None:
            return False
        return all(selector.matches(pod) for selector in self.selectors)


@dataclass(slots=True)
class _Sums:
    """A census by the values of a label, as the nodes were labelled at a certain version."""

    version: int
    label: LabelColumn
    counts: Ints


class MatchCounts:
    """How many pods of one kind are on each node.

    Most kinds are on few nodes, and most are never asked about row by row: a column is made for those that are.
    """

    __slots__ = ("_changes", "_column", "_label", "_new_column", "_rows", "_sums", "_version", "total")

    def __init__(
        self,
        new_column: Callable[[], Column],
        label: Callable[[str], LabelColumn],
        version: Callable[[], int],
    ) -> None:
        """``label`` and ``version`` tell how nodes are labelled, and when that changed."""
        self._new_column = new_column
        self._label = label
        self._version = version
        self._rows: dict[int, int] = {}
        self._column: Column | None = None
        self._sums: dict[str, _Sums] = {}
        self._changes: ChangeLog[tuple[int, int]] = ChangeLog()
        self.total = 0

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        column = 0 if self._column is None else self._column.all.nbytes
        sums = sum(each.counts.nbytes for each in self._sums.values())
        return 4000 + 100 * len(self._rows) + 72 * len(self._changes) + column + sums

    @property
    def counts(self) -> Ints:
        """How many there are on each node."""
        if self._column is None:
            self._column = self._new_column()
            self._column.all[self._at()] = self._numbers()
        shown: Ints = self._column.shown
        return shown

    @property
    def position(self) -> int:
        """How far it has come; for :meth:`changes_since`."""
        return self._changes.position

    def changes_since(self, position: int) -> Sequence[tuple[int, int]] | None:
        """The rows with how many pods more, or fewer, are on them since it had come to ``position``.

        None when that is too long ago, or rows moved since.
        """
        return self._changes.since(position)

    def by_domain(self, key: str) -> Ints:
        """How many there are for each value of the label ``key``, by its ids; the first is for nodes without it."""
        sums = self._sums.get(key)
        if sums is None or sums.version != self._version():
            self._make_room()
            sums = self._sums[key] = self._summed(key)
        return sums.counts

    def _make_room(self) -> None:
        """Forget the sums of older labels, and those made first when there are many."""
        version = self._version()
        self._sums = {key: sums for key, sums in self._sums.items() if sums.version == version}
        if len(self._sums) >= MAX_SUMS:
            del self._sums[next(iter(self._sums))]

    def _summed(self, key: str) -> _Sums:
        label = self._label(key)
        counts = np.bincount(label.ids[self._at()], self._numbers(), len(label.values) + 1).astype(np.int64)
        return _Sums(self._version(), label, counts)

    def _at(self) -> NDArray[np.intp]:
        return np.fromiter(self._rows.keys(), np.intp, len(self._rows))

    def _numbers(self) -> Ints:
        return np.fromiter(self._rows.values(), np.int64, len(self._rows))

    # What the table tells.

    def add(self, row: int, change: int) -> None:
        """Count ``change`` pods more in a row."""
        self._write(row, self._rows.get(row, 0) + change)
        self.total += change
        self._changes.add((row, change))
        if self._sums:
            self._keep_sums(row, change)

    def _keep_sums(self, row: int, change: int) -> None:
        """Bring the sums up to date. Those of labels that changed since are made anew when they are asked for."""
        version = self._version()
        for sums in self._sums.values():
            if sums.version == version:
                sums.counts[sums.label.ids.item(row)] += change

    def move(self, source: int, target: int) -> None:
        """Forget what is in row ``target`` and put there what is in the row ``source``, which ends."""
        self.total -= self._rows.get(target, 0)
        self._write(target, self._rows.get(source, 0) if source != target else 0)
        self._write(source, 0)

    def resize(self, rows: int, capacity: int) -> None:
        """Show ``rows`` rows, with room for ``capacity``; who kept rows has to start over."""
        if self._column is not None:
            self._column.resize(rows, capacity)
        self._changes.start_over()
        self._sums.clear()

    def _write(self, row: int, number: int) -> None:
        if number:
            self._rows[row] = number
        else:
            self._rows.pop(row, None)
        if self._column is not None:
            self._column.all[row] = number


class MatchCountsCache:
    """The populations that were asked about, each with its census."""

    def __init__(self, new: Callable[[], MatchCounts], pods: Sequence[dict[str, Pod]]) -> None:
        """``pods`` are those in each row."""
        self._new = new
        self._pods = pods
        self._whereabouts = PodsByLabel(pods)
        self._kept: OrderedDict[PodSelection, MatchCounts] = OrderedDict()
        self._sizes: dict[PodSelection, int] = {}
        """As they were when each was asked for the last time."""
        self._taken = 0
        self._sweep_at = FEW
        self._index: ByLabels[PodSelection, MatchCounts] = ByLabels()

    def __iter__(self) -> Iterator[MatchCounts]:
        return iter(self._kept.values())

    def get(self, population: PodSelection) -> MatchCounts:
        """The census of ``population``, counted when it is asked for the first time."""
        census = self._kept.get(population)
        if census is None:
            self._sweep_in_time()
            census = self._kept[population] = self._counted(population)
            self._index.add(_requirements(population), population, census)
        self._kept.move_to_end(population)
        self._weigh(population, census.size)
        return census

    def _counted(self, population: PodSelection) -> MatchCounts:
        census = self._new()
        for row in self._whereabouts.rows(population.selectors):
            number = sum(population.has(pod) for pod in self._pods[row].values())
            if number:
                census.add(row, number)
        return census

    def _weigh(self, population: PodSelection, size: int) -> None:
        self._taken += size - self._sizes.get(population, 0)
        self._sizes[population] = size
        while self._taken > BUDGET_BYTES and len(self._kept) > 1:
            self._give_up(next(iter(self._kept)))

    def _sweep_in_time(self) -> None:
        """Give up those that count no pod, once there may be many.

        Nobody asks about the pods of deployments that were, and each new one brings populations of its own.
        """
        if len(self._kept) < self._sweep_at:
            return
        for population in [each for each, census in self._kept.items() if not census.total]:
            self._give_up(population)
        self._sweep_at = next_sweep(len(self._kept), FEW)

    def _give_up(self, population: PodSelection) -> None:
        del self._kept[population]
        self._taken -= self._sizes.pop(population)
        self._index.remove(_requirements(population), population)

    def refile(self, row: int, pod: Pod, change: int) -> None:
        """A pod was moved to a row with everything else there, or from it: censuses are told otherwise."""
        self._whereabouts.count(row, pod, change)

    def count(self, row: int, pod: Pod, change: int) -> None:
        """A pod came to a row, or left it."""
        self._whereabouts.count(row, pod, change)
        if self._kept:
            for population, census in self._index.candidates(pod):
                if population.has(pod):
                    census.add(row, change)


def _requirements(population: PodSelection) -> Requirements:
    """What its pods must meet, all selectors together."""
    return tuple(each for selector in population.selectors for each in selector.requirements)
