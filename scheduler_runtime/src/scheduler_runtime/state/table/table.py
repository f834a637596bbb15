"""The table: all nodes as columns. Written as watches and decisions change nodes and pods, read by plugins."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from scheduler_runtime.state.objects import Node, Pod, QuantityError, Requests, Taint
from scheduler_runtime.state.objects.pod_requests import (
    Amounts,
    follows_from_spec,
    in_scheduler_units,
    is_infeasible,
    read_amounts,
)
from scheduler_runtime.state.objects.quantity import whole_units
from scheduler_runtime.state.table.affinity_terms import AffinityTerms, ExistingTerms, TermKind, terms_of
from scheduler_runtime.state.table.columns import (
    ChangeLog,
    HostPort,
    Ints,
    LabelColumn,
    Mask,
    ReferenceCounts,
    host_ports,
    requests_or_nothing,
)
from scheduler_runtime.state.table.hypothetical import HypotheticalNode, HypotheticalNodes
from scheduler_runtime.state.table.images import Image
from scheduler_runtime.state.table.node_columns import NodeColumns
from scheduler_runtime.state.table.pod_counts import MatchCounts, PodSelection
from scheduler_runtime.state.table.pod_selectors import SelectorError


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
        return frozenset(self._columns.allocatable).union(self._columns.requested.columns)

    def allocatable(self, resource: str) -> Ints:
        """The amount that each node offers: cpu in thousandths, everything else in whole units."""
        columns = self._columns
        column = columns.allocatable.arrays.get(resource) or columns.allocatable.column(resource) or columns.zeros
        return column.values

    def allocatable_in(self, row: int, resource: str) -> int:
        """The amount that one node offers."""
        columns = self._columns.allocatable
        column = columns.arrays.get(resource)
        return columns.item(resource, row) if column is None else column.values.item(row)

    def requested(self, resource: str) -> Ints:
        """The amount that the pods on each node request."""
        columns = self._columns
        requested = columns.requested.columns
        column = requested.arrays.get(resource) or requested.column(resource) or columns.zeros
        return column.values

    def requested_in(self, row: int, resource: str) -> int:
        """The amount that the pods on one node request."""
        columns = self._columns.requested.columns
        column = columns.arrays.get(resource)
        return columns.item(resource, row) if column is None else column.values.item(row)

    def scored(self, resource: str) -> Ints:
        """As :meth:`requested`, but with 100m and 200Mi for each container that requests no cpu or memory."""
        column = self._columns.scored.get(resource)
        return self.requested(resource) if column is None else column.values

    def scored_in(self, row: int, resource: str) -> int:
        """As :meth:`scored`, for one node."""
        column = self._columns.scored.get(resource)
        return self.requested_in(row, resource) if column is None else column.values.item(row)

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
        ports = self._columns.ports
        users = (ports.columns.column(other) for other in ports.conflicting(port))
        return [column.values for column in users if column is not None]

    def is_port_used(self, row: int, port: HostPort) -> bool:
        """True if a pod on one node binds ``port`` or a port in conflict with it."""
        ports = self._columns.ports
        return any(ports.columns.item(other, row) > 0 for other in ports.conflicting(port))

    def image(self, name: str) -> Image | None:
        """The image called ``name``; None when no node has it."""
        return self._columns.images.get(name)

    def image_rows(self, name: str) -> Mask:
        """The nodes that have the image called ``name``. Raises KeyError when no node has it."""
        return self._columns.images.rows(name)

    def label(self, key: str) -> LabelColumn:
        """The label ``key`` of every node."""
        return self._columns.label(key)

    def few_rows_with(self, key: str) -> list[int] | None:
        """The rows of the nodes with the label ``key``, if they are known to be few; None otherwise."""
        names = self._columns.label_keys.nodes(key)
        if names is None:
            return None if key in self._columns.label_keys else []
        return [self._columns.rows[name] for name in names]

    def has_label(self, key: str) -> bool:
        """True if some node has the label ``key``."""
        return key in self._columns.label_keys

    def match_counts(self, selection: PodSelection) -> MatchCounts:
        """The number of pods of ``selection`` on each node."""
        return self._columns.match_counts.get(selection)

    def match_counts_if_any(self, selection: PodSelection) -> MatchCounts | None:
        """As :meth:`match_counts`, or None if no pod can be selected: then nothing is remembered of ``selection``."""
        return self._columns.match_counts.get_if_any(selection)

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
        # The fields of a TableReader, without calling its ``__init__``: several of these are made in each decision.
        self._columns = table._columns
        self.names = table.names
        self.changes = table.changes
        self.feasible = feasible


class Table(TableReader):
    """The nodes, a row each, and the pods on them.

    Removing a node moves the last row into its place. Caches with a value per row follow ``changes``, the rows on which
    anything changed; it starts over when rows are added or moved.

    Pods and nodes arrive on separate watches, in any interleaving: a pod on a node that is not there yet, or not any
    more, is set aside and counts as soon as the node appears. A quantity that cannot be read counts as nothing: such a
    node offers nothing, such a pod requests nothing.
    """

    names: list[str]

    def __init__(self) -> None:
        super().__init__(NodeColumns())
        self._tracks_uncounted_fields = False
        self._pods_of_unknown_nodes: dict[str, dict[str, Pod]] = {}
        self._nodes_by_resource = ReferenceCounts()
        """The resources that nodes offer."""

    def set_node(self, node: Node) -> None:
        """Add ``node``, or replace the node of its name."""
        columns, name = self._columns, node.metadata.name
        allocatable = allocatable_of(node)
        # The new version counts before the old one is forgotten, or columns of both would be dropped in between.
        columns.label_keys.add_node(name, node.metadata.labels or {})
        self._nodes_by_resource.add(allocatable)
        row = columns.rows.get(name)
        if row is None:
            row = columns.add_row(node)
        else:
            self._forget_node(row)
            columns.nodes[row] = node
        self._write_node(row, node, allocatable)
        for pod in self._pods_of_unknown_nodes.pop(name, {}).values():
            self.add_pod(pod, name)

    def remove_node(self, name: str) -> None:
        """Remove the node called ``name`` and set its pods aside. Raises KeyError when there is none."""
        columns = self._columns
        row = columns.rows[name]
        pods = columns.pods[row]
        if pods:
            self._pods_of_unknown_nodes[name] = pods
        self._forget_node(row)
        # Only these two count users, and drop a column with its last one; ``remove_row`` overwrites all others.
        for pod in pods.values():
            columns.ports.count(row, host_ports(pod), -1)
            columns.requested.remove(row, requests_or_nothing(pod).amounts)
        columns.remove_row(row)

    def add_pod(self, pod: Pod, node_name: str) -> None:
        """Count ``pod`` on the node. Raises ValueError when it is counted there already."""
        row = self._columns.rows.get(node_name)
        pods = self._pods_of_unknown_nodes.setdefault(node_name, {}) if row is None else self._columns.pods[row]
        if pod.metadata.uid in pods:
            raise ValueError(f"pod {pod.key} ({pod.metadata.uid}) is on node {node_name} already")
        counted = _Counted.of(pod)  # also for a node that is not there yet: it raises now, or never
        pods[pod.metadata.uid] = pod
        if row is not None:
            self._count(row, pod, 1, counted)

    def remove_pod(self, pod: Pod, node_name: str) -> Pod:
        """Take back :meth:`add_pod` for the pod of this uid, and return the version of it that was counted.

        Raises KeyError when it is not counted there.
        """
        row = self._columns.rows.get(node_name)
        if row is not None:
            # The version that was counted: the one that the caller has may request something else.
            pods = self._columns.pods[row]
            version = pods[pod.metadata.uid]
            counted = _Counted.of(version)  # before it is taken out: if this raises, the table is as it was
            del pods[pod.metadata.uid]
            self._count(row, version, -1, counted)
            return version
        pods = self._pods_of_unknown_nodes[node_name]
        set_aside = pods.pop(pod.metadata.uid)
        if not pods:
            del self._pods_of_unknown_nodes[node_name]
        return set_aside

    def replace_pod(self, pod: Pod, node_name: str) -> None:
        """Put a newer version of a pod in place of the one with its uid. Raises KeyError when there is none.

        Most versions differ in nothing that is counted: then only the object is replaced, and ``changes`` does not
        mention the row, unless a reader looks at more than is counted.
        """
        row = self._columns.rows.get(node_name)
        pods = self._pods_of_unknown_nodes[node_name] if row is None else self._columns.pods[row]
        # Kubelets write statuses all the time. If each of them counted as a change, no verdict would stay cached.
        if same_for_scheduling(pods[pod.metadata.uid], pod):
            pods[pod.metadata.uid] = pod
            if self._tracks_uncounted_fields and row is not None:
                self.changes.add(row)
        else:
            _Counted.of(pod)  # if this raises, the old version stays
            self.remove_pod(pod, node_name)
            self.add_pod(pod, node_name)

    def track_uncounted_fields(self) -> None:
        """Log in ``changes`` also the pods in which only fields changed that are not counted, such as their phase."""
        self._tracks_uncounted_fields = True

    def hypothetical_node(self, row: int) -> HypotheticalNode:
        """Change the pods on a node for a while, as far as filters see it. To be restored before anything else."""
        columns = self._columns
        return HypotheticalNode(row, columns.pods, columns.pod_counts, columns.requested, columns.ports)

    def hypothetical_nodes(self, rows: NDArray[np.intp]) -> HypotheticalNodes:
        """As :meth:`hypothetical_node` for several nodes at once."""
        columns = self._columns
        return HypotheticalNodes(rows, columns.pods, columns.pod_counts, columns.requested, columns.ports)

    def _write_node(self, row: int, node: Node, allocatable: Amounts) -> None:
        columns = self._columns
        columns.changes.add(row)
        columns.nodes_version += 1
        columns.allocatable.write_row(row, {name: amount for name, amount in allocatable.items() if name != "pods"})
        columns.max_pods.writable[row] = allocatable.get("pods", 0)
        columns.unschedulable.writable[row] = node.spec.unschedulable
        columns.images.add(node.metadata.name, row, node.status.images)
        columns.taints.set(row, node.spec.taints)
        if columns.taints.is_stale:
            columns.taints.rewrite(node.spec.taints for node in columns.nodes)
        columns.features.set(row, node.status.declared_features)
        if columns.features.is_stale:
            columns.features.rewrite(node.status.declared_features for node in columns.nodes)
        labels = node.metadata.labels or {}
        for key, label in list(columns.labels.items()):
            label.set(row, labels.get(key))
            if label.is_stale:
                del columns.labels[key]  # Built anew when it is asked for.

    def _forget_node(self, row: int) -> None:
        """Take back what is counted of the node in a row, and drop the columns that no other node needs."""
        columns = self._columns
        node = columns.nodes[row]
        columns.images.remove(node.metadata.name, row, node.status.images)
        for key in columns.label_keys.remove_node(node.metadata.name, node.metadata.labels or {}):
            columns.labels.pop(key, None)
        for resource in self._nodes_by_resource.remove(allocatable_of(node)):
            columns.allocatable.drop(resource)

    def _count(self, row: int, pod: Pod, sign: int, counted: _Counted | None = None) -> None:
        requests, ports, terms = counted or _Counted.of(pod)
        columns = self._columns
        columns.changes.add(row)
        if sign > 0:
            columns.requested.add(row, requests.amounts)
        else:
            columns.requested.remove(row, requests.amounts)
        columns.scored["cpu"].add(row, sign * requests.scored_cpu)
        columns.scored["memory"].add(row, sign * requests.scored_memory)
        columns.pod_counts.writable[row] += sign
        if ports:
            columns.ports.count(row, ports, sign)
        columns.match_counts.count(row, pod, sign)
        if terms is not None:
            for kind, existing in columns.terms.items():
                existing.count(row, terms.of(kind), sign)


class _Counted(NamedTuple):
    """What a pod counts for on its node, found before anything is written: what raises leaves the table as it was."""

    requests: Requests
    ports: tuple[HostPort, ...]
    terms: AffinityTerms | None

    @classmethod
    def of(cls, pod: Pod) -> _Counted:
        terms = None
        if pod.spec.affinity is not None:
            # As upstream (NodeInfo.AddPod): terms that cannot be read bind nobody.
            with contextlib.suppress(SelectorError):
                terms = terms_of(pod)
        return cls(pod.derived or requests_or_nothing(pod), host_ports(pod), terms)


def allocatable_of(node: Node) -> Amounts:
    """The amounts that ``node`` offers, ``pods`` included; nothing at all when its allocatable cannot be read."""
    try:
        amounts = read_amounts(node.status.allocatable, "status.allocatable")
    except QuantityError:
        return {}
    return {"pods": whole_units(amounts.get("pods", 0)), **in_scheduler_units(amounts)}


def same_for_scheduling(old: Pod, new: Pod) -> bool:
    """True if two versions of a pod count the same on their node.

    If so, what was derived from the old version is handed on to the new one.
    """
    if old.spec is not new.spec and (
        old.spec.containers != new.spec.containers
        or old.spec.affinity != new.spec.affinity
        or old.spec.init_containers != new.spec.init_containers
        or old.spec.overhead != new.spec.overhead
        or old.spec.resources != new.spec.resources
    ):
        return False
    if (
        old.metadata.labels != new.metadata.labels
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or (old.status != new.status and _may_differ_in_requests(old, new))
    ):
        return False
    if new.derived is None and old.derived is not None:
        force_setattr(new, "derived", old.derived)
    if new.terms is None and old.terms is not None:
        force_setattr(new, "terms", old.terms)
    return True


def _may_differ_in_requests(old: Pod, new: Pod) -> bool:
    """True if the requests of two versions may differ though their specs agree: one was resized in place."""
    before, after = old.status, new.status
    if follows_from_spec(before) and follows_from_spec(after):
        return False
    # Both were added up, and to the same: as when a pod starts to run with exactly what it requested.
    if new.derived is not None and new.derived is not old.derived and new.derived == old.derived:
        return False
    return (
        before.container_statuses != after.container_statuses
        or before.init_container_statuses != after.init_container_statuses
        or before.resources != after.resources
        or before.allocated_resources != after.allocated_resources
        or is_infeasible(old) != is_infeasible(new)
    )
