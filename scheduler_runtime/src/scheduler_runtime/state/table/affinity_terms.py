"""Affinity terms of the pods on nodes: each distinct list of them once, with the number of pods on each node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import force_setattr

from scheduler_runtime.state.objects import Pod, PodAffinityTerm, PodAffinityTerms
from scheduler_runtime.state.table.columns import ReferenceCounts
from scheduler_runtime.state.table.pod_counts import MatchCounts
from scheduler_runtime.state.table.pod_selectors import (
    NO_LABELS,
    NO_REQUIREMENTS,
    LabelIndex,
    Requirements,
    SelectorError,
    read_requirements,
)

TermKind = Literal["required_affinity", "required_anti_affinity", "preferred"]
TERM_KINDS: Final[tuple[TermKind, ...]] = ("required_affinity", "required_anti_affinity", "preferred")

_FEW = 4
"""So many terms are looked at each time."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class AffinityTerm(Struct, frozen=True, cache_hash=True, gc=False):
    """The pods that a term selects, and the node label by which two nodes are near each other."""

    namespaces: frozenset[str]
    namespace_requirements: Requirements | None
    """Namespaces beside ``namespaces``, by their labels; None for no others."""
    requirements: Requirements | None
    """None: no pod at all."""
    topology_key: str

    def selects(self, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
        """True if the term selects ``pod``, whose namespace has these labels."""
        if self.requirements is None:
            return False
        if pod.metadata.namespace not in self.namespaces and (
            self.namespace_requirements is None or not self.namespace_requirements.hold(namespace_labels)
        ):
            return False
        return self.requirements.hold(pod.metadata.labels or NO_LABELS)


WeightedTerm = tuple[AffinityTerm, int]
"""A term and the points it gives; negative where pods should be apart. A required term has 1."""


class AffinityTerms(Struct, frozen=True, cache_hash=True, gc=False):
    """All affinity terms of one pod."""

    required_affinity: tuple[WeightedTerm, ...] = ()
    required_anti_affinity: tuple[WeightedTerm, ...] = ()
    preferred: tuple[WeightedTerm, ...] = ()

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
        yield _read_term(pod, term, f"{path}.{_REQUIRED}[{index}]"), 1


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


class _TermList:
    """The terms of one kind that one pod has, and all pods that have the same ones.

    A pod may have thousands of terms. What they say of a pod is remembered for all pods that are alike to them, as many
    answers as there are terms.
    """

    __slots__ = ("_answers", "by_key", "owners")

    def __init__(self, terms: Iterable[WeightedTerm], owners: MatchCounts) -> None:
        self.owners = owners
        self.by_key: dict[str, list[WeightedTerm]] = {}
        """By the topology key."""
        for weighted in terms:
            self.by_key.setdefault(weighted[0].topology_key, []).append(weighted)
        self._answers: dict[str, tuple[frozenset[str], dict[object, int | None]]] = {}
        """By the topology key: the labels that the terms look at, and the points by kind of pod."""

    def points(self, key: str, pod: Pod, namespace_labels: Mapping[str, str]) -> int | None:
        """The sum of the points of those terms by ``key`` that select ``pod``; None when none does."""
        terms = self.by_key[key]
        if len(terms) <= _FEW:
            return _points(terms, pod, namespace_labels)
        if key not in self._answers:
            label_keys = {requirement.key for term, _ in terms for requirement in term.requirements or NO_REQUIREMENTS}
            self._answers[key] = frozenset(label_keys), {}
        looked_at, answers = self._answers[key]
        labels = frozenset([item for item in (pod.metadata.labels or NO_LABELS).items() if item[0] in looked_at])
        kind = pod.metadata.namespace, frozenset(namespace_labels.items()), labels
        if kind not in answers:
            if len(answers) >= len(terms):
                answers.clear()
            answers[kind] = _points(terms, pod, namespace_labels)
        return answers[kind]


def _points(terms: Iterable[WeightedTerm], pod: Pod, namespace_labels: Mapping[str, str]) -> int | None:
    points = [points for term, points in terms if term.selects(pod, namespace_labels)]
    return sum(points) if points else None


class WeightedPods(NamedTuple):
    """Pods, and the points that each of them gives."""

    pods: MatchCounts
    points: int


class ExistingTerms:
    """The terms of one kind that pods on nodes have: each distinct list of them once."""

    def __init__(self, new_counts: Callable[[], MatchCounts], node_labels: ReferenceCounts) -> None:
        """``node_labels`` are the labels that nodes have."""
        self._new_counts = new_counts
        self._node_labels = node_labels
        self._lists: dict[tuple[WeightedTerm, ...], _TermList] = {}
        self._indexes: dict[str, LabelIndex[_TermList, None]] = {}
        """By the topology key: nobody is near a pod by a key that no node has, and there may be thousands of these."""

    def __len__(self) -> int:
        return len(self._lists)

    def owners(self) -> Iterator[MatchCounts]:
        """The counts of the pods that have the terms, for each list of terms."""
        return (terms.owners for terms in self._lists.values())

    def matching(self, pod: Pod, namespace_labels: Mapping[str, str] = NO_LABELS) -> dict[str, list[WeightedPods]]:
        """The pods with terms that select ``pod``, whose namespace has these labels.

        By the topology keys of these terms, as far as nodes have them; each pod gives the points of its terms.
        """
        sources: dict[str, list[WeightedPods]] = {}
        if not self._lists:
            return sources
        for key in self._node_labels.common(self._indexes):
            for terms in dict(self._indexes[key].candidates(pod)):  # a list may come twice
                points = terms.points(key, pod, namespace_labels)
                if points is not None:
                    sources.setdefault(key, []).append(WeightedPods(terms.owners, points))
        return sources

    def count(self, row: int, terms: tuple[WeightedTerm, ...], change: int) -> None:
        """Count a pod with these ``terms`` in a row (1), or take it back (-1)."""
        if not terms:
            return
        existing = self._lists.get(terms)
        if existing is None:
            existing = self._lists[terms] = _TermList(terms, self._new_counts())
            for term, _ in terms:
                index = self._indexes.setdefault(term.topology_key, LabelIndex())
                index.add(term.requirements or NO_REQUIREMENTS, existing, None)
        existing.owners.add(row, change)
        if not existing.owners.total:
            self._drop(terms)

    def drop_unused(self) -> None:
        """Drop the terms that no pod has any more, after a node went away with all its pods."""
        for terms in [terms for terms, existing in self._lists.items() if not existing.owners.total]:
            self._drop(terms)

    def _drop(self, terms: tuple[WeightedTerm, ...]) -> None:
        existing = self._lists.pop(terms)
        for term, _ in terms:
            index = self._indexes.get(term.topology_key)
            if index is not None:
                index.remove(term.requirements or NO_REQUIREMENTS, existing)
                if not index:
                    del self._indexes[term.topology_key]
