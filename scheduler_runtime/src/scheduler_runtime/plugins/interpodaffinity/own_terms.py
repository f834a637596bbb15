"""A pod's own affinity terms as selections of pods, with the namespaces that the terms select resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from scheduler_runtime.api import Handle, Pod, Watch
from scheduler_runtime.state.lru import LruCache, weight_of
from scheduler_runtime.state.objects import Namespace
from scheduler_runtime.state.table import (
    NO_REQUIREMENTS,
    AffinityTerm,
    AffinityTerms,
    PodSelection,
    PodSelector,
    Requirements,
    all_of,
    terms_of,
)

NAMESPACES: Final = Watch("v1", "Namespace")
MAX_CACHED = 1024
BYTES_OF_ONE = 4096
"""So many bytes of terms, encoded, count as those of one pod: users may write a megabyte of them."""
_FEW_TERMS = 16
_NO_POD = PodSelector(frozenset(), NO_REQUIREMENTS)


class Namespaces:
    """The namespaces of the cluster, which terms may select by their labels."""

    def __init__(self, handle: Handle, *, selects_all_if_unlabelled: bool) -> None:
        """``selects_all_if_unlabelled``: see :meth:`selector`."""
        self._handle = handle
        self._selects_all_if_unlabelled = selects_all_if_unlabelled
        self._indexed = -1
        """The revision of the following."""
        self._all: list[Namespace] = []
        self._by_label: dict[tuple[str, str], list[Namespace]] = {}

    @property
    def revision(self) -> int:
        """A number that changes with the namespaces."""
        return self._handle.revision(NAMESPACES)

    def labels_of(self, name: str) -> Mapping[str, str]:
        """The labels of one namespace. One that does not exist has none."""
        namespace = self._handle.find(NAMESPACES, name)
        return (namespace.metadata.labels or {}) if namespace is not None else {}

    def selector(self, term: AffinityTerm) -> PodSelector:
        """The pods that ``term`` of a pod to be placed selects in the namespaces as they are now.

        Before 1.37 upstream (mergeAffinityTermNamespacesIfNotEmpty) replaces the namespace selector by the namespaces
        it selects, and then still applies the rest of it to a namespace without labels: if that matches, the term
        selects pods in every namespace.
        """
        requirements = term.namespace_requirements
        if term.requirements is None:
            return _NO_POD
        if requirements is None:
            return PodSelector(term.namespaces, term.requirements)
        if not requirements or (self._selects_all_if_unlabelled and requirements.hold({})):
            return PodSelector(None, term.requirements)
        namespaces = (namespace.metadata for namespace in self._candidates(requirements))
        selected = [metadata.name for metadata in namespaces if requirements.hold(metadata.labels or {})]
        return PodSelector(term.namespaces.union(selected) if selected else term.namespaces, term.requirements)

    def _candidates(self, requirements: Requirements) -> Iterable[Namespace]:
        """The namespaces that ``requirements`` may select: a pod may have thousands of terms, each with its own."""
        if self._indexed != self.revision:
            self._indexed = self.revision
            self._all = list(self._handle.list(NAMESPACES))
            self._by_label = {}
            for namespace in self._all:
                for label in (namespace.metadata.labels or {}).items():
                    self._by_label.setdefault(label, []).append(namespace)
        for requirement in requirements:
            if requirement.operator == "In":  # a namespace has one value of a label: none comes twice
                labels = [(requirement.key, value) for value in requirement.values]
                return [namespace for label in labels for namespace in self._by_label.get(label, ())]
        return self._all


@dataclass(frozen=True, slots=True)
class OwnTerms:
    """The terms of one pod, by the node labels that decide what is near."""

    affinity_keys: tuple[str, ...]
    """The labels by which one of ``affinity`` must be near."""
    affinity: PodSelection
    """The pods that all terms of the required affinity select. A pod for each term would not do."""
    apart: Mapping[str, tuple[PodSelection, ...]]
    """For each label, the pods of which none may be near: those of any of the selections."""
    preferred: tuple[tuple[str, PodSelection, int], ...]
    """For each label, the pods that are better near, and the points for that. Negative: better far."""
    revision: int | None = None
    """Of the namespaces, if terms select them by labels."""
    are_many: bool = False
    """True if there are so many that what they select is not worth remembering where it is nothing."""

    def includes(self, pod: Pod) -> bool:
        """True if ``pod`` is one of those that must be near."""
        return bool(self.affinity_keys) and self.affinity.includes(pod)


NO_TERMS = OwnTerms((), PodSelection(()), {}, ())


class OwnTermsCache:
    """Own terms of recent pods. Pods of one kind have equal terms."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._cache: LruCache[AffinityTerms, OwnTerms] = LruCache(MAX_CACHED)

    def get(self, pod: Pod) -> OwnTerms:
        """The terms of ``pod``. Raises SelectorError naming the field that cannot be read."""
        affinity = pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return NO_TERMS
        terms = terms_of(pod)
        own = self._cache.get(terms)
        if own is None or (own.revision is not None and own.revision != self._namespaces.revision):
            near = [term for term, _ in terms.required_affinity]
            apart: dict[str, list[PodSelection]] = {}
            for term, _ in terms.required_anti_affinity:
                apart.setdefault(term.topology_key, []).append(self._select(term))
            weighted = (*terms.required_affinity, *terms.required_anti_affinity, *terms.preferred)
            own = OwnTerms(
                tuple(dict.fromkeys(term.topology_key for term in near)),
                self._select(*near),
                {key: tuple(dict.fromkeys(selections)) for key, selections in apart.items()},
                tuple((term.topology_key, self._select(term), points) for term, points in terms.preferred),
                self._namespaces.revision if any(term.namespace_requirements for term, _ in weighted) else None,
                are_many=len(weighted) > _FEW_TERMS,
            )
            self._cache.put(terms, own, weight_of(terms, BYTES_OF_ONE))
        return own

    def _select(self, *terms: AffinityTerm) -> PodSelection:
        selectors = [self._namespaces.selector(term) for term in terms]
        return PodSelection((all_of(selectors),) if selectors else ())
