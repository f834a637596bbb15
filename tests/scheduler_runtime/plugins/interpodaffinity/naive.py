"""Upstream's rules for affinity between pods, one node and one pod at a time: no table and no cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scheduler_runtime.api import Node, Pod
from scheduler_runtime.state.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    PodAffinityTerm,
    PodAffinityTerms,
    WeightedPodAffinityTerm,
)

Labels = Mapping[str, str]
AFFINITY = ("node(s) didn't match pod affinity rules", False)
ANTI_AFFINITY = ("node(s) didn't match pod anti-affinity rules", True)
EXISTING = ("node(s) didn't satisfy existing pods anti-affinity rules", True)


def holds(selector: LabelSelector | None, labels: Labels) -> bool:
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in (selector.match_labels or {}).items())
    return equal and all(_holds(requirement, labels) for requirement in selector.match_expressions)


def _holds(requirement: LabelSelectorRequirement, labels: Labels) -> bool:
    if requirement.operator == "In":
        return requirement.key in labels and labels[requirement.key] in requirement.values
    if requirement.operator == "NotIn":
        return requirement.key not in labels or labels[requirement.key] not in requirement.values
    return (requirement.key in labels) == (requirement.operator == "Exists")


def affinity(pod: Pod) -> PodAffinityTerms:
    return (pod.spec.affinity and pod.spec.affinity.pod_affinity) or PodAffinityTerms()


def anti_affinity(pod: Pod) -> PodAffinityTerms:
    return (pod.spec.affinity and pod.spec.affinity.pod_anti_affinity) or PodAffinityTerms()


def labels_of(pod: Pod) -> Labels:
    return pod.metadata.labels or {}


def is_near(key: str, one: Node, other: Node) -> bool:
    return key in one.labels and one.labels[key] == other.labels.get(key)


@dataclass(frozen=True)
class World:
    """Nodes with pods on them, and namespaces with their labels."""

    nodes: tuple[Node, ...]
    placed: tuple[tuple[Pod, Node], ...]
    namespaces: Mapping[str, Labels]
    version: str

    def wants(self, owner: Pod, term: PodAffinityTerm, other: Pod) -> bool:
        """Whether the term of ``owner``, which is to be placed, speaks of ``other``."""
        selector, names = term.namespace_selector, set(term.namespaces)
        if selector is None and not names:
            names.add(owner.namespace)
        if selector is not None:
            names.update(name for name, labels in self.namespaces.items() if holds(selector, labels))
        empty = selector is not None and not selector.match_labels and not selector.match_expressions
        forgotten = not self.version.startswith("v1.37") and holds(selector, {})
        return (empty or forgotten or other.namespace in names) and holds(term.label_selector, labels_of(other))

    def holds_against(self, owner: Pod, term: PodAffinityTerm, pod: Pod) -> bool:
        """Whether the term of ``owner``, which is on a node, speaks of ``pod``, which is to be placed."""
        own = {owner.namespace} if not term.namespaces and term.namespace_selector is None else set(term.namespaces)
        covered = pod.namespace in own or holds(term.namespace_selector, self.namespaces.get(pod.namespace, {}))
        return covered and holds(term.label_selector, labels_of(pod))

    def rejection(self, pod: Pod, node: Node) -> tuple[str, bool] | None:
        if not self._is_near_partners(pod, node):
            return AFFINITY
        for other, there in self.placed:
            for term in anti_affinity(pod).required:
                if self.wants(pod, term, other) and is_near(term.topology_key, there, node):
                    return ANTI_AFFINITY
        return EXISTING if any(is_near(key, there, node) for key, there in self.against(pod)) else None

    def _is_near_partners(self, pod: Pod, node: Node) -> bool:
        terms = affinity(pod).required
        if any(term.topology_key not in node.labels for term in terms):
            return False
        partners = [there for other, there in self.placed if all(self.wants(pod, term, other) for term in terms)]
        if all(any(is_near(term.topology_key, there, node) for there in partners) for term in terms):
            return True
        counted = any(term.topology_key in there.labels for there in partners for term in terms)
        return not counted and all(self.wants(pod, term, pod) for term in terms)

    def against(self, pod: Pod) -> Iterator[tuple[str, Node]]:
        """By which label and from which node ``pod`` is kept away, for each pod and term that does."""
        for other, there in self.placed:
            for term in anti_affinity(other).required:
                if self.holds_against(other, term, pod) and term.topology_key in there.labels:
                    yield term.topology_key, there

    def filters(self, pod: Pod) -> bool:
        """Whether there is anything to filter by."""
        return bool(affinity(pod).required or anti_affinity(pod).required or list(self.against(pod)))

    def points(self, pod: Pod, hard_weight: int, *, ignores: bool) -> dict[str, int] | None:
        """The points of each node; None when there is nothing to score by."""
        if ignores and not (affinity(pod).preferred or anti_affinity(pod).preferred):
            return None
        gains = [
            (key, there, points)
            for other, there in self.placed
            for key, points in self._gains(pod, other, hard_weight)
            if key in there.labels
        ]
        if not gains:
            return None
        return {
            node.name: sum(points for key, there, points in gains if is_near(key, there, node)) for node in self.nodes
        }

    def _gains(self, pod: Pod, other: Pod, hard_weight: int) -> Iterator[tuple[str, int]]:
        for term, points in weighted(pod):
            if self.wants(pod, term, other):
                yield term.topology_key, points
        hard = [(term, hard_weight) for term in affinity(other).required if hard_weight]
        for term, points in (*hard, *weighted(other)):
            if self.holds_against(other, term, pod):
                yield term.topology_key, points


def weighted(pod: Pod) -> list[tuple[PodAffinityTerm, int]]:
    def signed(terms: tuple[WeightedPodAffinityTerm, ...], sign: int) -> list[tuple[PodAffinityTerm, int]]:
        return [(weighted.pod_affinity_term, sign * weighted.weight) for weighted in terms]

    return signed(affinity(pod).preferred, 1) + signed(anti_affinity(pod).preferred, -1)


def scores(points: Mapping[str, int]) -> dict[str, int]:
    """As Go rounds them."""
    low, high = min(points.values()), max(points.values())
    if low == high:
        return dict.fromkeys(points, 0)
    return {name: int(100.0 * (float(value - low) / float(high - low))) for name, value in points.items()}
