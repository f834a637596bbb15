"""Reading the table: every column as a read-only array, for the scheduler and, as NodeTable, for plugins."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scheduler_runtime.state.objects import Node, Pod, Taint
from scheduler_runtime.state.table.affinity_terms import ExistingTerms, TermKind
from scheduler_runtime.state.table.columns import ChangeLog, Ints, LabelColumn, Mask
from scheduler_runtime.state.table.images import Image
from scheduler_runtime.state.table.node_columns import NodeColumns
from scheduler_runtime.state.table.pod_counts import MatchCounts, PodSelection
from scheduler_runtime.state.table.pod_totals import HostPort


class TableReader:
    """The nodes as columns, to be read. Every array has one row per node, in the table's order.

    Rows are in no order that means anything, and change when nodes are added or removed.
    """

    __slots__ = ("_columns", "changes", "names")

    def __init__(self, columns: NodeColumns) -> None:
        self._columns = columns
        self.names: Sequence[str] = columns.names
        """The name of each node."""
        self.changes: ChangeLog[int] = columns.changes
        """The rows on which anything changed, for caches with a value per row; it starts over when rows move."""

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def nodes_version(self) -> int:
        """Changes with the nodes' own data and their order, and not with the pods on them."""
        return self._columns.nodes_version

    def row(self, name: str) -> int | None:
        """The row of the node called ``name``; None when there is no such node."""
        return self._columns.rows.get(name)

    def node(self, row: int) -> Node:
        """The node in a row, for data without a column."""
        return self._columns.nodes[row]

    def pods(self, row: int) -> Collection[Pod]:
        """The pods on the node in a row, including those that are only assumed to be there."""
        return self._columns.pods[row].values()

    @property
    def resources(self) -> frozenset[str]:
        """Every resource that some node offers or some pod on a node requests."""
        return frozenset(self._columns.allocatable) | frozenset(self._columns.requested.columns)

    def allocatable(self, resource: str) -> Ints:
        """The amount that each node offers: cpu in thousandths, everything else in whole units."""
        columns = self._columns
        return columns.allocatable.get(resource, columns.zeros).values

    def requested(self, resource: str) -> Ints:
        """The amount that the pods on each node request."""
        columns = self._columns
        return columns.requested.columns.get(resource, columns.zeros).values

    def scored(self, resource: str) -> Ints:
        """As :meth:`requested`, but with 100m and 200Mi for each container that requests no cpu or memory."""
        column = self._columns.scored.get(resource)
        return self.requested(resource) if column is None else column.values

    @property
    def pod_counts(self) -> Ints:
        """The number of pods on each node."""
        return self._columns.pod_counts.values

    @property
    def lowest_priorities(self) -> Ints:
        """The priority of the least important pod on each node; above any priority where there is no pod."""
        return self._columns.lowest_priorities.read()

    @property
    def max_pods(self) -> Ints:
        """The number of pods that each node takes."""
        return self._columns.max_pods.values

    @property
    def unschedulable(self) -> Mask:
        """The nodes that are cordoned."""
        return self._columns.unschedulable.values

    @property
    def taint_sets(self) -> Sequence[tuple[Taint, ...]]:
        """The distinct lists of taints that nodes have, or had."""
        return self._columns.taints.distinct

    @property
    def taint_set_ids(self) -> Ints:
        """The index of each node's taints in :attr:`taint_sets`."""
        return self._columns.taints.column.values

    @property
    def feature_sets(self) -> Sequence[tuple[str, ...]]:
        """The distinct lists of features that nodes declare, or declared."""
        return self._columns.features.distinct

    @property
    def feature_set_ids(self) -> Ints:
        """The index of each node's features in :attr:`feature_sets`."""
        return self._columns.features.column.values

    def port_users(self, port: HostPort) -> Sequence[Ints]:
        """The number of pods on each node that bind ``port`` or a port in conflict with it; an array per address."""
        return self._columns.ports.users(port)

    def image(self, name: str) -> Image | None:
        """The image called ``name``; None when no node has it."""
        return self._columns.images.get(name)

    def image_rows(self, name: str) -> Mask:
        """The nodes that have the image called ``name``. Raises KeyError when no node has it."""
        return self._columns.images.rows(name)

    def label(self, key: str) -> LabelColumn:
        """The label ``key`` of every node."""
        return self._columns.label(key)

    def match_counts(self, selection: PodSelection) -> MatchCounts:
        """The number of pods of ``selection`` on each node."""
        return self._columns.match_counts.get(selection)

    def terms(self, kind: TermKind) -> ExistingTerms:
        """The affinity terms of one kind that the pods on nodes have."""
        return self._columns.terms[kind]


class NodeTable(TableReader):
    """The table as plugins see it during one attempt to place a pod.

    ``feasible`` are the rows that are still in play. A plugin's answers about the others are ignored, so it need not
    look at them.
    """

    __slots__ = ("feasible",)

    def __init__(self, table: TableReader, feasible: Mask) -> None:
        self._columns = table._columns
        self.names = table.names
        self.changes = table.changes
        self.feasible = feasible
