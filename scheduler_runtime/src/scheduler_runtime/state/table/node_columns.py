"""Storage of the table: all nodes as columns, and the adding, moving and removing of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scheduler_runtime.state.objects import Node, Pod, Taint
from scheduler_runtime.state.table.affinity_terms import TERM_KINDS, ExistingTerms, TermKind
from scheduler_runtime.state.table.columns import (
    COMMON_RESOURCES,
    ChangeLog,
    Column,
    ColumnsByName,
    InternedColumn,
    LabelColumn,
    LabelKeys,
    LowestPriorities,
    PortCounts,
    RequestedResources,
    WritableLabels,
)
from scheduler_runtime.state.table.images import Images
from scheduler_runtime.state.table.pod_counts import MatchCounts, MatchCountsCache

_FIRST_CAPACITY = 64
_MAX_RARE_LABELS = 256
"""Of labels that few nodes have, no more columns are kept: a node may have thousands of its own."""


class NodeColumns:
    """A row per node, and a column for everything that decisions look at.

    The table writes it, and readers look through :class:`TableReader`. Arrays double their capacity when they are full,
    so that adding a node rarely copies them.
    """

    def __init__(self) -> None:
        self.changes: ChangeLog[int] = ChangeLog()
        self.nodes_version = 0
        self.names: list[str] = []
        self.rows: dict[str, int] = {}
        """The row of each node, by its name."""
        self.nodes: list[Node] = []
        self.pods: list[dict[str, Pod]] = []
        """The pods on each node, by their uids."""
        self._capacity = _FIRST_CAPACITY
        self.zeros = self.new_ints()
        """Stands for a resource that no node offers or no pod requests."""
        self.allocatable = ColumnsByName[str](self.new_ints, self.names, COMMON_RESOURCES)
        self.requested = RequestedResources(ColumnsByName(self.new_ints, self.names, COMMON_RESOURCES))
        self.scored = {"cpu": self.new_ints(), "memory": self.new_ints()}
        self.pod_counts = self.new_ints()
        self.max_pods = self.new_ints()
        self.unschedulable = self.new_column(np.bool_)
        self.taints: InternedColumn[tuple[Taint, ...]] = InternedColumn(self.new_ints())
        self.features: InternedColumn[tuple[str, ...]] = InternedColumn(self.new_ints())
        self.images = Images(self.new_column, self.rows)
        self.ports = PortCounts(ColumnsByName(self.new_ints, self.names))
        self.lowest_priorities = LowestPriorities(self.pods, self.changes, self.new_ints)
        self.labels: dict[str, WritableLabels] = {}
        """Only the labels that somebody asked for."""
        self.label_keys = LabelKeys()
        """The label keys that nodes have."""
        self._absent_label = WritableLabels((), 0, 0)
        self.match_counts = MatchCountsCache(self.new_match_counts, self.pods)
        self.terms: dict[TermKind, ExistingTerms] = {
            kind: ExistingTerms(self.new_match_counts, self.label_keys) for kind in TERM_KINDS
        }

    def new_column(self, dtype: type) -> Column:
        """A column of zeros with a value per row."""
        return Column(dtype, len(self.names), self._capacity)

    def new_ints(self) -> Column:
        """A column of whole numbers, all zero."""
        return Column(np.int64, len(self.names), self._capacity)

    def new_match_counts(self) -> MatchCounts:
        """Match counts that are zero everywhere."""
        return MatchCounts(self.new_ints, self.label, lambda: self.nodes_version)

    def label(self, key: str) -> LabelColumn:
        """The label ``key`` of every node; its column is built when it is asked for the first time."""
        column = self.labels.get(key)
        if column is not None:
            return column
        if key not in self.label_keys:
            return self._absent_label  # Keys that only pods mention take no memory.
        names = self.label_keys.nodes(key)
        rows = range(len(self.nodes)) if names is None else [self.rows[name] for name in names]
        values = ((row, self.nodes[row].labels.get(key)) for row in rows)
        column = WritableLabels(values, len(self.names), self._capacity)
        if names is None or len(self.labels) < _MAX_RARE_LABELS:
            self.labels[key] = column
        return column

    def add_row(self, node: Node) -> int:
        """Add an empty row for ``node`` at the end, and return its number."""
        name = node.metadata.name
        row = self.rows[name] = len(self.names)
        self.names.append(name)
        self.nodes.append(node)
        self.pods.append({})
        self._resize()
        return row

    def remove_row(self, row: int) -> None:
        """Remove a row; the last row takes its place."""
        last = len(self.names) - 1
        for pod in self.pods[row].values():
            self.match_counts.refile(row, pod, -1)
        if row < last:
            for pod in self.pods[last].values():
                self.match_counts.refile(last, pod, -1)
                self.match_counts.refile(row, pod, 1)
        for column in self._columns():
            column.writable[row] = column.writable[last]
            column.writable[last] = 0  # A row that is added later starts from zeros.
        for columns in (self.allocatable, self.requested.columns, self.ports.columns):
            columns.move(last, row)
        for label in self.labels.values():
            label.move(last, row)
        for counts in self._all_match_counts():
            counts.move(last, row)
        for terms in self.terms.values():
            terms.drop_unused()
        del self.rows[self.names[row]]
        if row < last:
            self.names[row] = self.names[last]
            self.nodes[row] = self.nodes[last]
            self.pods[row] = self.pods[last]
            self.rows[self.names[row]] = row
        del self.names[last], self.nodes[last], self.pods[last]
        self._resize()

    def _resize(self) -> None:
        # Whoever follows the changes row by row starts over: row numbers mean other nodes now.
        self.changes.start_over()
        self.nodes_version += 1
        rows = len(self.names)
        if rows > self._capacity:
            self._capacity *= 2
        for column in self._columns():
            column.resize(rows, self._capacity)
        for label in (*self.labels.values(), self._absent_label):
            label.resize(rows, self._capacity)
        for counts in self._all_match_counts():
            counts.resize(rows, self._capacity)

    def _columns(self) -> Iterator[Column]:
        yield from self.allocatable.arrays.values()
        yield from self.requested.columns.arrays.values()
        yield from self.ports.columns.arrays.values()
        yield from self.scored.values()
        yield from (self.pod_counts, self.max_pods, self.unschedulable, self.zeros)
        yield from (self.taints.column, self.features.column)
        yield from self.images

    def _all_match_counts(self) -> Iterator[MatchCounts]:
        yield from self.match_counts
        for terms in self.terms.values():
            yield from terms.owners()
