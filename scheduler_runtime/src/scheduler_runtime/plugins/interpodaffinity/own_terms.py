"""What a pod's own terms ask for, with the namespaces they speak of found."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_runtime.api import Pod
from scheduler_runtime.plugins.interpodaffinity.namespaces import Namespaces
from scheduler_runtime.state.lru import LruCache
from scheduler_runtime.state.table import PodSelection, PodTerm, PodTerms, terms_of

MAX_KEPT = 1024


@dataclass(frozen=True, slots=True)
class OwnTerms:
    """What the terms of one pod ask for. The labels are those that tell what is near."""

    affinity_keys: tuple[str, ...]
    """The labels by which one of ``affinity`` must be near."""
    affinity: PodSelection
    """The pods that all terms of the required affinity select. One each would not do."""
    apart: tuple[tuple[str, PodSelection], ...]
    """By each label, the pods of which none may be near."""
    preferred: tuple[tuple[str, PodSelection, int], ...]
    """By each label, the pods that are better near, and by how many points. Negative: better far."""
    revision: int | None = None
    """Of the namespaces, where terms speak of them by their labels."""

    @property
    def is_demanding(self) -> bool:
        """Whether it asks for anything that must be."""
        return bool(self.affinity_keys or self.apart)

    def includes(self, pod: Pod) -> bool:
        """Whether ``pod`` is one of those that must be near."""
        return bool(self.affinity_keys) and self.affinity.has(pod)


NOTHING_WANTED = OwnTerms((), PodSelection(()), (), ())


class OwnTermsCache:
    """What pods asked for lately. Pods of one kind ask for the same."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._kept: LruCache[PodTerms, OwnTerms] = LruCache(MAX_KEPT)

    def of(self, pod: Pod) -> OwnTerms:
        """What ``pod`` asks for. Raises SelectorError naming the field that cannot be read."""
        affinity = pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return NOTHING_WANTED
        terms = terms_of(pod)
        wanted = self._kept.get(terms)
        if wanted is not None and (wanted.revision is None or wanted.revision == self._namespaces.revision):
            return wanted
        wanted = self._resolved(terms)
        self._kept.put(terms, wanted)
        return wanted

    def _resolved(self, terms: PodTerms) -> OwnTerms:
        near = [term for term, _ in terms.required_affinity]
        every = (*terms.required_affinity, *terms.required_anti_affinity, *terms.preferred)
        return OwnTerms(
            tuple(dict.fromkeys(term.topology_key for term in near)),
            self._population(*near),
            tuple((term.topology_key, self._population(term)) for term, _ in terms.required_anti_affinity),
            tuple((term.topology_key, self._population(term), points) for term, points in terms.preferred),
            self._namespaces.revision if any(term.namespace_requirements for term, _ in every) else None,
        )

    def _population(self, *terms: PodTerm) -> PodSelection:
        return PodSelection(tuple(map(self._namespaces.selector, terms)))
