"""Which nodes count for a constraint, and in which domain each of them is. It changes with the nodes only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import LabelColumn, Mask, NodeTable
from scheduler_runtime.plugins.matching import keeps_away, labelled_rows, matching_rows
from scheduler_runtime.plugins.podtopologyspread.constraints import Constraint
from scheduler_runtime.state.objects import NodeAffinity, Pod, Toleration

Places = NDArray[np.intp]
"""For each node the place of its domain in a list of domains."""


@dataclass(frozen=True, slots=True)
class NodeScope:
    """What decides which nodes count: kinds of pods for which it is equal share their ground."""

    key: str
    """The label whose values are the domains."""
    required: tuple[str, ...]
    """Labels without which a node is left out altogether."""
    labels: tuple[tuple[str, str], ...] = ()
    affinity: NodeAffinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    """None when taints are not looked at."""
    comparing: bool = False
    """Whether tolerations may compare numbers."""


def scope_of(constraint: Constraint, required: Sequence[str], pod: Pod, *, comparing: bool) -> NodeScope:
    """The scope of one of the constraints of ``pod``."""
    labels: tuple[tuple[str, str], ...] = ()
    affinity = None
    if constraint.honors_affinity:
        labels = tuple(sorted((pod.spec.node_selector or {}).items()))
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    tolerations = pod.spec.tolerations if constraint.honors_taints else None
    return NodeScope(constraint.key, tuple(required), labels, affinity, tolerations, comparing)


class EligibleDomains:
    """The nodes of a scope, as of the last :meth:`refresh`."""

    def __init__(self, scope: NodeScope) -> None:
        self.scope = scope
        self.generation = 0
        """Grows when any of the following was found anew."""
        self.lacking: Mask | None = None
        """The nodes without the label; None when all have it."""
        self.out: Mask | None = None
        """The nodes without one of the required labels; None when all have them."""
        self.eligible: Mask = np.zeros(0, np.bool_)
        """The nodes whose pods count."""
        self.places: Places = np.zeros(0, np.intp)
        """The domain of each node. One more than the last stands for all domains that do not count."""
        self.size = 0
        """How many domains count."""
        self._version = -1
        self._label: LabelColumn | None = None

    def refresh(self, nodes: NodeTable) -> None:
        """Be true of ``nodes``."""
        label = nodes.label(self.scope.key)
        # The version alone could be that of another table; a column belongs to one table.
        if self._version != nodes.nodes_version or self._label is not label:
            self._version, self._label = nodes.nodes_version, label
            self.generation += 1
            self._find(nodes, label)

    def _find(self, nodes: NodeTable, label: LabelColumn) -> None:
        self.lacking = _some(~label.exists())
        self.out = _some(~_having_all(self.scope.required, nodes))
        self.eligible = _eligible(self.scope, nodes)
        if self.out is not None:
            self.eligible &= ~self.out
        self.places, self.size = self._domains(label)

    def _domains(self, label: LabelColumn) -> tuple[Places, int]:
        """Only domains with a node that counts are domains: among them the emptiest is looked for."""
        return _numbered(label.ids, len(label.values) + 1, self.eligible)


class ScoredDomains(EligibleDomains):
    """As for scoring: a domain is a domain by its candidates, whether or not their pods count.

    Without required labels, upstream takes a node without the label for one whose value is the empty text.
    """

    def __init__(self, scope: NodeScope) -> None:
        super().__init__(scope)
        self._witnesses: Places = np.zeros(0, np.intp)

    def _domains(self, label: LabelColumn) -> tuple[Places, int]:
        ids = label.ids
        if "" in label.values:
            ids = np.where(ids == 0, np.int32(label.values.index("") + 1), ids)
        inside = np.ones(len(ids), np.bool_) if self.out is None else ~self.out
        places, size = _numbered(ids, len(label.values) + 1, inside)
        self._witnesses = np.zeros(size + 1, np.intp)
        return places, size

    def domains_among(self, candidates: Mask, number: int) -> int:
        """In how many domains the ``number`` candidates are."""
        if number == len(candidates):
            return self.size
        witnesses = self._witnesses[: self.size]
        if not (candidates[witnesses] & (self.places[witnesses] == np.arange(self.size))).all():
            rows = np.flatnonzero(candidates)
            self._witnesses[self.places[rows]] = rows
            seen = np.zeros(self.size + 1, np.bool_)
            seen[self.places[rows]] = True
            return int(np.count_nonzero(seen[: self.size]))
        return self.size


def _numbered(ids: NDArray[np.int32], values: int, inside: Mask) -> tuple[Places, int]:
    """Number the values that occur ``inside`` from 0 on; every other one gets the number after the last."""
    occurs = np.zeros(values, np.bool_)
    occurs[ids[inside]] = True
    size = int(np.count_nonzero(occurs))
    numbers = np.where(occurs, np.cumsum(occurs) - 1, size)
    places: Places = numbers[ids]
    return places, size


def _some(rows: Mask) -> Mask | None:
    return rows if np.count_nonzero(rows) else None


def _having_all(keys: Sequence[str], nodes: NodeTable) -> Mask:
    found = np.ones(len(nodes), np.bool_)
    for key in keys:
        found &= nodes.label(key).exists()
    return found


def _eligible(scope: NodeScope, nodes: NodeTable) -> Mask:
    """The nodes that the pod's own selector, affinity and tolerations allow, as far as they are looked at."""
    allowed = labelled_rows(dict(scope.labels), nodes)
    if scope.affinity is not None and scope.affinity.required is not None:
        allowed &= matching_rows(scope.affinity.required, nodes)
    if scope.tolerations is not None:
        away = [keeps_away(taints, scope.tolerations, comparing=scope.comparing) for taints in nodes.taint_sets]
        allowed &= ~np.array(away, np.bool_)[nodes.taint_set_ids]
    return allowed
