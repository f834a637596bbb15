"""All nodes as columns: written by the cache as it hears of changes, read by the plugins."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.state.objects import Node, Pod, QuantityError, Taint
from scheduler_runtime.state.objects.pod_requests import Amounts, counted, read_amounts
from scheduler_runtime.state.table.affinity_terms import TERM_KINDS, PodTerms, TermKind, Terms, terms_of
from scheduler_runtime.state.table.change_log import ChangeLog
from scheduler_runtime.state.table.columns import Column, InternedColumn, Ints, LabelColumn, Mask, WrittenLabels
from scheduler_runtime.state.table.hypothetical_row import HypotheticalNode
from scheduler_runtime.state.table.hypothetical_rows import HypotheticalNodes
from scheduler_runtime.state.table.images import Image, Images
from scheduler_runtime.state.table.pod_counts import MatchCounts, MatchCountsCache, PodSelection
from scheduler_runtime.state.table.pod_equivalence import counts_alike
from scheduler_runtime.state.table.pod_selectors import SelectorError
from scheduler_runtime.state.table.ports import HostPort, Ports, host_ports
from scheduler_runtime.state.table.priorities import LowestPriorities
from scheduler_runtime.state.table.reference_counts import ReferenceCounts
from scheduler_runtime.state.table.requested import Requested, requests_of

_FIRST_CAPACITY = 64


class Table:
    """The nodes, a row each, and the pods on them.

    Rows are in no order that means anything: removing a node moves the last row into its place.
    Whoever keeps something per row follows ``changes``: the rows on which anything changed; it starts over when rows
    are added or moved. ``nodes_version`` changes with the nodes' own data and the rows, and not with the pods on them.
    A pod on a node that is not there is kept aside and counts as soon as the node appears.
    A quantity that cannot be read counts as nothing: such a node offers nothing, such a pod takes nothing.
    """

    def __init__(self) -> None:
        self.changes: ChangeLog[int] = ChangeLog()
        self.nodes_version = 0
        self.tracks_uncounted_fields = False
        """Set once somebody who follows ``changes`` looks at fields of pods that are not counted, such as phases."""
        self.names: list[str] = []
        self._rows: dict[str, int] = {}
        self._nodes: list[Node] = []
        self._pods: list[dict[str, Pod]] = []
        self._aside: dict[str, dict[str, Pod]] = {}
        self._capacity = _FIRST_CAPACITY
        self._allocatable: dict[str, Column] = {}
        self._offering = ReferenceCounts()
        self._requested = Requested(lambda: self._new(np.int64))
        self._scored = {"cpu": self._new(np.int64), "memory": self._new(np.int64)}
        self._pod_counts = self._new(np.int64)
        self._max_pods = self._new(np.int64)
        self._unschedulable = self._new(np.bool_)
        self._taints: InternedColumn[tuple[Taint, ...]] = InternedColumn(self._new(np.int64))
        self._features: InternedColumn[tuple[str, ...]] = InternedColumn(self._new(np.int64))
        self._images = Images(self._new, self.row)
        self._ports = Ports(lambda: self._new(np.int64))
        self._zeros = self._new(np.int64)
        self._lowest = LowestPriorities(self._pods, self.changes, lambda: self._new(np.int64))
        self._labels: dict[str, WrittenLabels] = {}
        self._label_uses = ReferenceCounts()
        self._absent = WrittenLabels((), 0, 0)
        self._censuses = MatchCountsCache(self._new_census, self._pods)
        self._terms: dict[TermKind, Terms] = {kind: Terms(self._new_census) for kind in TERM_KINDS}

    # What is read.

    def __len__(self) -> int:
        return len(self.names)

    def row(self, name: str) -> int | None:
        """The row of the node called ``name``, until rows move."""
        return self._rows.get(name)

    def node(self, row: int) -> Node:
        """The node in a row."""
        return self._nodes[row]

    def pods(self, row: int) -> Collection[Pod]:
        """The pods on the node in a row."""
        return self._pods[row].values()

    @property
    def resources(self) -> frozenset[str]:
        """Every resource that some node offers or some pod on a node asks for."""
        return frozenset(self._allocatable) | frozenset(self._requested.columns)

    def allocatable(self, resource: str) -> Ints:
        """How much each node offers: cpu in thousandths, everything else in whole units."""
        return self._allocatable.get(resource, self._zeros).shown

    def requested(self, resource: str) -> Ints:
        """How much of it the pods on each node have asked for."""
        return self._requested.columns.get(resource, self._zeros).shown

    def scored(self, resource: str) -> Ints:
        """As :meth:`requested`, but counting 100m and 200Mi for each container that names no cpu or memory."""
        column = self._scored.get(resource)
        return self.requested(resource) if column is None else column.shown

    @property
    def pod_counts(self) -> Ints:
        """How many pods each node has."""
        return self._pod_counts.shown

    @property
    def lowest_priorities(self) -> Ints:
        """The priority of the least important pod of each node; more than any priority where there is none."""
        return self._lowest.read()

    @property
    def max_pods(self) -> Ints:
        """How many pods each node takes."""
        return self._max_pods.shown

    @property
    def unschedulable(self) -> Mask:
        """The nodes that are cordoned."""
        return self._unschedulable.shown

    @property
    def taint_sets(self) -> Sequence[tuple[Taint, ...]]:
        """The different lists of taints that nodes have, or had."""
        return self._taints.values

    @property
    def taint_set_ids(self) -> Ints:
        """Which of :attr:`taint_sets` each node has."""
        return self._taints.column.shown

    @property
    def feature_sets(self) -> Sequence[tuple[str, ...]]:
        """The different lists of features that nodes declare, or declared."""
        return self._features.values

    @property
    def feature_set_ids(self) -> Ints:
        """Which of :attr:`feature_sets` each node has."""
        return self._features.column.shown

    def port_users(self, port: HostPort) -> Sequence[Ints]:
        """How many pods on each node bind ``port``, or what conflicts with it; an array for each address."""
        return self._ports.users(port)

    def image(self, name: str) -> Image | None:
        """The image called ``name``, if some node has it."""
        return self._images.find(name)

    def image_rows(self, name: str) -> Mask:
        """The nodes that have the image called ``name``, which is one that some node has."""
        return self._images.rows(name)

    def label(self, key: str) -> LabelColumn:
        """The label ``key`` of every node."""
        column = self._labels.get(key)
        if column is not None:
            return column
        if key not in self._label_uses:
            return self._absent  # Keys that only pods speak of take no room.
        column = WrittenLabels((node.labels.get(key) for node in self._nodes), len(self), self._capacity)
        self._labels[key] = column
        return column

    def census(self, population: PodSelection) -> MatchCounts:
        """How many pods of ``population`` are on each node."""
        return self._censuses.get(population)

    def terms(self, kind: TermKind) -> Terms:
        """The affinity terms of one kind that pods on nodes hold."""
        return self._terms[kind]

    # What is written.

    def set_node(self, node: Node) -> None:
        """Add ``node``, or put it in the place of the one with its name."""
        self._label_uses.add(node.labels)  # First, so that what both versions have is not dropped in between.
        self._offering.add(offered_by(node))
        row = self._rows.get(node.name)
        if row is None:
            row = self._add_row(node)
        else:
            self._forget_node(row)
            self._nodes[row] = node
        self._write_node(row, node)
        for pod in self._aside.pop(node.name, {}).values():
            self.add_pod(pod, node.name)

    def remove_node(self, name: str) -> None:
        """Forget the node called ``name``; its pods are kept aside. Raises KeyError when there is none."""
        row = self._rows[name]
        if self._pods[row]:
            self._aside[name] = self._pods[row]
        self._forget_node(row)
        for pod in self._pods[row].values():
            self._ports.count(row, host_ports(pod), -1)
            self._requested.remove(row, requests_of(pod).amounts)
            self._censuses.refile(row, pod, -1)
        last = len(self) - 1
        if row < last:
            for pod in self._pods[last].values():
                self._censuses.refile(last, pod, -1)
                self._censuses.refile(row, pod, 1)
        for column in self._columns():
            column.all[row] = column.all[last]
            column.all[last] = 0
        for label in self._labels.values():
            label.move(last, row)
        for census in self._all_censuses():
            census.move(last, row)
        for terms in self._terms.values():
            terms.end_of_row()
        self.names[row] = self.names[last]
        self._nodes[row] = self._nodes[last]
        self._pods[row] = self._pods[last]
        del self.names[last], self._nodes[last], self._pods[last], self._rows[name]
        if row < last:
            self._rows[self.names[row]] = row
        self._resize()

    def add_pod(self, pod: Pod, node_name: str) -> None:
        """Count ``pod`` on the node. Raises ValueError when it is counted there already."""
        row = self._rows.get(node_name)
        pods = self._aside.setdefault(node_name, {}) if row is None else self._pods[row]
        if pod.uid in pods:
            raise ValueError(f"pod {pod.key} ({pod.uid}) is on node {node_name} already")
        pods[pod.uid] = pod
        if row is not None:
            self._count(row, pod, 1)

    def remove_pod(self, pod: Pod, node_name: str) -> Pod:
        """Take back what :meth:`add_pod` counted for the pod of this uid, and return the version that it counted.

        Raises KeyError when it did not.
        """
        row = self._rows.get(node_name)
        if row is not None:
            counted_so_far = self._pods[row].pop(pod.uid)
            self._count(row, counted_so_far, -1)
            return counted_so_far
        pods = self._aside[node_name]
        kept_aside = pods.pop(pod.uid)
        if not pods:
            del self._aside[node_name]
        return kept_aside

    def hypothetical_node(self, row: int) -> HypotheticalNode:
        """Change the pods on a node for a while, as far as filters see it; to be put back before anything else."""
        return HypotheticalNode(row, self._pods, self._pod_counts, self._requested, self._ports)

    def hypothetical_nodes(self, rows: NDArray[np.intp]) -> HypotheticalNodes:
        """As :meth:`try_row` for several nodes at once."""
        return HypotheticalNodes(rows, self._pods, self._pod_counts, self._requested, self._ports)

    def replace_pod(self, pod: Pod, node_name: str) -> None:
        """Put a newer version of a pod in the place of the one of its uid. Raises KeyError when there is none.

        Most versions differ in nothing that counts: then nothing changes but the object, and ``changes`` tells of it
        only where somebody looks at more than what is counted.
        """
        row = self._rows.get(node_name)
        pods = self._aside[node_name] if row is None else self._pods[row]
        if counts_alike(pods[pod.uid], pod):
            pods[pod.uid] = pod
            if self.tracks_uncounted_fields and row is not None:
                self.changes.add(row)
        else:
            self.remove_pod(pod, node_name)
            self.add_pod(pod, node_name)

    # How it is written.

    def _new(self, dtype: type) -> Column:
        return Column(dtype, len(self.names), self._capacity)

    def _new_census(self) -> MatchCounts:
        return MatchCounts(lambda: self._new(np.int64), self.label, lambda: self.nodes_version)

    def _all_censuses(self) -> Iterator[MatchCounts]:
        yield from self._censuses
        for terms in self._terms.values():
            for held in terms:
                yield held.census

    def _columns(self) -> Iterator[Column]:
        yield from self._allocatable.values()
        yield from self._requested.columns.values()
        yield from self._scored.values()
        yield from (self._pod_counts, self._max_pods, self._unschedulable, self._zeros)
        yield from (self._taints.column, self._features.column)
        yield from self._images
        yield from self._ports

    def _add_row(self, node: Node) -> int:
        row = self._rows[node.name] = len(self)
        self.names.append(node.name)
        self._nodes.append(node)
        self._pods.append({})
        self._resize()
        return row

    def _resize(self) -> None:
        self.changes.start_over()
        self.nodes_version += 1
        if len(self) > self._capacity:
            self._capacity *= 2
        for column in self._columns():
            column.resize(len(self), self._capacity)
        for label in (*self._labels.values(), self._absent):
            label.resize(len(self), self._capacity)
        for census in self._all_censuses():
            census.resize(len(self), self._capacity)

    def _write_node(self, row: int, node: Node) -> None:
        self.changes.add(row)
        self.nodes_version += 1
        offered = offered_by(node)
        for resource in offered.keys() - self._allocatable.keys() - {"pods"}:
            self._allocatable[resource] = self._new(np.int64)
        for resource, column in self._allocatable.items():
            column.all[row] = offered.get(resource, 0)
        self._max_pods.all[row] = offered.get("pods", 0)
        self._unschedulable.all[row] = node.spec.unschedulable
        self._images.add(node.name, row, node.status.images)
        self._write_distinct(row, node)
        for key, label in list(self._labels.items()):
            label.set(row, node.labels.get(key))
            if label.is_stale:
                del self._labels[key]  # Built anew when it is asked for.

    def _forget_node(self, row: int) -> None:
        node = self._nodes[row]
        self._images.remove(node.name, row, node.status.images)
        for key in self._label_uses.remove(node.labels):
            self._labels.pop(key, None)
        for resource in self._offering.remove(offered_by(node)):
            self._allocatable.pop(resource, None)

    def _write_distinct(self, row: int, node: Node) -> None:
        self._taints.set(row, node.spec.taints)
        if self._taints.is_stale:
            self._taints.write(each.spec.taints for each in self._nodes)
        self._features.set(row, node.status.declared_features)
        if self._features.is_stale:
            self._features.write(each.status.declared_features for each in self._nodes)

    def _count(self, row: int, pod: Pod, sign: int) -> None:
        self.changes.add(row)
        requests = requests_of(pod)
        if sign > 0:
            self._requested.add(row, requests.amounts)
        else:
            self._requested.remove(row, requests.amounts)
        self._scored["cpu"].add(row, sign * requests.scored_cpu)
        self._scored["memory"].add(row, sign * requests.scored_memory)
        self._pod_counts.all[row] += sign
        ports = host_ports(pod)
        if ports:
            self._ports.count(row, ports, sign)
        self._censuses.count(row, pod, sign)
        if pod.spec.affinity is not None:
            self._count_terms(row, pod, sign)

    def _count_terms(self, row: int, pod: Pod, sign: int) -> None:
        try:
            terms = terms_of(pod)
        except SelectorError:
            terms = PodTerms()  # As upstream: what cannot be read binds nobody.
        for kind, held in self._terms.items():
            held.count(row, terms.of(kind), sign)


def offered_by(node: Node) -> Amounts:
    """What ``node`` offers, ``pods`` included; nothing at all when its allocatable cannot be read."""
    try:
        written = read_amounts(node.status.allocatable, "status.allocatable")
    except QuantityError:
        return {}
    return {"pods": written.get("pods", 0) // 1000, **counted(written)}
