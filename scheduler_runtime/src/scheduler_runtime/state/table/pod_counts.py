"""Match counts: the number of pods on each node that selectors match, updated with every pod that comes or goes.

Spreading and affinity between pods ask the same questions again and again: how many matching pods are on each node, and
in each zone. Counting anew takes time in proportion to all pods; here a pod that comes or goes changes the one number
that it concerns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from scheduler_runtime.state.lru import next_cleanup_size
from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table.columns import ChangeLog, Column, Ints, LabelColumn
from scheduler_runtime.state.table.pod_selectors import LabelIndex, PodSelector, Requirement
from scheduler_runtime.state.table.pods_by_label import PodsByLabel

MAX_BYTES = 64 * 2**20
"""Memory that all match counts together may take; those that were not asked for the longest are dropped."""

_BYTES_OF_A_REQUIREMENT = 400
_BYTES_OF_A_VALUE = 100
_LARGE = 4000
"""Bytes of a selection; fewer are counted with its match counts."""

MIN_CLEANUP = 128
"""So many new match counts are not worth looking for those that count no pod."""

FEW_ROWS = 4
"""Pods on no more nodes than these are added up one by one: a sum has a number for each value of a label."""

MAX_SUMS = 8
"""Labels by which one selection is summed up at a time: every pod that comes or goes changes each of the sums."""


class PodSelection(Struct, frozen=True, cache_hash=True, gc=False):
    """The pods that all selectors match."""

    selectors: tuple[PodSelector, ...]
    without_terminating: bool = False
    """True if pods that are being deleted are left out."""

    def includes(self, pod: Pod) -> bool:
        """True if ``pod`` is one of them."""
        if self.without_terminating and pod.metadata.deletion_timestamp is not None:
            return False
        return all(selector.matches(pod) for selector in self.selectors)

    @property
    def size(self) -> int:
        """Approximate memory in bytes: users write thousands of requirements, and of values."""
        size = 0
        for selector in self.selectors:
            size += _BYTES_OF_A_REQUIREMENT + _BYTES_OF_A_VALUE * len(selector.namespaces or ())
            for requirement in selector.requirements:
                size += _BYTES_OF_A_REQUIREMENT + _BYTES_OF_A_VALUE * len(requirement.values)
        return size

    @property
    def requirements(self) -> Iterator[Requirement]:
        """The conditions of all selectors together."""
        return (requirement for selector in self.selectors for requirement in selector.requirements)


@dataclass(slots=True)
class _Sums:
    """Counts by the values of a label, for the nodes' labels as of a version."""

    version: int
    label: LabelColumn
    counts: Ints


class MatchCounts:
    """The number of pods of one selection on each node.

    Most selections have pods on few nodes, and few are ever read row by row: a column is made only for those.
    """

    __slots__ = ("_changes", "_column", "_count_by_row", "_label", "_new_column", "_nodes_version", "_sums", "total")

    def __init__(
        self,
        new_column: Callable[[], Column],
        label: Callable[[str], LabelColumn],
        nodes_version: Callable[[], int],
    ) -> None:
        """``label`` and ``nodes_version`` read how nodes are labelled, and since which change."""
        self._new_column = new_column
        self._label = label
        self._nodes_version = nodes_version
        self._count_by_row: dict[int, int] = {}
        self._column: Column | None = None
        self._sums: dict[str, _Sums] = {}
        self._changes: ChangeLog[tuple[int, int]] = ChangeLog()
        self.total = 0

    @property
    def size(self) -> int:
        """Approximate memory in bytes."""
        column = 0 if self._column is None else self._column.writable.nbytes
        sums = sum(sums.counts.nbytes for sums in self._sums.values())
        return 4000 + 100 * len(self._count_by_row) + 72 * len(self._changes) + column + sums

    @property
    def counts(self) -> Ints:
        """The number of pods on each node."""
        if self._column is None:
            self._column = self._new_column()
            self._column.writable[self._rows()] = self._numbers()
        counts: Ints = self._column.values
        return counts

    def item(self, row: int) -> int:
        """The number of pods on one node."""
        return self._count_by_row.get(row, 0)

    @property
    def few(self) -> Mapping[int, int] | None:
        """The number of pods in each row that has any, if these are few; None otherwise."""
        return self._count_by_row if len(self._count_by_row) <= FEW_ROWS else None

    @property
    def position(self) -> int:
        """The end of the changes, for :meth:`changes_since`."""
        return self._changes.position

    def changes_since(self, position: int) -> Sequence[tuple[int, int]] | None:
        """The rows that changed after ``position``, each with how many pods were added or removed.

        None when that is too long ago, or rows moved since.
        """
        return self._changes.since(position)

    def by_domain(self, key: str) -> Ints:
        """The number of pods for each value of the label ``key``, by its ids; the first is for nodes without it."""
        sums = self._sums.get(key)
        version = self._nodes_version()
        if sums is None or sums.version != version:
            # Sums of labels as they were before are of no use; of the others the one made first goes.
            self._sums = {other: older for other, older in self._sums.items() if older.version == version}
            if len(self._sums) >= MAX_SUMS:
                del self._sums[next(iter(self._sums))]
            label = self._label(key)
            counts = np.bincount(label.ids[self._rows()], self._numbers(), len(label.values) + 1).astype(np.int64)
            sums = self._sums[key] = _Sums(version, label, counts)
        return sums.counts

    def _rows(self) -> NDArray[np.intp]:
        return np.fromiter(self._count_by_row.keys(), np.intp, len(self._count_by_row))

    def _numbers(self) -> Ints:
        return np.fromiter(self._count_by_row.values(), np.int64, len(self._count_by_row))

    # Called by the table.

    def add(self, row: int, change: int) -> None:
        """Count ``change`` pods more in a row."""
        self._write(row, self._count_by_row.get(row, 0) + change)
        self.total += change
        self._changes.add((row, change))
        if self._sums:
            version = self._nodes_version()
            for sums in self._sums.values():
                if sums.version == version:  # Older sums are made anew when they are asked for.
                    sums.counts[sums.label.ids.item(row)] += change

    def move(self, source: int, target: int) -> None:
        """Drop the count of row ``target`` and put there the count of row ``source``, which ends."""
        self.total -= self._count_by_row.get(target, 0)
        self._write(target, self._count_by_row.get(source, 0) if source != target else 0)
        self._write(source, 0)

    def resize(self, rows: int, capacity: int) -> None:
        """Have ``rows`` rows, with room for ``capacity``. Readers of the changes have to start over."""
        if self._column is not None:
            self._column.resize(rows, capacity)
        self._changes.start_over()
        self._sums.clear()

    def _write(self, row: int, number: int) -> None:
        if number:
            self._count_by_row[row] = number
        else:
            self._count_by_row.pop(row, None)
        if self._column is not None:
            self._column.writable[row] = number


