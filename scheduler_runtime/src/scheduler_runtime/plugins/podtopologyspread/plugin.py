"""The hooks of PodTopologySpread."""

from __future__ import annotations

from collections.abc import Iterable
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
from scheduler_runtime.catalog.args import PodTopologySpreadArgs
from scheduler_runtime.plugins.podtopologyspread.constraint_cache import ConstraintCache, SpreadConstraints
from scheduler_runtime.plugins.podtopologyspread.filtering import HardConstraints
from scheduler_runtime.plugins.podtopologyspread.hints import node_helps, pod_helps
from scheduler_runtime.plugins.podtopologyspread.scoring import SoftConstraints, normalised, raw_scores, soft_state

_SPREADING = "PodTopologySpread"
"""Where the kind of the pod is in the cycle."""


class PodTopologySpread(Plugin):
    """Spread pods evenly over the values of a node label, as their ``topologySpreadConstraints`` say.

    Pods that say nothing are spread by the default constraints, together with the other pods of their Services and
    of their ReplicaSet, StatefulSet or ReplicationController.
    """

    declaration = in_tree()["PodTopologySpread"]

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._spreadings = ConstraintCache(args, handle)
        self._hears_of_nominated = Version.parse(handle.version).at_least("1.36")

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        if not (pod.spec.topology_spread_constraints or self._spreadings.hard_by_default):
            return SKIP
        spreading = cycle[_SPREADING] = self._spreadings.of(pod)
        if spreading is None:
            return SKIP
        if spreading.problem:
            return Reject.pod(spreading.problem)
        return _hard(spreading, pod, nodes) if spreading.hard else SKIP

    def filter(self, pod: Pod, nodes: NodeTable, state: HardConstraints | None) -> Iterable[Reject]:
        return self._asked_alone(pod, nodes) if state is None else state.rejects()

    def filter_row(self, pod: Pod, nodes: NodeTable, state: HardConstraints | None, row: int) -> Iterable[Reject]:
        if state is not None:
            return state.rejects_row(row)
        rejects = self._asked_alone(pod, nodes)
        return [reject for reject in rejects if reject.rows is True or reject.rows[row]]

    def _asked_alone(self, pod: Pod, nodes: NodeTable) -> Iterable[Reject]:
        """As ``filter``, in a profile that disables ``pre_filter``."""
        spreading = self._spreadings.of(pod)
        if spreading is None:
            return ()
        if spreading.problem:
            return (Reject.pod(spreading.problem),)
        return _hard(spreading, pod, nodes).rejects()

    def add_pod(self, pod: Pod, nodes: NodeTable, state: HardConstraints, other: Pod, row: int) -> HardConstraints:
        state.move(other, row, 1)
        return state

    def remove_pod(self, pod: Pod, nodes: NodeTable, state: HardConstraints, other: Pod, row: int) -> HardConstraints:
        state.move(other, row, -1)
        return state

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        spreading = cycle[_SPREADING] if _SPREADING in cycle else self._spreadings.of(pod)
        return _soft(spreading, nodes) if spreading is not None and spreading.soft else SKIP

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        soft = self._soft_of(state, pod, nodes)
        return np.zeros(len(nodes), np.int64) if soft is None else raw_scores(soft, len(nodes))

    def normalize_score(self, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
        soft = self._soft_of(state, pod, nodes)
        return np.zeros(len(nodes), np.int64) if soft is None else normalised(scores, soft, nodes.feasible)

    def _soft_of(self, state: Any, pod: Pod, nodes: NodeTable) -> SoftConstraints | None:
        """The score state; made here in a profile that disables ``pre_score``."""
        if isinstance(state, SoftConstraints):
            return state
        spreading = self._spreadings.of(pod)
        return _soft(spreading, nodes) if spreading is not None and spreading.soft else None

    def hint(self, event: Event, pod: Pod) -> Answer:
        spreading = self._spreadings.of(pod) or SpreadConstraints()
        if spreading.problem:
            return QUEUE
        constraints = [tally.constraint for tally in spreading.hard]
        if event.resource == "Node":
            helps = node_helps(event.old, event.new, constraints)
        else:
            helps = pod_helps(event.old, event.new, pod, constraints, nominated=self._hears_of_nominated)
        return QUEUE if helps else SKIP


def _hard(spreading: SpreadConstraints, pod: Pod, nodes: NodeTable) -> HardConstraints:
    for tally in spreading.hard:
        tally.refresh(nodes)
    return HardConstraints(spreading.hard, pod)


def _soft(spreading: SpreadConstraints, nodes: NodeTable) -> SoftConstraints:
    for tally in spreading.soft:
        tally.refresh(nodes)
    return soft_state(spreading.soft, nodes)
