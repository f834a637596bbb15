"""Affinity and anti-affinity between pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from scheduler_runtime.api import (
    QUEUE,
    SKIP,
    Answer,
    Cycle,
    Event,
    Handle,
    Ints,
    NodeTable,
    Plugin,
    Pod,
    Reject,
    Scores,
)
from scheduler_runtime.catalog import Version, in_tree
from scheduler_runtime.catalog.args import InterPodAffinityArgs
from scheduler_runtime.plugins.interpodaffinity.filter_state import AffinityCounts, Constraints
from scheduler_runtime.plugins.interpodaffinity.hints import Waiting
from scheduler_runtime.plugins.interpodaffinity.namespaces import Namespaces
from scheduler_runtime.plugins.interpodaffinity.normalising import from_lowest_to_highest
from scheduler_runtime.plugins.interpodaffinity.own_terms import OwnTermsCache
from scheduler_runtime.plugins.interpodaffinity.topology_scores import Source, TopologyScores, TopologyScoresCache
from scheduler_runtime.state.table import PodSelection, SelectorError

Sources = dict[str, list[Source]]
"""By each label that tells what is near, which pods count and how much."""
_MOST_KEYS = 64


class InterPodAffinity(Plugin):
    """Place pods near the pods that they want near and away from the others, whichever of the two says so."""

    declaration = in_tree()["InterPodAffinity"]

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        is_fixed = Version.parse(handle.version).at_least("1.37")
        self._namespaces = Namespaces(handle, asks_the_unlabelled=not is_fixed)
        self._wants = OwnTermsCache(self._namespaces)
        self._tallies = TopologyScoresCache()
        self._others_keys: frozenset[str] | None = frozenset()
        """The labels by which pods kept others away so far; None when there were many, so that it may be any."""

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        held = nodes.terms("required_anti_affinity")
        try:
            wanted = self._wants.of(pod)
        except SelectorError as error:
            return Reject.pod(str(error))
        if not held and not wanted.is_demanding:
            return SKIP
        labels = self._namespaces.labels_of(pod.namespace)
        sources: Sources = {}
        for each in held.matching(pod, labels):
            sources.setdefault(each.term.topology_key, []).append((each.census, 1))
        self._remember(sources)
        existing = [tally for tally in self._tallied(nodes, sources) if tally.near]
        if not existing and not wanted.is_demanding:
            return SKIP
        partners = [self._tally(nodes, key, wanted.affinity) for key in wanted.affinity_keys]
        return Constraints(
            pod=pod,
            namespace_labels=labels,
            wanted=wanted,
            affinity=tuple(map(_near, partners)),
            partners=sum(tally.near for tally in partners),
            apart=tuple(_near(self._tally(nodes, key, population)) for key, population in wanted.apart),
            existing=tuple(map(_near, existing)),
        )

    def filter(self, pod: Pod, nodes: NodeTable, state: Constraints) -> Iterator[Reject]:
        return state.rejections()

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Constraints, row: int) -> Iterator[Reject]:
        rejection = state.rejection_at(row)
        if rejection is not None:
            yield rejection

    def add_pod(self, pod: Pod, nodes: NodeTable, state: Constraints, other: Pod, row: int) -> Constraints:
        return state.changed(other, nodes, row, 1)

    def remove_pod(self, pod: Pod, nodes: NodeTable, state: Constraints, other: Pod, row: int) -> Constraints:
        return state.changed(other, nodes, row, -1)

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        preferred = self._wants.of(pod).preferred
        if self.args.ignore_preferred_terms_of_existing_pods and not preferred:
            return SKIP
        sources: Sources = {}
        for key, population, points in preferred:
            sources.setdefault(key, []).append((nodes.census(population), points))
        for key, source in self._held(pod, nodes):
            sources.setdefault(key, []).append(source)
        tallies = self._tallied(nodes, sources)
        return tallies if any(tally.near for tally in tallies) else SKIP

    def _held(self, pod: Pod, nodes: NodeTable) -> Iterator[tuple[str, Source]]:
        """The pods whose own terms speak of ``pod``: what they like, it may like too."""
        required, preferred = nodes.terms("required_affinity"), nodes.terms("preferred")
        weight: int = self.args.hard_pod_affinity_weight
        if not preferred and not (required and weight):
            return
        labels = self._namespaces.labels_of(pod.namespace)
        if weight:
            for each in required.matching(pod, labels):
                yield each.term.topology_key, (each.census, weight)
        for each in preferred.matching(pod, labels):
            yield each.term.topology_key, (each.census, each.weight)

    def score(self, pod: Pod, nodes: NodeTable, state: list[TopologyScores]) -> Scores:
        return reduce(np.add, (tally.points for tally in state))

    def normalize_score(self, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
        return from_lowest_to_highest(scores, nodes.feasible)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if isinstance(event.new, Pod) and event.old is not None and event.new.uid == pod.uid:
            return QUEUE  # Its labels changed: perhaps others no longer keep it away.
        try:
            wanted = self._wants.of(pod)
        except SelectorError:
            return SKIP  # Nothing that happens makes its terms readable.
        waiting = Waiting(pod, wanted, self._namespaces.labels_of(pod.namespace), self._others_keys)
        if event.resource == "Node":
            return QUEUE if waiting.is_helped_by_node(event.old, event.new) else SKIP
        return QUEUE if waiting.is_helped_by_pod(event.old, event.new) else SKIP

    def _remember(self, keys: Iterable[str]) -> None:
        if self._others_keys is None:
            return
        known = self._others_keys.union(keys)
        self._others_keys = known if len(known) <= _MOST_KEYS else None

    def _tally(self, nodes: NodeTable, key: str, population: PodSelection) -> TopologyScores:
        return self._tallies.get(nodes, key, ((nodes.census(population), 1),))

    def _tallied(self, nodes: NodeTable, sources: Sources) -> list[TopologyScores]:
        return [self._tallies.get(nodes, key, tuple(counted)) for key, counted in sources.items()]


def _near(tally: TopologyScores) -> AffinityCounts:
    return AffinityCounts(tally.domains.key, tally.domains.label, tally.points)
