"""Room on the nodes: what fits, and which node it fits best."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from ...api import (
    MAX_SCORE,
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
    Reject,
    Scores,
)
from ...catalog import Version, in_tree
from ...catalog.args import NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs
from ...catalog.names import is_extended_resource
from ...table import offered_by
from .allocation import balance, loads_of, strategy_of

Needs = Sequence[tuple[str, int]]
"""Resources and how much of each must be free."""


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
        self.strategy = strategy_of(args.scoring_strategy)

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Needs:
        return self._needs(pod)

    def filter(self, pod: Pod, nodes: NodeTable, state: Needs | None) -> Iterator[Reject]:
        full = nodes.pod_counts >= nodes.max_pods
        if np.count_nonzero(full):
            yield Reject(full, "Too many pods")
        for resource, amount in self._needs(pod) if state is None else state:
            allocatable = nodes.allocatable(resource)
            short = allocatable - nodes.requested(resource) < amount
            if np.count_nonzero(short):
                yield Reject(short, f"Insufficient {resource}", resolvable=allocatable >= amount)

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        loads = loads_of(self.resources, pod.requests.pending, nodes, nodes.scored)
        return self.strategy(loads, len(nodes))

    def hint(self, event: Event, pod: Pod) -> Answer:
        if event.resource == "Pod":
            return QUEUE if self._pod_gives_room(event, pod) else SKIP
        return QUEUE if self._node_gives_room(event.old, event.new, pod) else SKIP

    def _pod_gives_room(self, event: Event, pod: Pod) -> bool:
        if event.new is None:
            return bool(event.old.spec.node_name or event.old.status.nominated_node_name)
        if event.new.uid == pod.uid:
            return True
        if not event.new.spec.node_name:
            return False
        before, after = event.old.requests.amounts, event.new.requests.amounts
        return any(before.get(resource, 0) > after.get(resource, 0) for resource in _asked_for(pod))

    def _node_gives_room(self, old: Node | None, new: Node, pod: Pod) -> bool:
        offers = offered_by(new)
        fits = all(offers.get(name, 0) >= amount for name, amount in pod.requests.amounts.items())
        if not fits or offers["pods"] < 1:
            return False
        before = offered_by(old) if old is not None else {}
        return any(offers.get(name, 0) > before.get(name, 0) for name in ("pods", *_asked_for(pod)))

    def signature(self, pod: Pod) -> Hashable:
        return tuple(sorted(pod.requests.amounts.items())), tuple(sorted(pod.requests.pending.items()))

    def _needs(self, pod: Pod) -> Needs:
        return [
            (name, amount) for name, amount in pod.requests.amounts.items() if amount > 0 and not self._ignores(name)
        ]

    def _ignores(self, resource: str) -> bool:
        listed = resource in self.args.ignored_resources or resource.split("/")[0] in self.args.ignored_resource_groups
        return listed and is_extended_resource(resource)


class NodeResourcesBalancedAllocation(Plugin):
    """Prefer nodes whose resources would be used evenly.

    Since Kubernetes 1.36 what counts is whether the pod makes a node more even, before that how even it is with it.
    """

    declaration = in_tree()["NodeResourcesBalancedAllocation"]
    row_local = True

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.resources = args.resources
        self.by_improvement = Version.parse(handle.version).at_least("1.36")

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        amounts = pod.requests.amounts
        return None if any(amounts.get(resource.name) for resource in self.resources) else SKIP

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        loads = loads_of(self.resources, pod.requests.amounts, nodes, nodes.requested)
        with_pod = balance([(load.requested, load.allocatable) for load in loads], len(nodes))
        if not self.by_improvement:
            return with_pod
        without = balance([(load.allocated, load.allocatable) for load in loads], len(nodes))
        half = MAX_SCORE // 2
        scores: Ints = half + (half + with_pod - without) // 2
        return scores

    def signature(self, pod: Pod) -> Hashable:
        return tuple(sorted(pod.requests.amounts.items()))


def _asked_for(pod: Pod) -> Iterator[str]:
    return (resource for resource, amount in pod.requests.amounts.items() if amount)
