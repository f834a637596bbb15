"""Domains of a spread constraint: the nodes that count, the domain of each, and the pods in each domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import Ints, LabelColumn, Mask, NodeTable
from scheduler_runtime.plugins.matching import keeps_away, labelled_rows, matching_rows
from scheduler_runtime.plugins.podtopologyspread.constraints import Constraint
from scheduler_runtime.state.objects import NodeAffinity, Pod, Toleration
from scheduler_runtime.state.table import MatchCounts

DomainIds = NDArray[np.intp]
"""For each node the number of its domain."""
_NO_IDS: DomainIds = np.zeros(0, np.intp)
_NO_PODS: Ints = np.zeros(1, np.int64)
_MAX_CHANGES = 128
"""Up to so many changes are applied one by one; adding up all nodes anew is quicker than more."""


@dataclass(frozen=True, slots=True)
class NodeScope:
    """All that decides which nodes count. Constraints of equal scopes share what is known of the nodes."""

    required: tuple[str, ...]
    """Labels without which a node is left out altogether."""
    labels: tuple[tuple[str, str], ...] = ()
    affinity: NodeAffinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    """None when taints do not matter."""
    comparing: bool = False
    """True if tolerations may compare numbers."""


def scope_of(constraint: Constraint, required: tuple[str, ...], pod: Pod, *, comparing: bool) -> NodeScope:
    """The scope of one of the constraints of ``pod``."""
    labels: tuple[tuple[str, str], ...] = ()
    affinity = None
    if constraint.honors_affinity:
        labels = tuple(sorted((pod.spec.node_selector or {}).items()))
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    tolerations = pod.spec.tolerations if constraint.honors_taints else None
    return NodeScope(required, labels, affinity, tolerations, comparing)


class EligibleNodes:
    """The nodes of a scope, as of the last :meth:`refresh`.

    A pod has one of these for all its constraints, or a few: what all of them require is not looked at for each.
    """

    __slots__ = ("_names", "_scope", "_version", "eligible", "generation", "requires_labels", "without_required")

    def __init__(self, scope: NodeScope) -> None:
        self._scope = scope
        self.requires_labels = bool(scope.required)
        """Whether the labels of all constraints are required."""
        self.generation = 0
        """Grows with each change of the following."""
        self.without_required: Mask | None = None
        """The nodes without one of the required labels; None when all have them."""
        self.eligible: Mask = np.zeros(0, np.bool_)
        """The nodes whose pods count."""
        self._version = -1
        self._names: Sequence[str] = ()

    def refresh(self, nodes: NodeTable) -> None:
        """Bring everything up to date with ``nodes``."""
        # The version alone could be that of another table; the list of names belongs to one table.
        if self._version == nodes.nodes_version and self._names is nodes.names:
            return
        self._version, self._names = nodes.nodes_version, nodes.names
        self.generation += 1
        has_required = self._with_labels(nodes)
        self.without_required = _none_if_empty(~has_required)
        self.eligible = self._allowed(nodes) & has_required

    def _with_labels(self, nodes: NodeTable) -> Mask:
        """The nodes with all required labels. Users may require thousands, which no node has, or few have."""
        rows = np.ones(len(nodes), np.bool_)
        few: set[int] | None = None
        for key in self._scope.required:
            few_rows = nodes.few_rows_with(key)
            if few_rows is None:
                rows &= nodes.label(key).exists()
                if np.count_nonzero(rows):
                    continue
            else:
                few = set(few_rows) if few is None else few.intersection(few_rows)
                if few:
                    continue
            return np.zeros(len(nodes), np.bool_)
        if few is not None:
            others = np.ones(len(nodes), np.bool_)
            others[list(few)] = False
            rows &= ~others
        return rows

    def _allowed(self, nodes: NodeTable) -> Mask:
        """The nodes that the pod's selector, affinity and tolerations allow, as far as the constraint honors them."""
        scope = self._scope
        allowed = labelled_rows(dict(scope.labels), nodes)
        if scope.affinity is not None and scope.affinity.required is not None:
            allowed &= matching_rows(scope.affinity.required, nodes)
        if scope.tolerations is not None:
            repels = [keeps_away(taints, scope.tolerations, comparing=scope.comparing) for taints in nodes.taint_sets]
            allowed &= ~np.array(repels, np.bool_)[nodes.taint_set_ids]
        return allowed


