"""Affinity terms of the pods on nodes: each distinct term once, with the number of pods on each node that have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from msgspec.structs import force_setattr

from scheduler_runtime.state.objects import Pod, PodAffinityTerm, PodAffinityTerms
from scheduler_runtime.state.table.columns import ReferenceCounts
from scheduler_runtime.state.table.pod_counts import MatchCounts
from scheduler_runtime.state.table.pod_selectors import (
    NO_LABELS,
    LabelIndex,
    Requirements,
    SelectorError,
    all_hold,
    cache_hash,
    read_requirements,
)

TermKind = Literal["required_affinity", "required_anti_affinity", "preferred"]
TERM_KINDS: Final[tuple[TermKind, ...]] = ("required_affinity", "required_anti_affinity", "preferred")

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@cache_hash
@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """The pods that a term selects, and the node label by which two nodes are near each other."""

    namespaces: frozenset[str]
    namespace_requirements: Requirements | None
    """Namespaces beside ``namespaces``, by their labels; None for no others."""
    requirements: Requirements | None
    """None: no pod at all."""
    topology_key: str
    _hash: int = field(init=False, repr=False, compare=False)

    def selects(self, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
        """True if the term selects ``pod``, whose namespace has these labels."""
        if self.requirements is None:
            return False
        if pod.metadata.namespace not in self.namespaces and (
            self.namespace_requirements is None or not all_hold(self.namespace_requirements, namespace_labels)
        ):
            return False
        return all_hold(self.requirements, pod.metadata.labels or NO_LABELS)


WeightedTerm = tuple[AffinityTerm, int]
"""A term and the points it gives; negative where pods should be apart. A required term has 0."""


@cache_hash
@dataclass(frozen=True, slots=True)
class AffinityTerms:
    """All affinity terms of one pod."""

    required_affinity: tuple[WeightedTerm, ...] = ()
    required_anti_affinity: tuple[WeightedTerm, ...] = ()
    preferred: tuple[WeightedTerm, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def of(self, kind: TermKind) -> tuple[WeightedTerm, ...]:
        """The terms of one kind."""
        terms: tuple[WeightedTerm, ...] = getattr(self, kind)
        return terms


_NO_TERMS = AffinityTerms()


def terms_of(pod: Pod) -> AffinityTerms:
    """The terms of ``pod``, read once for all pods with its spec and namespace.

    Raises SelectorError naming the field that cannot be read.
    """
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return _NO_TERMS
    by_namespace = pod.terms
    if by_namespace is None:
        by_namespace = {}
        force_setattr(pod, "terms", by_namespace)
    terms: AffinityTerms | None = by_namespace.get(pod.metadata.namespace)
    if terms is None:
        near, apart = affinity.pod_affinity or PodAffinityTerms(), affinity.pod_anti_affinity or PodAffinityTerms()
        terms = by_namespace[pod.metadata.namespace] = AffinityTerms(
            tuple(_read_required(pod, near, "spec.affinity.podAffinity")),
            tuple(_read_required(pod, apart, "spec.affinity.podAntiAffinity")),
            (
                *_read_preferred(pod, near, "spec.affinity.podAffinity", 1),
                *_read_preferred(pod, apart, "spec.affinity.podAntiAffinity", -1),
            ),
        )
    return terms


def _read_required(pod: Pod, terms: PodAffinityTerms, path: str) -> Iterator[WeightedTerm]:
    for index, term in enumerate(terms.required):
        yield _read_term(pod, term, f"{path}.{_REQUIRED}[{index}]"), 0


def _read_preferred(pod: Pod, terms: PodAffinityTerms, path: str, sign: int) -> Iterator[WeightedTerm]:
    for index, weighted in enumerate(terms.preferred):
        term = _read_term(pod, weighted.pod_affinity_term, f"{path}.{_PREFERRED}[{index}].podAffinityTerm")
        yield term, sign * weighted.weight


def _read_term(pod: Pod, term: PodAffinityTerm, path: str) -> AffinityTerm:
    # A term that names no namespaces in either way is about those of the pod's own namespace.
    is_own_namespace = not term.namespaces and term.namespace_selector is None
    field_path = f"{path}.labelSelector"
    try:
        requirements = read_requirements(term.label_selector)
        field_path = f"{path}.namespaceSelector"
        namespace_requirements = read_requirements(term.namespace_selector)
    except SelectorError as error:
        raise SelectorError(field_path + error.path, error.reason) from None
    namespaces = frozenset((pod.metadata.namespace,)) if is_own_namespace else frozenset(term.namespaces)
    return AffinityTerm(namespaces, namespace_requirements, requirements, term.topology_key)


@dataclass(frozen=True, slots=True)
class ExistingTerm:
    """A term that pods on nodes have."""

    term: AffinityTerm
    weight: int
    owners: MatchCounts
    """The pods that have the term; not those that it selects."""


class ExistingTerms:
    """The terms of one kind that pods on nodes have."""

    def __init__(self, new_counts: Callable[[], MatchCounts], node_labels: ReferenceCounts) -> None:
        """``node_labels`` are the labels that nodes have."""
        self._new_counts = new_counts
        self._node_labels = node_labels
        self._terms: dict[WeightedTerm, ExistingTerm] = {}
        self._indexes: dict[str, LabelIndex[WeightedTerm, ExistingTerm]] = {}
        """By the topology key: nobody is near a pod by a key that no node has, and there may be thousands of these."""
        self.version = 0
        """Changes whenever a term appears on the first pod, or disappears with the last."""

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[ExistingTerm]:
        return iter(self._terms.values())

    def matching(self, pod: Pod, namespace_labels: Mapping[str, str] = NO_LABELS) -> list[ExistingTerm]:
        """The terms that select ``pod``, whose namespace has these labels, by the labels that nodes have."""
        if not self._terms:
            return []
        return [
            existing
            for key in self._node_labels.common(self._indexes)
            for _, existing in self._indexes[key].candidates(pod)
            if existing.term.selects(pod, namespace_labels)
        ]

    def count(self, row: int, terms: Iterable[WeightedTerm], change: int) -> None:
        """Count a pod with these ``terms`` in a row (1), or take it back (-1)."""
        for weighted in terms:
            existing = self._terms.get(weighted)
            if existing is None:
                term, weight = weighted
                existing = self._terms[weighted] = ExistingTerm(term, weight, self._new_counts())
                self._indexes.setdefault(term.topology_key, LabelIndex()).add(
                    term.requirements or (), weighted, existing
                )
                self.version += 1
            existing.owners.add(row, change)
            if not existing.owners.total:
                self._drop(weighted)

    def drop_unused(self) -> None:
        """Drop the terms that no pod has any more, after a node went away with all its pods."""
        for weighted in [weighted for weighted, existing in self._terms.items() if not existing.owners.total]:
            self._drop(weighted)

    def _drop(self, weighted: WeightedTerm) -> None:
        del self._terms[weighted]
        term, _ = weighted
        index = self._indexes[term.topology_key]
        index.remove(term.requirements or (), weighted)
        if not index:
            del self._indexes[term.topology_key]
        self.version += 1
