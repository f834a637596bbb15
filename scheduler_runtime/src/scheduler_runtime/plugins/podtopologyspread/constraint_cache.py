"""Cache of spread constraints, by kind of pod; and the default constraints of pods without any of their own.

Pods of a kind have equal constraints and may use the same nodes. A pod without constraints is spread together with the
pods of its Services and of its controller.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from scheduler_runtime.api import Handle, Pod, Watch
from scheduler_runtime.catalog.args import PodTopologySpreadArgs, TopologySpreadConstraint
from scheduler_runtime.catalog.in_tree import CONTROLLERS, REPLICA_SETS, SERVICES, STATEFUL_SETS
from scheduler_runtime.plugins.podtopologyspread.constraints import (
    HARD,
    HOSTNAME,
    SOFT,
    ZONE,
    Constraint,
    ConstraintError,
    Constraints,
    default_constraints,
    equal_labels,
    in_namespace,
    read_constraints,
)
from scheduler_runtime.plugins.podtopologyspread.domains import (
    DomainCounts,
    EligibleDomains,
    EligibleNodes,
    NodeScope,
    ScoredDomains,
    scope_of,
)
from scheduler_runtime.state.lru import LruCache
from scheduler_runtime.state.objects import Service
from scheduler_runtime.state.table import (
    NO_LABELS,
    NO_REQUIREMENTS,
    PodSelector,
    Requirements,
    SelectorError,
    read_requirements,
)

_SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SOFT, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable=SOFT, max_skew=5),
)
_MAX_KINDS = 2048
_MAX_SCOPES = 512
_MAX_DOMAINS = 512
_BYTES_OF_A_KIND = 2048
"""So many bytes of constraints, encoded, count as one kind: users may write a megabyte of them."""
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class SpreadConstraints:
    """The constraints of one kind of pod with their counts, or ``problem``: why they cannot be read."""

    hard: tuple[DomainCounts, ...] = ()
    soft: tuple[DomainCounts, ...] = ()
    problem: str = ""


class ConstraintCache:
    """The constraints of pods, by kind; the least recently used ones are dropped."""

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self._uses_system_defaults = args.defaulting_type == "System"
        self._defaults: Sequence[TopologySpreadConstraint] = (
            _SYSTEM_DEFAULTS if self._uses_system_defaults else args.default_constraints
        )
        self._selectors = DefaultSelectors(handle) if self._defaults else None
        self._comparing = handle.enabled("TaintTolerationComparisonOperators")
        self._with_match_label_keys = handle.enabled("MatchLabelKeysInPodTopologySpread")
        self._kinds: LruCache[Hashable, SpreadConstraints] = LruCache(_MAX_KINDS)
        self._nodes: LruCache[NodeScope, EligibleNodes] = LruCache(_MAX_SCOPES)
        self._domains: LruCache[Hashable, EligibleDomains] = LruCache(_MAX_DOMAINS)
        self.hard_by_default = any(default.when_unsatisfiable == HARD for default in self._defaults)

    def get(self, pod: Pod) -> SpreadConstraints | None:
        """The constraints of ``pod``, its own or the default ones; None when it is not to be spread."""
        if pod.spec.topology_spread_constraints:
            return self._own(pod)
        selector = self._selectors.get(pod) if self._selectors else None
        if selector is None:
            return None
        restrictions = _encode(_node_restrictions(pod))
        kind = (selector, restrictions)
        spread = self._kinds.get(kind)
        if spread is None:
            constraints = default_constraints(self._defaults, selector)
            weight = _weight(restrictions)
            spread = self._with_counts(constraints, pod, weight, requires_all=not self._uses_system_defaults)
            self._kinds.put(kind, spread, weight)
        return spread

    def _own(self, pod: Pod) -> SpreadConstraints:
        constraints, metadata = pod.spec.topology_spread_constraints, pod.metadata
        labels = metadata.labels or NO_LABELS
        values = tuple(labels.get(key) for constraint in constraints for key in constraint.match_label_keys)
        # Encoded, equal constraints are equal bytes; hashing those is quicker than hashing the structs.
        encoded = _encode((constraints, *_node_restrictions(pod)))
        kind = (metadata.namespace, encoded, values)
        spread = self._kinds.get(kind)
        if spread is None:
            weight = _weight(encoded)
            try:
                own = read_constraints(pod, with_match_label_keys=self._with_match_label_keys)
            except ConstraintError as error:
                spread = SpreadConstraints(problem=str(error))
            else:
                spread = self._with_counts(own, pod, weight, requires_all=True)
            self._kinds.put(kind, spread, weight)
        return spread

    def _with_counts(self, constraints: Constraints, pod: Pod, weight: int, *, requires_all: bool) -> SpreadConstraints:
        """With ``requires_all``, nodes that lack one of the labels of the soft constraints are not scored."""
        hard_keys = tuple([constraint.key for constraint in constraints.hard])
        soft_keys = tuple([constraint.key for constraint in constraints.soft]) if requires_all else ()
        return SpreadConstraints(
            hard=self._counts(constraints.hard, hard_keys, pod, weight, EligibleDomains),
            soft=self._counts(constraints.soft, soft_keys, pod, weight, ScoredDomains),
        )

    def _counts(
        self,
        constraints: Sequence[Constraint],
        required: tuple[str, ...],
        pod: Pod,
        weight: int,
        cls: type[EligibleDomains],
    ) -> tuple[DomainCounts, ...]:
        nodes_by_policy: dict[tuple[bool, bool], EligibleNodes] = {}
        counts = []
        for constraint in constraints:
            policy = constraint.honors_affinity, constraint.honors_taints
            nodes = nodes_by_policy.get(policy)
            if nodes is None:
                scope = scope_of(constraint, required, pod, comparing=self._comparing)
                nodes = self._nodes.get(scope)
                if nodes is None:
                    nodes = EligibleNodes(scope)
                    self._nodes.put(scope, nodes, weight)
                nodes_by_policy[policy] = nodes
            domains = self._domains.get((cls, constraint.key, nodes))
            if domains is None:
                domains = cls(constraint.key, nodes)
                self._domains.put((cls, constraint.key, nodes), domains)
            counts.append(DomainCounts(constraint, domains))
        return tuple(counts)


def _weight(encoded: bytes) -> int:
    """The weight of a kind in its cache, or of a scope, whose key contains ``encoded``."""
    return 1 + len(encoded) // _BYTES_OF_A_KIND


def _node_restrictions(pod: Pod) -> tuple[object, ...]:
    """The parts of ``pod`` that decide which nodes count for its constraints."""
    spec = pod.spec
    return spec.node_selector, spec.affinity and spec.affinity.node_affinity, spec.tolerations


_OWNERS = {(watch.api_version, watch.kind): watch for watch in (CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)}
_Label = tuple[str, str]
_Selector = Mapping[str, str]


class DefaultSelectors:
    """Selectors of the pods that belong together: those of the same Services and the same controller.

    As upstream's helper.DefaultSelector.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._services = ServiceIndex(())
        self._revision = -1
        self._selectors: LruCache[Any, tuple[Any, PodSelector | None]] = LruCache(4096)

    def get(self, pod: Pod) -> PodSelector | None:
        """The selector for ``pod``; None when no object selects it, or only such as select every pod."""
        revision = self._handle.revision(SERVICES)
        if revision != self._revision:
            self._services, self._revision = ServiceIndex(self._handle.list(SERVICES)), revision
        services = self._services.selecting(pod)
        owners = pod.metadata.owner_references
        reference = next((owner for owner in owners if owner.controller), None) if owners else None
        if not services and reference is None:
            return None
        watch = _OWNERS.get((reference.api_version, reference.kind)) if reference else None
        owner: Any = None
        if watch is not None and reference is not None:
            owner = self._handle.find(watch, reference.name, pod.metadata.namespace)
        key = (pod.metadata.namespace, *map(id, services), id(owner))
        cached = self._selectors.get(key)
        if cached is not None:
            return cached[1]
        requirements = combine(services, watch, owner)
        selector = in_namespace(pod.metadata.namespace, requirements) if requirements else None
        # Stored with the objects themselves: as long as they live, nothing else has their ids.
        self._selectors.put(key, ((services, owner), selector))
        return selector


