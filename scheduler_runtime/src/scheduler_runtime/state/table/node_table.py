"""What a plugin sees of the table: everything, and no way to change it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scheduler_runtime.state.objects import Node, Pod, Taint
from scheduler_runtime.state.table.affinity_terms import TermKind, Terms
from scheduler_runtime.state.table.change_log import ChangeLog
from scheduler_runtime.state.table.columns import Ints, LabelColumn, Mask
from scheduler_runtime.state.table.images import Image
from scheduler_runtime.state.table.pod_counts import MatchCounts, PodSelection
from scheduler_runtime.state.table.ports import HostPort
from scheduler_runtime.state.table.table import Table


class NodeTable:
    """The nodes as columns, during one attempt to place a pod.

    Every array has one row per node, in the table's order, and cannot be written. ``feasible`` tells the rows that
    are still in play; what a plugin says about the others is ignored, so it need not look.
    """

    __slots__ = ("_table", "feasible")

    def __init__(self, table: Table, feasible: Mask) -> None:
        self._table = table
        self.feasible = feasible

    def __len__(self) -> int:
        return len(self.feasible)

    @property
    def names(self) -> Sequence[str]:
        """The name of each node."""
        return self._table.names

    def row(self, name: str) -> int | None:
        """The row of the node called ``name``; None when there is no such node."""
        return self._table.row(name)

    def node(self, row: int) -> Node:
        """The node in a row, for what has no column."""
        return self._table.node(row)

    def pods(self, row: int) -> Collection[Pod]:
        """The pods on the node in a row, those that are only assumed to be there included."""
        return self._table.pods(row)

    @property
    def resources(self) -> frozenset[str]:
        """Every resource that some node offers or some pod has asked for."""
        return self._table.resources

    def allocatable(self, resource: str) -> Ints:
        """How much each node offers: cpu in thousandths, everything else in whole units."""
        return self._table.allocatable(resource)

    def requested(self, resource: str) -> Ints:
        """How much of it the pods on each node have asked for."""
        return self._table.requested(resource)

    def scored(self, resource: str) -> Ints:
        """As :meth:`requested`, but counting 100m and 200Mi for each container that names no cpu or memory."""
        return self._table.scored(resource)

    @property
    def pod_counts(self) -> Ints:
        """How many pods each node has."""
        return self._table.pod_counts

    @property
    def lowest_priorities(self) -> Ints:
        """The priority of the least important pod of each node; more than any priority where there is none."""
        return self._table.lowest_priorities

    @property
    def max_pods(self) -> Ints:
        """How many pods each node takes."""
        return self._table.max_pods

    @property
    def unschedulable(self) -> Mask:
        """The nodes that are cordoned."""
        return self._table.unschedulable

    @property
    def taint_sets(self) -> Sequence[tuple[Taint, ...]]:
        """The different lists of taints that nodes have, or had."""
        return self._table.taint_sets

    @property
    def taint_set_ids(self) -> Ints:
        """Which of :attr:`taint_sets` each node has."""
        return self._table.taint_set_ids

    @property
    def feature_sets(self) -> Sequence[tuple[str, ...]]:
        """The different lists of features that nodes declare, or declared."""
        return self._table.feature_sets

    @property
    def feature_set_ids(self) -> Ints:
        """Which of :attr:`feature_sets` each node has."""
        return self._table.feature_set_ids

    def port_users(self, port: HostPort) -> Sequence[Ints]:
        """How many pods on each node bind ``port``, or what conflicts with it; an array for each address."""
        return self._table.port_users(port)

    def image(self, name: str) -> Image | None:
        """The image called ``name``, if some node has it."""
        return self._table.image(name)

    def image_rows(self, name: str) -> Mask:
        """The nodes that have the image called ``name``, which is one that some node has."""
        return self._table.image_rows(name)

    def label(self, key: str) -> LabelColumn:
        """The label ``key`` of every node."""
        return self._table.label(key)

    @property
    def changes(self) -> ChangeLog[int]:
        """The rows on which anything changed, for what is kept row by row; it starts over when rows move."""
        return self._table.changes

    @property
    def nodes_version(self) -> int:
        """Changes with the nodes' own data and their order, and not with the pods on them."""
        return self._table.nodes_version

    def census(self, population: PodSelection) -> MatchCounts:
        """How many pods of ``population`` are on each node."""
        return self._table.census(population)

    def terms(self, kind: TermKind) -> Terms:
        """The affinity terms of one kind that pods on nodes hold."""
        return self._table.terms(kind)