class EligibleDomains:
    """The values of the label ``key``, as of the last :meth:`refresh`. They change with the nodes only."""

    __slots__ = ("few_rows", "generation", "ids", "key", "nodes", "size", "without_label")

    def __init__(self, key: str, nodes: EligibleNodes) -> None:
        self.key = key
        self.nodes = nodes
        self.without_label: Mask | None = None
        """The nodes without the label; None when all have it."""
        self.ids: DomainIds = _NO_IDS
        """The domain of each node. One more than the last stands for all domains that do not count."""
        self.size = 0
        """Number of domains that count."""
        self.few_rows: list[int] | None = None
        """The nodes with the label, if these are few and no other counts: then these alone are looked at."""
        self.generation = -1
        """Of ``nodes``, when this was brought up to date."""

    def refresh(self, nodes: NodeTable) -> None:
        """Bring everything up to date with ``nodes``."""
        self.nodes.refresh(nodes)
        if self.generation == self.nodes.generation:
            return
        self.generation = self.nodes.generation
        self.few_rows = nodes.few_rows_with(self.key) if self.nodes.requires_labels else None
        if self.few_rows is None:
            label = nodes.label(self.key)
            self.without_label = _none_if_empty(~label.exists())
            self.ids, self.size = self._number(label)
        else:
            without_label = np.ones(len(nodes), np.bool_)
            without_label[self.few_rows] = False
            self.without_label = without_label if len(self.few_rows) < len(nodes) else None
            self.ids, self.size = self._number_few(self.few_rows, nodes)

    def _number(self, label: LabelColumn) -> tuple[DomainIds, int]:
        """Only values of nodes that count are domains: among them the emptiest is looked for."""
        return _number_domains(label.ids, len(label.values) + 1, self.nodes.eligible)

    def _number_few(self, rows: Sequence[int], nodes: NodeTable) -> tuple[DomainIds, int]:
        """As :meth:`_number`, where only these ``rows`` have the label, and no others are inside."""
        values = [nodes.node(row).labels[self.key] for row in rows]
        numbers: dict[str, int] = {}
        for row, value in zip(rows, values, strict=True):
            if self._is_inside(row):
                numbers.setdefault(value, len(numbers))
        size = len(numbers)
        ids: DomainIds = np.full(len(nodes), size, np.intp)
        for row, value in zip(rows, values, strict=True):
            ids[row] = numbers.get(value, size)
        return ids, size

    def _is_inside(self, row: int) -> bool:
        """True if the value of this node is a domain."""
        return bool(self.nodes.eligible.item(row))


