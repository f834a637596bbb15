"""Which changes may let a pod be placed that was rejected here.

Upstream forgets some: pods in namespaces that a term selects by labels, nodes for a pod that others keep away, the last
of the pods that a pod must be near while it may begin anew, one of several terms. There such a pod waits for minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from scheduler_runtime.api import Node, Pod
from scheduler_runtime.plugins.interpodaffinity.own_terms import OwnTerms
from scheduler_runtime.state.table import PodTerm, SelectorError, terms_of


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pod that was rejected, and what it asks for."""

    pod: Pod
    wanted: OwnTerms
    namespace_labels: Mapping[str, str]
    others_keys: AbstractSet[str] | None
    """The labels by which other pods may keep it away; None for any."""

    def is_helped_by_pod(self, old: Pod | None, new: Pod | None) -> bool:
        """Whether it may help that another pod came, went or was relabelled."""
        if not all(_has_a_place(other) for other in (old, new) if other is not None):
            return False
        was, is_now = (other is not None and self.wanted.includes(other) for other in (old, new))
        if is_now and not was:
            return True
        if was and not is_now and self.wanted.includes(self.pod):
            return True  # Perhaps it was the last, and the pod may be the first.
        if self._kept_away_from(old) - self._kept_away_from(new):
            return True
        return old is not None and new is None and any(self._is_kept_away_by(old))

    def _kept_away_from(self, other: Pod | None) -> set[str]:
        """The labels by which the pod must not be near ``other``."""
        return {key for key, population in self.wanted.apart if other is not None and population.has(other)}

    def _is_kept_away_by(self, other: Pod) -> Iterator[bool]:
        return (term.selects(self.pod, self.namespace_labels) for term in _keeping_away(other))

    def is_helped_by_node(self, old: Node | None, new: Node) -> bool:
        """Whether it may help that a node was added or relabelled."""
        before = {} if old is None else old.labels
        changed = {key for key in before.keys() | new.labels.keys() if before.get(key) != new.labels.get(key)}
        if any(key in new.labels for key in changed.intersection(self.wanted.affinity_keys)):
            return True
        if old is None:
            return bool(self.wanted.apart) or not self.wanted.affinity_keys
        if self.others_keys is None:
            return any(key in before for key in changed)
        apart = {key for key, _ in self.wanted.apart} | self.others_keys
        return any(key in before for key in changed & apart)


def _has_a_place(pod: Pod) -> bool:
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def _keeping_away(pod: Pod) -> Iterator[PodTerm]:
    try:
        terms = terms_of(pod).required_anti_affinity
    except SelectorError:
        return  # As in the table, what cannot be read binds nobody.
    yield from (term for term, _ in terms)
