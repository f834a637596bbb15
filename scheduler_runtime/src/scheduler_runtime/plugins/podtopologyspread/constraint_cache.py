"""What is kept for each kind of pod: pods of a kind have equal constraints and may use the same nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import msgspec

from scheduler_runtime.api import Handle, Pod
from scheduler_runtime.catalog.args import PodTopologySpreadArgs, TopologySpreadConstraint
from scheduler_runtime.plugins.podtopologyspread.constraints import (
    HARD,
    HOSTNAME,
    SOFT,
    ZONE,
    Constraint,
    ConstraintError,
    Constraints,
    default_constraints,
    read_constraints,
)
from scheduler_runtime.plugins.podtopologyspread.default_selectors import DefaultSelectors
from scheduler_runtime.plugins.podtopologyspread.domain_counts import DomainCounts
from scheduler_runtime.plugins.podtopologyspread.eligible_domains import EligibleDomains, ScoredDomains, scope_of
from scheduler_runtime.state.lru import LruCache
from scheduler_runtime.state.table.pod_selectors import NO_LABELS

_SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SOFT, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable=SOFT, max_skew=5),
)
_MOST_KINDS = 2048
_MOST_GROUNDS = 512
_written = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class SpreadConstraints:
    """The tallies of one kind of pod, and why its constraints cannot be read if they cannot."""

    hard: tuple[DomainCounts, ...] = ()
    soft: tuple[DomainCounts, ...] = ()
    problem: str = ""


class ConstraintCache:
    """Finds the kind of a pod."""

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self._by_system = args.defaulting_type == "System"
        self._defaults: Sequence[TopologySpreadConstraint] = (
            _SYSTEM_DEFAULTS if self._by_system else args.default_constraints
        )
        self._selectors = DefaultSelectors(handle) if self._defaults else None
        self._comparing = handle.enabled("TaintTolerationComparisonOperators")
        self._with_match_label_keys = handle.enabled("MatchLabelKeysInPodTopologySpread")
        self._kinds: LruCache[Hashable, SpreadConstraints] = LruCache(_MOST_KINDS)
        self._grounds: LruCache[Hashable, EligibleDomains] = LruCache(_MOST_GROUNDS)
        self.hard_by_default = any(each.when_unsatisfiable == HARD for each in self._defaults)

    def of(self, pod: Pod) -> SpreadConstraints | None:
        """What is kept for pods like ``pod``; None when nothing asks for them to be spread."""
        return self._by_itself(pod) if pod.spec.topology_spread_constraints else self._by_default(pod)

    def _by_itself(self, pod: Pod) -> SpreadConstraints:
        constraints, metadata = pod.spec.topology_spread_constraints, pod.metadata
        labels = metadata.labels or NO_LABELS
        values = tuple(labels.get(key) for each in constraints for key in each.match_label_keys)
        # Written out, equal constraints are equal bytes; hashing those is quicker than hashing what they are made of.
        kind = (metadata.namespace, _written((constraints, *_restrictions(pod))), values)
        known = self._kinds.get(kind)
        if known is None:
            known = self._read(pod)
            self._kinds.put(kind, known)
        return known

    def _read(self, pod: Pod) -> SpreadConstraints:
        try:
            found = read_constraints(pod, with_match_label_keys=self._with_match_label_keys)
        except ConstraintError as error:
            return SpreadConstraints(problem=str(error))
        return self._spreading(found, pod, requires_all=True)

    def _by_default(self, pod: Pod) -> SpreadConstraints | None:
        selector = self._selectors.selector(pod) if self._selectors else None
        if selector is None:
            return None
        kind = (selector, _written(_restrictions(pod)))
        known = self._kinds.get(kind)
        if known is None:
            found = default_constraints(self._defaults, selector)
            known = self._spreading(found, pod, requires_all=not self._by_system)
            self._kinds.put(kind, known)
        return known

    def _spreading(self, found: Constraints, pod: Pod, *, requires_all: bool) -> SpreadConstraints:
        """With ``requires_all``, nodes that lack one of the labels of the soft constraints are not scored."""
        keys = [constraint.key for constraint in found.soft] if requires_all else []
        return SpreadConstraints(
            hard=self._tallies(found.hard, [constraint.key for constraint in found.hard], pod, EligibleDomains),
            soft=self._tallies(found.soft, keys, pod, ScoredDomains),
        )

    def _tallies(
        self, constraints: Sequence[Constraint], required: Sequence[str], pod: Pod, kind: type[EligibleDomains]
    ) -> tuple[DomainCounts, ...]:
        return tuple(DomainCounts(each, self._ground(each, required, pod, kind)) for each in constraints)

    def _ground(
        self, constraint: Constraint, required: Sequence[str], pod: Pod, kind: type[EligibleDomains]
    ) -> EligibleDomains:
        scope = scope_of(constraint, required, pod, comparing=self._comparing)
        known = self._grounds.get((kind, scope))
        if known is None:
            known = kind(scope)
            self._grounds.put((kind, scope), known)
        return known


def _restrictions(pod: Pod) -> tuple[object, ...]:
    """What of ``pod`` decides which nodes count for its constraints."""
    spec = pod.spec
    return spec.node_selector, spec.affinity and spec.affinity.node_affinity, spec.tolerations