class ScoredDomains(EligibleDomains):
    """Domains for scoring: the value of any candidate is a domain, whether or not the candidate's pods count.

    Without required labels, upstream takes a node without the label for one whose value is the empty text.
    """

    __slots__ = ("_witnesses",)

    def __init__(self, key: str, nodes: EligibleNodes) -> None:
        super().__init__(key, nodes)
        self._witnesses: DomainIds = _NO_IDS
        """For each domain a row that was a candidate in it the last time."""

    def _number(self, label: LabelColumn) -> tuple[DomainIds, int]:
        label_ids = label.ids
        if "" in label.values:
            label_ids = np.where(label_ids == 0, np.int32(label.values.index("") + 1), label_ids)
        without_required = self.nodes.without_required
        inside = np.ones(len(label_ids), np.bool_) if without_required is None else ~without_required
        ids, size = _number_domains(label_ids, len(label.values) + 1, inside)
        self._witnesses = np.zeros(size + 1, np.intp)
        return ids, size

    def _is_inside(self, row: int) -> bool:
        without_required = self.nodes.without_required
        return without_required is None or not without_required.item(row)

    def count_among(self, candidates: Mask, number: int) -> int:
        """The number of domains that the ``number`` candidates are in."""
        if number == len(candidates):
            return self.size
        if self.few_rows is not None:
            ids = {self.ids.item(row) for row in self.few_rows if candidates.item(row)}
            return len(ids - {self.size})
        # Mostly each domain still has a candidate where it had one the last time: looking there takes a step per
        # domain and not per node.
        witnesses = self._witnesses[: self.size]
        if (candidates[witnesses] & (self.ids[witnesses] == np.arange(self.size))).all():
            return self.size
        rows = np.flatnonzero(candidates)
        self._witnesses[self.ids[rows]] = rows
        has_candidate = np.zeros(self.size + 1, np.bool_)
        has_candidate[self.ids[rows]] = True
        return int(np.count_nonzero(has_candidate[: self.size]))


def _number_domains(label_ids: NDArray[np.int32], values: int, inside: Mask) -> tuple[DomainIds, int]:
    """Number the values that occur ``inside`` from 0 on; every other one gets the number after the last."""
    occurs = np.zeros(values, np.bool_)
    occurs[label_ids[inside]] = True
    size = int(np.count_nonzero(occurs))
    numbers = np.where(occurs, np.cumsum(occurs) - 1, size)
    ids: DomainIds = numbers[label_ids]
    return ids, size


def _none_if_empty(rows: Mask) -> Mask | None:
    return rows if np.count_nonzero(rows) else None


class DomainCounts:
    """The number of pods in each domain of one constraint, updated from one pod of a kind to the next."""

    __slots__ = ("_generation", "_position", "by_domain", "by_node", "constraint", "domains")

    def __init__(self, constraint: Constraint, domains: EligibleDomains) -> None:
        self.constraint = constraint
        self.domains = domains
        self.by_node: MatchCounts | None = None
        """The pods that are counted, by node; None when the constraint counts none."""
        self.by_domain: Ints = _NO_PODS
        """The pods that are counted, by domain; the last number is for all domains that do not count."""
        self._generation = -1
        self._position = 0

    def refresh(self, nodes: NodeTable) -> None:
        """Bring everything up to date with ``nodes`` and the pods on them."""
        domains = self.domains
        domains.refresh(nodes)
        counted = self.constraint.counted
        by_node = None if counted is None else nodes.match_counts(counted)
        if domains.generation != self._generation or by_node is not self.by_node:
            self._generation, self.by_node = domains.generation, by_node
            self._add_up()
        elif by_node is not None and by_node.position != self._position:
            changes = by_node.changes_since(self._position)
            if changes is None or len(changes) > _MAX_CHANGES:
                self._add_up()
                return
            eligible, ids, by_domain = domains.nodes.eligible, domains.ids, self.by_domain
            for row, change in changes:
                if eligible.item(row):
                    by_domain[ids.item(row)] += change
            self._position = by_node.position

    def _add_up(self) -> None:
        domains, by_node = self.domains, self.by_node
        if by_node is None:
            self.by_domain = np.zeros(domains.size + 1, np.int64)
            return
        inside = domains.nodes.eligible
        if domains.few_rows is not None:
            self.by_domain = np.zeros(domains.size + 1, np.int64)
            for row in domains.few_rows:
                if inside.item(row):
                    self.by_domain[domains.ids.item(row)] += by_node.item(row)
            self._position = by_node.position
            return
        sums = np.bincount(domains.ids[inside], by_node.counts[inside], domains.size + 1)
        self.by_domain = sums.astype(np.int64)
        self._position = by_node.position
