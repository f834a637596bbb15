"""PodTopologySpread's hooks, and the events that may make room for a pod."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    Node,
    NodeTable,
    Plugin,
    Pod,
    Reject,
    Scores,
)
from scheduler_runtime.catalog import Version, in_tree
from scheduler_runtime.catalog.args import PodTopologySpreadArgs
from scheduler_runtime.plugins.podtopologyspread.constraint_cache import ConstraintCache, SpreadConstraints
from scheduler_runtime.plugins.podtopologyspread.constraints import Constraint
from scheduler_runtime.plugins.podtopologyspread.filtering import HardConstraints, hard_constraints
from scheduler_runtime.plugins.podtopologyspread.scoring import SoftConstraints, normalize, raw_scores, soft_state

_CONSTRAINTS = "PodTopologySpread"
"""The key of the pod's constraints in the cycle."""


class PodTopologySpread(Plugin):
    """Spread pods evenly over the values of a node label, as their ``topologySpreadConstraints`` say.

    Pods that say nothing are spread by the default constraints, together with the other pods of their Services and
    of their ReplicaSet, StatefulSet or ReplicationController.
    """

    declaration = in_tree()["PodTopologySpread"]

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._constraints = ConstraintCache(args, handle)
        self._counts_nominated = Version.parse(handle.version).at_least("1.36")

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        if not (pod.spec.topology_spread_constraints or self._constraints.hard_by_default):
            return SKIP
        constraints = cycle[_CONSTRAINTS] = self._constraints.get(pod)
        if constraints is None:
            return SKIP
        if constraints.problem:
            return Reject.pod(constraints.problem)
        return hard_constraints(constraints.hard, pod, nodes) if constraints.hard else SKIP

    def filter(self, pod: Pod, nodes: NodeTable, state: HardConstraints | None) -> Iterable[Reject]:
        return self._filter_alone(pod, nodes) if state is None else state.rejections()

    def filter_row(self, pod: Pod, nodes: NodeTable, state: HardConstraints | None, row: int) -> Iterable[Reject]:
        if state is not None:
            return state.rejections_in_row(row)
        rejects = self._filter_alone(pod, nodes)
        return [reject for reject in rejects if reject.rows is True or reject.rows[row]]

    def _filter_alone(self, pod: Pod, nodes: NodeTable) -> Iterable[Reject]:
        """As ``filter``, in a profile that disables ``pre_filter``."""
        constraints = self._constraints.get(pod)
        if constraints is None:
            return ()
        if constraints.problem:
            return (Reject.pod(constraints.problem),)
        return hard_constraints(constraints.hard, pod, nodes).rejections()

    def add_pod(self, pod: Pod, nodes: NodeTable, state: HardConstraints, other: Pod, row: int) -> HardConstraints:
        state.count(other, row, 1)
        return state

    def remove_pod(self, pod: Pod, nodes: NodeTable, state: HardConstraints, other: Pod, row: int) -> HardConstraints:
        state.count(other, row, -1)
        return state

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        constraints = cycle[_CONSTRAINTS] if _CONSTRAINTS in cycle else self._constraints.get(pod)
        state = soft_state(constraints.soft, nodes) if constraints is not None else None
        return SKIP if state is None else state

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        soft = self._soft_state_of(state, pod, nodes)
        return np.zeros(len(nodes), np.int64) if soft is None else raw_scores(soft, len(nodes))

    def normalize_score(self, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
        soft = self._soft_state_of(state, pod, nodes)
        return np.zeros(len(nodes), np.int64) if soft is None else normalize(scores, soft, nodes.feasible)

    def _soft_state_of(self, state: Any, pod: Pod, nodes: NodeTable) -> SoftConstraints | None:
        """The score state; made here in a profile that disables ``pre_score``."""
        if isinstance(state, SoftConstraints):
            return state
        constraints = self._constraints.get(pod)
        return soft_state(constraints.soft, nodes) if constraints is not None else None

    def hint(self, event: Event, pod: Pod) -> Answer:
        own = self._constraints.get(pod) or SpreadConstraints()
        if own.problem:
            return QUEUE
        constraints = [counts.constraint for counts in own.hard]
        if event.resource == "Node":
            helps = node_helps(event.old, event.new, constraints)
        else:
            helps = pod_helps(event.old, event.new, pod, constraints, counts_nominated=self._counts_nominated)
        return QUEUE if helps else SKIP


def pod_helps(
    old: Pod | None, new: Pod | None, pod: Pod, constraints: Sequence[Constraint], *, counts_nominated: bool
) -> bool:
    """True if the event of another pod, or of ``pod`` itself, may help it.

    ``counts_nominated``: whether a pod counts that is only nominated to a node.
    """
    versions = [version for version in (old, new) if version is not None]
    for version in versions:
        has_node = version.spec.node_name or (counts_nominated and version.status.nominated_node_name)
        if not has_node and version.metadata.uid != pod.metadata.uid:
            return False
    if old is None or new is None:
        return any(constraint.selects(version) for constraint in constraints for version in versions)
    tolerates_more = new.metadata.uid == pod.metadata.uid and new.spec.tolerations != old.spec.tolerations
    if tolerates_more and any(constraint.honors_taints for constraint in constraints):
        return True
    return any(constraint.selects(old) != constraint.selects(new) for constraint in constraints)


def node_helps(old: Node | None, new: Node | None, constraints: Sequence[Constraint]) -> bool:
    """True if the event of a node may make a pod with these ``constraints`` schedulable."""
    if old is None or new is None:
        return any(_has_all_keys(node, constraints) for node in (old, new) if node is not None)
    did_count, counts = _has_all_keys(old, constraints), _has_all_keys(new, constraints)
    if did_count != counts:
        return True
    moved = any(old.labels.get(constraint.key) != new.labels.get(constraint.key) for constraint in constraints)
    return counts and (moved or old.spec.taints != new.spec.taints)


def _has_all_keys(node: Node, constraints: Sequence[Constraint]) -> bool:
    return all(constraint.key in node.labels for constraint in constraints)
