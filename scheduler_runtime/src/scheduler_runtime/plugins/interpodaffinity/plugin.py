"""InterPodAffinity's hooks, and the events that may let a rejected pod be placed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from scheduler_runtime.api import (
    MAX_SCORE,
    QUEUE,
    SKIP,
    Answer,
    Cycle,
    Event,
    Handle,
    Ints,
    Mask,
    Node,
    NodeTable,
    Plugin,
    Pod,
    Reject,
    Scores,
)
from scheduler_runtime.catalog import Version, in_tree
from scheduler_runtime.catalog.args import InterPodAffinityArgs
from scheduler_runtime.plugins.interpodaffinity.filter_state import AffinityCounts, FilterState, OtherPods
from scheduler_runtime.plugins.interpodaffinity.own_terms import Namespaces, OwnTerms, OwnTermsCache
from scheduler_runtime.plugins.interpodaffinity.topology_scores import (
    Points,
    ScoresByRareLabels,
    TopologyScores,
    TopologyScoresCache,
)
from scheduler_runtime.state.table import MatchCounts, PodSelection, SelectorError, WeightedPods, terms_of

Sources = dict[str, list[WeightedPods]]
"""By each label that decides what is near, the pods that count and their points."""
_MAX_KEYS = 64
_FEW_LABELS = 16


class InterPodAffinity(Plugin):
    """Place pods near the pods that they want near and away from the others, whichever of the two says so."""

    declaration = in_tree()["InterPodAffinity"]

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        is_fixed = Version.parse(handle.version).at_least("1.37")
        self._namespaces = Namespaces(handle, selects_all_if_unlabelled=not is_fixed)
        self._own_terms = OwnTermsCache(self._namespaces)
        self._scores = TopologyScoresCache()
        self._keys_of_others: frozenset[str] | None = frozenset()
        """The labels by which pods kept others away so far; None when there were many, so that it may be any."""

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        existing_terms = nodes.terms("required_anti_affinity")
        try:
            own = self._own_terms.get(pod)
        except SelectorError as error:
            return Reject.pod(str(error))
        has_required = bool(own.affinity_keys or own.apart)
        if not existing_terms and not has_required:
            return SKIP
        labels = self._namespaces.labels_of(pod.metadata.namespace)
        sources = existing_terms.matching(pod, labels)
        self._remember_keys(sources)
        keeping_away = [scores for scores in self._scores_of(nodes, sources) if scores.total]
        if not keeping_away and not has_required:
            return SKIP
        nobody: Points = np.zeros(len(nodes), np.int32)

        def without_pods(key: str) -> AffinityCounts:
            return AffinityCounts(key, nodes.label(key), nobody)

        def counts_of(key: str, pods: MatchCounts) -> tuple[AffinityCounts, int]:
            """The pods near each node by the label ``key``, and their number on nodes that have it."""
            if not (pods.total and nodes.has_label(key)):
                return without_pods(key), 0
            scores = self._scores.get(nodes, key, (WeightedPods(pods, 1),))
            return _counts_of(scores), scores.total

        def kept_away(key: str, selections: Iterable[PodSelection]) -> AffinityCounts:
            """The pods of all ``selections`` near each node by the label ``key``."""
            match_counts = nodes.match_counts_if_any if own.are_many else nodes.match_counts
            pods = tuple(
                [WeightedPods(counts, 1) for counts in map(match_counts, selections) if counts and counts.total]
            )
            # There are few, also for most pods with thousands of terms.
            return _counts_of(self._scores.get(nodes, key, pods)) if pods else without_pods(key)

        partners: list[tuple[AffinityCounts, int]] = []
        if own.affinity_keys:
            # One look-up for all labels: the selection may have thousands of selectors, which are compared each time.
            near = nodes.match_counts(own.affinity)
            partners = [counts_of(key, near) for key in own.affinity_keys]
        return FilterState(
            pod=pod,
            namespace_labels=labels,
            own=own,
            affinity=tuple([counts for counts, _ in partners]),
            partners=sum(total for _, total in partners),
            apart=tuple([kept_away(key, own.apart[key]) for key in own.apart if nodes.has_label(key)]),
            existing=tuple(map(_counts_of, keeping_away)),
            others=OtherPods(pod, labels, own),
        )

    def filter(self, pod: Pod, nodes: NodeTable, state: FilterState) -> Iterator[Reject]:
        return state.rejections()

    def filter_row(self, pod: Pod, nodes: NodeTable, state: FilterState, row: int) -> Iterator[Reject]:
        rejection = state.rejection_in_row(row)
        if rejection is not None:
            yield rejection

    def add_pod(self, pod: Pod, nodes: NodeTable, state: FilterState, other: Pod, row: int) -> FilterState:
        return state.changed(other, nodes, row, 1)

    def remove_pod(self, pod: Pod, nodes: NodeTable, state: FilterState, other: Pod, row: int) -> FilterState:
        return state.changed(other, nodes, row, -1)

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        own = self._own_terms.get(pod)
        preferred = own.preferred
        if self.args.ignore_preferred_terms_of_existing_pods and not preferred:
            return SKIP
        of_others, required_of_others = nodes.terms("preferred"), nodes.terms("required_affinity")
        weight: int = self.args.hard_pod_affinity_weight
        are_weighed = bool(of_others) or bool(weight and required_of_others)
        if not preferred and not are_weighed:
            return SKIP  # as for most pods, in most clusters
        sources: Sources = {}
        match_counts = nodes.match_counts_if_any if own.are_many else nodes.match_counts
        for key, selection, points in preferred:
            if not nodes.has_label(key):
                continue
            pods = match_counts(selection)
            if pods is not None and pods.total:  # where there is none there are no points
                sources.setdefault(key, []).append(WeightedPods(pods, points))
        if are_weighed:
            # The pods whose own terms select ``pod``: being near them is as good for it as for them.
            labels = self._namespaces.labels_of(pod.metadata.namespace)
            if weight:
                for key, of_key in required_of_others.matching(pod, labels).items():
                    sources.setdefault(key, []).extend([WeightedPods(pods, weight * points) for pods, points in of_key])
            for key, of_key in of_others.matching(pod, labels).items():
                sources.setdefault(key, []).extend(of_key)
        rare: Sources = {}
        if len(sources) > _FEW_LABELS:
            rare = {key: of_key for key, of_key in sources.items() if nodes.few_rows_with(key) is not None}
        scores: list[TopologyScores | ScoresByRareLabels] = []
        scores += self._scores_of(
            nodes, {key: sources[key] for key in sources.keys() - rare.keys()} if rare else sources
        )
        if rare:
            scores.append(ScoresByRareLabels(nodes, rare))
        return scores if any(one.total for one in scores) else SKIP

    def score(self, pod: Pod, nodes: NodeTable, state: list[TopologyScores | ScoresByRareLabels]) -> Scores:
        return reduce(np.add, (scores.points for scores in state))

    def normalize_score(self, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
        return from_lowest_to_highest(scores, nodes.feasible)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if isinstance(event.new, Pod) and event.old is not None and event.new.metadata.uid == pod.metadata.uid:
            return QUEUE  # Its labels changed: perhaps others no longer keep it away.
        try:
            own = self._own_terms.get(pod)
        except SelectorError:
            return SKIP  # No event makes its terms readable.
        rejected = RejectedPod(pod, own, self._namespaces.labels_of(pod.metadata.namespace), self._keys_of_others)
        if event.resource == "Node":
            return QUEUE if rejected.is_helped_by_node(event.old, event.new) else SKIP
        return QUEUE if rejected.is_helped_by_pod(event.old, event.new) else SKIP

    def _remember_keys(self, keys: Iterable[str]) -> None:
        if self._keys_of_others is None:
            return
        all_keys = self._keys_of_others.union(keys)
        self._keys_of_others = all_keys if len(all_keys) <= _MAX_KEYS else None

    def _scores_of(self, nodes: NodeTable, sources: Sources) -> list[TopologyScores]:
        return [self._scores.get(nodes, key, tuple(of_key)) for key, of_key in sources.items()]


def _counts_of(scores: TopologyScores) -> AffinityCounts:
    return AffinityCounts(scores.domains.key, scores.domains.label, scores.points)


def from_lowest_to_highest(points: Scores, feasible: Mask) -> Ints:
    """Turn points, which may be negative and have no bound, into scores.

    As upstream's NormalizeScore: the fewest points of a feasible node become 0, the most 100, rounded down between;
    equal ones 0. The scores of other nodes mean nothing, but stay in range.
    """
    is_everywhere = np.count_nonzero(feasible) == len(feasible)
    inside = points if is_everywhere else points[feasible]
    low, high = inside.min().item(), inside.max().item()
    if low == high:
        return np.zeros(len(points), np.int64)
    share = points.astype(np.float64)
    share -= low
    if not is_everywhere:
        share *= feasible
    share /= high - low
    share *= MAX_SCORE
    scores: Ints = share.astype(np.int64)
    return scores


@dataclass(frozen=True, slots=True)
class RejectedPod:
    """A pod that was rejected, and its terms, to decide which events may help it.

    Upstream's hints forget some: pods in namespaces that a term selects by labels, nodes for a pod that others keep
    away, the last of the pods that a pod must be near while it may begin anew, one of several terms. There such a pod
    waits for minutes.
    """

    pod: Pod
    own: OwnTerms
    namespace_labels: Mapping[str, str]
    keys_of_others: AbstractSet[str] | None
    """The labels by which other pods may keep it away; None for any."""

    def is_helped_by_pod(self, old: Pod | None, new: Pod | None) -> bool:
        """True if it may help that another pod came, went or was relabelled."""
        for other in (old, new):
            if other is not None and not (other.spec.node_name or other.status.nominated_node_name):
                return False
        was_partner, is_partner = (other is not None and self.own.includes(other) for other in (old, new))
        if is_partner and not was_partner:
            return True
        if was_partner and not is_partner and self.own.includes(self.pod):
            return True  # Perhaps it was the last, and the pod may be the first.
        before = self._labels_apart_from(old)
        if before and before - self._labels_apart_from(new):
            return True
        if old is None or new is not None:
            return False
        try:
            terms = terms_of(old).required_anti_affinity
        except SelectorError:
            return False  # As in the table, terms that cannot be read bind nobody.
        return any(term.selects(self.pod, self.namespace_labels) for term, _ in terms)

    def _labels_apart_from(self, other: Pod | None) -> set[str]:
        """The labels by which the pod must not be near ``other``."""
        if other is None:
            return set()
        return {
            key
            for key, selections in self.own.apart.items()
            if any(selection.includes(other) for selection in selections)
        }

    def is_helped_by_node(self, old: Node | None, new: Node) -> bool:
        """True if it may help that a node was added or relabelled."""
        before = {} if old is None else old.labels
        changed = {key for key in before.keys() | new.labels.keys() if before.get(key) != new.labels.get(key)}
        if any(key in new.labels for key in changed.intersection(self.own.affinity_keys)):
            return True
        if old is None:
            return bool(self.own.apart) or not self.own.affinity_keys
        if self.keys_of_others is None:
            return any(key in before for key in changed)
        apart = self.own.apart.keys() | self.keys_of_others
        return any(key in before for key in changed & apart)
