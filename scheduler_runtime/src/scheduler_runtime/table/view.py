"""What a plugin sees of the table: everything, and no way to change it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..wire import Node, Pod, Taint
from .census import Census, Population
from .columns import Ints, LabelColumn, Mask
from .table import Table
from .terms import TermKind, Terms

_Array = TypeVar("_Array", Ints, Mask)


class NodeTable:
    """The nodes as columns, during one attempt to place a pod.

    Every array has one row per node, in the table's order, and cannot be written. ``feasible`` tells the rows that
    are still in play; what a plugin says about the others is ignored, so it need not look. A plugin that declares
    itself row-local may be asked about some of the nodes only; to it they are all there are.
    """

    __slots__ = ("_rows", "_table", "feasible")

    def __init__(self, table: Table, feasible: Mask, rows: NDArray[np.intp] | None = None) -> None:
        self._table = table
        self._rows = rows
        self.feasible = feasible

    def __len__(self) -> int:
        return len(self.feasible)

    def _seen(self, column: _Array) -> _Array:
        return column if self._rows is None else column[self._rows]

    def _place(self, row: int) -> int:
        return row if self._rows is None else int(self._rows[row])

    @property
    def names(self) -> Sequence[str]:
        """The name of each node."""
        return self._table.names if self._rows is None else [self._table.names[row] for row in self._rows]

    def row(self, name: str) -> int | None:
        """The row of the node called ``name``; None when there is no such node."""
        row = self._table.row(name)
        if self._rows is None or row is None:
            return row
        found = np.flatnonzero(self._rows == row)
        return int(found[0]) if len(found) else None

    def node(self, row: int) -> Node:
        """The node in a row, for what has no column."""
        return self._table.node(self._place(row))

    def pods(self, row: int) -> Collection[Pod]:
        """The pods on the node in a row, those that are only assumed to be there included."""
        return self._table.pods(self._place(row))

    @property
    def resources(self) -> frozenset[str]:
        """Every resource that some node offers or some pod has asked for."""
        return self._table.resources

    def allocatable(self, resource: str) -> Ints:
        """How much each node offers: cpu in thousandths, everything else in whole units."""
        return self._seen(self._table.allocatable(resource))

    def requested(self, resource: str) -> Ints:
        """How much of it the pods on each node have asked for."""
        return self._seen(self._table.requested(resource))

    def scored(self, resource: str) -> Ints:
        """As :meth:`requested`, but counting 100m and 200Mi for each container that names no cpu or memory."""
        return self._seen(self._table.scored(resource))

    @property
    def pod_counts(self) -> Ints:
        """How many pods each node has."""
        return self._seen(self._table.pod_counts)

    @property
    def max_pods(self) -> Ints:
        """How many pods each node takes."""
        return self._seen(self._table.max_pods)

    @property
    def unschedulable(self) -> Mask:
        """The nodes that are cordoned."""
        return self._seen(self._table.unschedulable)

    @property
    def taint_sets(self) -> Sequence[tuple[Taint, ...]]:
        """The different lists of taints that nodes have, or had."""
        return self._table.taint_sets

    @property
    def taint_set_ids(self) -> Ints:
        """Which of :attr:`taint_sets` each node has."""
        return self._seen(self._table.taint_set_ids)

    def label(self, key: str) -> LabelColumn:
        """The label ``key`` of every node."""
        column = self._table.label(key)
        return column if self._rows is None else column.at(self._rows)

    @property
    def nodes_version(self) -> int:
        """Changes with the nodes' own data and their order, and not with the pods on them."""
        return self._table.nodes_version

    def census(self, population: Population) -> Census:
        """How many pods of ``population`` are on each node. Its rows are the table's: not for a row-local plugin."""
        return self._table.census(population)

    def terms(self, kind: TermKind) -> Terms:
        """The affinity terms of one kind that pods on nodes hold. Not for a row-local plugin either."""
        return self._table.terms(kind)