class MatchCountsCache:
    """Match counts of the selections that were asked about, within ``MAX_BYTES`` of memory."""

    def __init__(self, new_counts: Callable[[], MatchCounts], pods: Sequence[dict[str, Pod]]) -> None:
        """``pods`` are those in each row."""
        self._new_counts = new_counts
        self._pods = pods
        self._pods_by_label = PodsByLabel(pods)
        self._counts: OrderedDict[PodSelection, MatchCounts] = OrderedDict()
        self._sizes: dict[PodSelection, int] = {}
        """As of the last time that each selection was asked for."""
        self._large: dict[PodSelection, int] = {}
        """The sizes of those selections that take much memory themselves."""
        self._bytes = 0
        self._cleanup_at = MIN_CLEANUP
        self._index: LabelIndex[PodSelection, MatchCounts] = LabelIndex()

    def __iter__(self) -> Iterator[MatchCounts]:
        return iter(self._counts.values())

    def get_if_any(self, selection: PodSelection) -> MatchCounts | None:
        """As :meth:`get`; None, and nothing is remembered, where no node has a pod with the labels."""
        if selection in self._counts or self._pods_by_label.rows(selection.selectors):
            return self.get(selection)
        return None

    def get(self, selection: PodSelection) -> MatchCounts:
        """The match counts of ``selection``; counted when it is asked for the first time."""
        counts = self._counts.get(selection)
        if counts is None:
            self._clean_up_if_due()
            counts = self._new_counts()
            for row in self._pods_by_label.rows(selection.selectors):
                number = sum(selection.includes(pod) for pod in self._pods[row].values())
                if number:
                    counts.add(row, number)
            self._counts[selection] = counts
            own_size = selection.size
            if own_size > _LARGE:
                self._large[selection] = own_size
            self._index.add(selection.requirements, selection, counts)
        self._counts.move_to_end(selection)
        size = counts.size
        if self._large:
            size += self._large.get(selection, 0)
        self._bytes += size - self._sizes.get(selection, 0)
        self._sizes[selection] = size
        while self._bytes > MAX_BYTES and len(self._counts) > 1:
            self._drop(next(iter(self._counts)))
        return counts

    def _clean_up_if_due(self) -> None:
        """Drop the selections without any pod, once there may be many.

        Nobody asks about the pods of deployments that were deleted, and each new deployment brings its own selections.
        """
        if len(self._counts) < self._cleanup_at:
            return
        for selection in [selection for selection, counts in self._counts.items() if not counts.total]:
            self._drop(selection)
        self._cleanup_at = next_cleanup_size(len(self._counts), MIN_CLEANUP)

    def _drop(self, selection: PodSelection) -> None:
        del self._counts[selection]
        self._large.pop(selection, None)
        self._bytes -= self._sizes.pop(selection)
        self._index.remove(selection.requirements, selection)

    def refile(self, row: int, pod: Pod, change: int) -> None:
        """Update the index for a pod that moves with its whole row: match counts move by :meth:`MatchCounts.move`."""
        self._pods_by_label.count(row, pod, change)

    def count(self, row: int, pod: Pod, change: int) -> None:
        """Count a pod in a row (1), or take it back (-1)."""
        if self._pods_by_label.by_key:
            self._pods_by_label.count(row, pod, change)
        if self._counts:
            for selection, counts in self._index.candidates(pod):
                if selection.includes(pod):
                    counts.add(row, change)
