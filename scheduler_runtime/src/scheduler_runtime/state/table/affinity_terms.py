"""The affinity terms that pods on nodes hold, each distinct one once, with how many pods on each node hold it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from msgspec.structs import force_setattr

from scheduler_runtime.state.objects import Pod, PodAffinityTerm, PodAffinityTerms
from scheduler_runtime.state.table.cached_hash import hashed_once
from scheduler_runtime.state.table.pod_counts import MatchCounts
from scheduler_runtime.state.table.pod_selectors import (
    NO_LABELS,
    ByLabels,
    Requirements,
    SelectorError,
    hold,
    requirements_of,
)

TermKind = Literal["required_affinity", "required_anti_affinity", "preferred"]
TERM_KINDS: Final[tuple[TermKind, ...]] = ("required_affinity", "required_anti_affinity", "preferred")

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@hashed_once
@dataclass(frozen=True, slots=True)
class PodTerm:
    """Which pods a term speaks of, and which label tells what is near."""

    namespaces: frozenset[str]
    namespace_requirements: Requirements | None
    """Which namespaces beside ``namespaces``, by their labels; None for no others."""
    requirements: Requirements | None
    """None: no pod at all."""
    topology_key: str
    _hash: int = field(init=False, repr=False, compare=False)

    def selects(self, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
        """Whether it speaks of ``pod``, whose namespace has these labels."""
        if self.requirements is None or not self._covers(pod.namespace, namespace_labels):
            return False
        return hold(self.requirements, pod.metadata.labels or NO_LABELS)

    def _covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if namespace in self.namespaces:
            return True
        return self.namespace_requirements is not None and hold(self.namespace_requirements, labels)


Weighted = tuple[PodTerm, int]
"""A term and the points it gives; negative where pods should be apart. A required term has 0."""


@hashed_once
@dataclass(frozen=True, slots=True)
class PodTerms:
    """All terms of one pod."""

    required_affinity: tuple[Weighted, ...] = ()
    required_anti_affinity: tuple[Weighted, ...] = ()
    preferred: tuple[Weighted, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def of(self, kind: TermKind) -> tuple[Weighted, ...]:
        """The terms of one kind."""
        found: tuple[Weighted, ...] = getattr(self, kind)
        return found


_NO_TERMS = PodTerms()


def terms_of(pod: Pod) -> PodTerms:
    """The terms of ``pod``, read once for all pods of its spec and namespace.

    Raises SelectorError naming the field that cannot be read.
    """
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return _NO_TERMS
    known = pod.terms
    if known is None:
        known = {}
        force_setattr(pod, "terms", known)
    terms: PodTerms | None = known.get(pod.namespace)
    if terms is None:
        terms = known[pod.namespace] = _read(pod, affinity.pod_affinity, affinity.pod_anti_affinity)
    return terms


def _read(pod: Pod, affinity: PodAffinityTerms | None, anti: PodAffinityTerms | None) -> PodTerms:
    near, far = affinity or PodAffinityTerms(), anti or PodAffinityTerms()
    return PodTerms(
        tuple(_required(pod, near, "spec.affinity.podAffinity")),
        tuple(_required(pod, far, "spec.affinity.podAntiAffinity")),
        (
            *_preferred(pod, near, "spec.affinity.podAffinity", 1),
            *_preferred(pod, far, "spec.affinity.podAntiAffinity", -1),
        ),
    )


def _required(pod: Pod, terms: PodAffinityTerms, path: str) -> Iterator[Weighted]:
    for index, term in enumerate(terms.required):
        yield _term(pod, term, f"{path}.{_REQUIRED}[{index}]"), 0


def _preferred(pod: Pod, terms: PodAffinityTerms, path: str, sign: int) -> Iterator[Weighted]:
    for index, each in enumerate(terms.preferred):
        term = _term(pod, each.pod_affinity_term, f"{path}.{_PREFERRED}[{index}].podAffinityTerm")
        yield term, sign * each.weight


def _term(pod: Pod, term: PodAffinityTerm, path: str) -> PodTerm:
    own = not term.namespaces and term.namespace_selector is None
    at = f"{path}.labelSelector"
    try:
        requirements = requirements_of(term.label_selector)
        at = f"{path}.namespaceSelector"
        namespaces = requirements_of(term.namespace_selector)
    except SelectorError as error:
        raise SelectorError(at + error.at, error.why) from None
    covered = frozenset((pod.namespace,)) if own else frozenset(term.namespaces)
    return PodTerm(covered, namespaces, requirements, term.topology_key)


@dataclass(frozen=True, slots=True)
class HeldTerm:
    """A term, and where the pods are that hold it."""

    term: PodTerm
    weight: int
    census: MatchCounts
    """The pods that hold the term; not those it speaks of."""


class Terms:
    """The terms of one kind that pods on nodes hold."""

    def __init__(self, new: Callable[[], MatchCounts]) -> None:
        self._new = new
        self._held: dict[Weighted, HeldTerm] = {}
        self._index: ByLabels[Weighted, HeldTerm] = ByLabels()
        self.version = 0
        """Changes whenever a term is held for the first time, or no longer."""

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[HeldTerm]:
        return iter(self._held.values())

    def matching(self, pod: Pod, namespace_labels: Mapping[str, str] = NO_LABELS) -> list[HeldTerm]:
        """The terms that speak of ``pod``, whose namespace has these labels."""
        if not self._held:
            return []
        return [held for _, held in self._index.candidates(pod) if held.term.selects(pod, namespace_labels)]

    def count(self, row: int, terms: Iterable[Weighted], change: int) -> None:
        """A pod with these ``terms`` came to a row, or left it."""
        for weighted in terms:
            held = self._held.get(weighted) or self._begin(weighted)
            held.census.add(row, change)
            if not held.census.total:
                self._end(weighted)

    def end_of_row(self) -> None:
        """A node went away with all its pods: forget the terms that nobody holds any more."""
        for weighted in [weighted for weighted, held in self._held.items() if not held.census.total]:
            self._end(weighted)

    def _begin(self, weighted: Weighted) -> HeldTerm:
        term, weight = weighted
        held = self._held[weighted] = HeldTerm(term, weight, self._new())
        self._index.add(term.requirements or (), weighted, held)
        self.version += 1
        return held

    def _end(self, weighted: Weighted) -> None:
        del self._held[weighted]
        self._index.remove(weighted[0].requirements or (), weighted)
        self.version += 1
