"""NodeResourcesFit: room on the nodes for a pod's requests. Upstream: noderesources/fit.go."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np

from scheduler_runtime.api import (
    QUEUE,
    SKIP,
    Answer,
    Cycle,
    Event,
    Handle,
    Ints,
    Node,
    NodeTable,
    Plugin,
    Pod,
    QuantityError,
    Reject,
)
from scheduler_runtime.catalog import in_tree
from scheduler_runtime.catalog.args import NodeResourcesFitArgs
from scheduler_runtime.catalog.syntax import is_extended_resource
from scheduler_runtime.plugins.noderesources.formulas import ScoredResource, scored_resources
from scheduler_runtime.plugins.noderesources.strategy import Strategy
from scheduler_runtime.state.table import allocatable_of

Needs = Sequence[tuple[str, int]]
"""Resources, and the amount of each that must be free."""
_FULL = "Too many pods"


class NodeResourcesFit(Plugin):
    """Keep pods off nodes without room for their requests, and score nodes by how full they would be.

    ``scoringStrategy`` says whether emptier nodes (LeastAllocated), fuller ones (MostAllocated) or a given degree
    (RequestedToCapacityRatio) are preferred.
    """

    declaration = in_tree()["NodeResourcesFit"]
    row_local = True

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.resources = args.scoring_strategy.resources
        self.strategy = Strategy(args.scoring_strategy)

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Needs:
        return self._needs(pod)

    def filter(self, pod: Pod, nodes: NodeTable, state: Needs | None) -> Iterator[Reject]:
        full = nodes.pod_counts >= nodes.max_pods
        if np.count_nonzero(full):
            yield Reject(full, _FULL)
        for resource, amount in self._needs(pod) if state is None else state:
            allocatable = nodes.allocatable(resource)
            insufficient = allocatable - nodes.requested(resource) < amount
            if np.count_nonzero(insufficient):
                # Where the node as a whole is too small, evicting pods cannot help.
                yield Reject(insufficient, f"Insufficient {resource}", resolvable=allocatable >= amount)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Needs | None, row: int) -> Iterator[Reject]:
        if nodes.pod_counts.item(row) >= nodes.max_pods.item(row):
            yield Reject(True, _FULL)
        for resource, amount in self._needs(pod) if state is None else state:
            allocatable = nodes.allocatable_in(row, resource)
            if allocatable - nodes.requested_in(row, resource) < amount:
                yield Reject(True, f"Insufficient {resource}", resolvable=allocatable >= amount)

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Sequence[ScoredResource]:
        return scored_resources(self.resources, pod.requests.pending)

    def score(self, pod: Pod, nodes: NodeTable, state: Sequence[ScoredResource] | None) -> Ints:
        resources = scored_resources(self.resources, pod.requests.pending) if state is None else state
        return self.strategy.score(nodes, resources)

    def score_row(self, pod: Pod, nodes: NodeTable, state: Sequence[ScoredResource] | None, row: int) -> int:
        resources = scored_resources(self.resources, pod.requests.pending) if state is None else state
        return self.strategy.score_row(nodes, resources, row)

    def hint(self, event: Event, pod: Pod) -> Answer:
        # As isSchedulableAfterPodEvent and isSchedulableAfterNodeChange.
        if event.resource == "Pod":
            return QUEUE if self._pod_frees_room(event, pod) else SKIP
        return QUEUE if self._node_offers_room(event.old, event.new, pod) else SKIP

    def _pod_frees_room(self, event: Event, pod: Pod) -> bool:
        if event.new is not None and event.new.metadata.uid == pod.metadata.uid:
            return True
        requested = _amounts(pod)
        if requested is None:
            return False
        if event.new is None:
            return bool(event.old.spec.node_name or event.old.status.nominated_node_name)
        if not event.new.spec.node_name:
            return False
        before, after = _amounts(event.old) or {}, _amounts(event.new) or {}
        return any(before.get(resource, 0) > after.get(resource, 0) for resource, amount in requested.items() if amount)

    def _node_offers_room(self, old: Node | None, new: Node, pod: Pod) -> bool:
        """True if the pod would fit on the empty node, and the node offers more than before of what the pod needs."""
        requested = _amounts(pod)
        if requested is None:
            return False
        offered = allocatable_of(new)
        fits = all(offered.get(name, 0) >= amount for name, amount in requested.items())
        if not fits or offered.get("pods", 0) < 1:
            return False
        before = allocatable_of(old) if old is not None else {}
        needed = (name for name, amount in requested.items() if amount)
        return any(offered.get(name, 0) > before.get(name, 0) for name in ("pods", *needed))

    def signature(self, pod: Pod) -> Hashable:
        return pod.requests.key

    def _needs(self, pod: Pod) -> Needs:
        args, needs = self.args, []
        for name, amount in pod.requests.amounts.items():
            if amount <= 0:
                continue
            is_ignored = name in args.ignored_resources or name.split("/")[0] in args.ignored_resource_groups
            # Only extended resources can be ignored, whatever the arguments name.
            if not (is_ignored and is_extended_resource(name)):
                needs.append((name, amount))
        return needs


def _amounts(pod: Pod) -> Mapping[str, int] | None:
    """The requests of ``pod``; None when they cannot be read, which only a change of the pod itself can mend."""
    try:
        return pod.requests.amounts
    except QuantityError:
        return None