class ServiceIndex:
    """Services by namespace and by one label that the pods they select must have."""

    def __init__(self, services: Iterable[Service]) -> None:
        self._namespaces: dict[str, dict[_Label, list[_Selector]]] = {}
        for service in services:
            selector = service.spec.selector
            if selector:  # A missing one selects no pod, and an empty one says nothing about the pods it selects.
                labels = self._namespaces.setdefault(service.metadata.namespace, {})
                labels.setdefault(next(iter(selector.items())), []).append(selector)

    def selecting(self, pod: Pod) -> tuple[_Selector, ...]:
        """The selectors of the Services that select ``pod``."""
        index = self._namespaces.get(pod.metadata.namespace)
        own = pod.metadata.labels
        if index is None or own is None:
            return ()
        selectors: list[_Selector] = []
        for label in own.items():
            candidates = index.get(label)
            if candidates:
                selectors += (selector for selector in candidates if selector.items() <= own.items())
        return tuple(selectors)


def combine(services: Iterable[_Selector], watch: Watch | None, owner: Any) -> Requirements:
    """The conditions of Services and of an owner, which is of the kind of ``watch``, all together."""
    labels: dict[str, str] = {}
    for selector in services:
        labels.update(selector)
    requirements = NO_REQUIREMENTS
    if watch is CONTROLLERS and owner is not None:
        labels.update(owner.spec.selector or NO_LABELS)
    elif owner is not None:
        with suppress(SelectorError):  # As upstream: an owner whose selector cannot be read adds nothing.
            requirements = read_requirements(owner.spec.selector) or NO_REQUIREMENTS
    return Requirements(dict.fromkeys((*equal_labels(sorted(labels.items())), *requirements)))
