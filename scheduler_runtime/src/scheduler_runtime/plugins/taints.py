"""TaintToleration and NodeUnschedulable: nodes that repel pods, unless these tolerate it.

Upstream: pkg/scheduler/framework/plugins/tainttoleration and nodeunschedulable.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
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
    Taint,
    Toleration,
    keeps_equal,
    share_of_the_largest,
)
from scheduler_runtime.catalog import in_tree
from scheduler_runtime.plugins.matching import discouragements, keeps_away, tolerates, unknown_operator

CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""The taint that the node lifecycle controller gives to cordoned nodes."""
_UNSCHEDULABLE = "node(s) were unschedulable"
_UNTOLERATED = "node(s) had untolerated taint(s)"
_Tolerations = tuple[Toleration, ...]


class _TaintPlugin(Plugin):
    """A plugin that compares taints of nodes with tolerations of pods."""

    row_local = True
    looks_at_pods = False

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.comparing = handle.enabled("TaintTolerationComparisonOperators")


class NodeUnschedulable(_TaintPlugin):
    """Keep pods off cordoned nodes, unless they tolerate the taint that a cordoned node has."""

    declaration = in_tree()["NodeUnschedulable"]

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        cordoned = nodes.unschedulable
        if np.count_nonzero(cordoned) and not self._is_tolerated_by(pod):
            yield Reject(cordoned, _UNSCHEDULABLE, resolvable=False)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        if nodes.unschedulable.item(row) and not self._is_tolerated_by(pod):
            yield Reject(True, _UNSCHEDULABLE, resolvable=False)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if event.resource == "Pod":
            helps = event.new.metadata.uid == pod.metadata.uid and self._is_tolerated_by(event.new)
        else:
            was_open = event.old is not None and not event.old.spec.unschedulable
            helps = not event.new.spec.unschedulable and not was_open
        return QUEUE if helps else SKIP

    def signature(self, pod: Pod) -> Hashable:
        return self._is_tolerated_by(pod)

    def _is_tolerated_by(self, pod: Pod) -> bool:
        return tolerates(pod.spec.tolerations, CORDONED, comparing=self.comparing)


class TaintToleration(_TaintPlugin):
    """Keep pods off nodes with taints they do not tolerate, and prefer nodes with fewer PreferNoSchedule taints."""

    declaration = in_tree()["TaintToleration"]

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        is_repelled = np.array([self._repels(taints, pod) for taints in nodes.taint_sets], np.bool_)
        if is_repelled.any():
            yield Reject(is_repelled[nodes.taint_set_ids], _reason(pod), resolvable=False)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        taints = nodes.taint_sets[nodes.taint_set_ids.item(row)]
        if taints and self._repels(taints, pod):
            yield Reject(True, _reason(pod), resolvable=False)

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> _Tolerations:
        return tuple([one for one in pod.spec.tolerations if one.effect in ("", "PreferNoSchedule")])

    def score(self, pod: Pod, nodes: NodeTable, state: _Tolerations | None) -> Scores:
        counts = np.array([self._discouragements(taints, pod, state) for taints in nodes.taint_sets], np.int64)
        return counts[nodes.taint_set_ids] if counts.any() else np.zeros(len(nodes), np.int64)

    def score_row(self, pod: Pod, nodes: NodeTable, state: _Tolerations | None, row: int) -> int:
        taints = nodes.taint_sets[nodes.taint_set_ids.item(row)]
        return self._discouragements(taints, pod, state) if taints else 0

    @keeps_equal
    def normalize_score(self, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
        return share_of_the_largest(scores, nodes.feasible, reverse=True)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if event.resource == "Pod":
            return QUEUE if event.new.metadata.uid == pod.metadata.uid else SKIP
        was_repelled = event.old is None or self._repels(event.old.spec.taints, pod)
        return QUEUE if was_repelled and not self._repels(event.new.spec.taints, pod) else SKIP

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.tolerations

    def _repels(self, taints: tuple[Taint, ...], pod: Pod) -> bool:
        return keeps_away(taints, pod.spec.tolerations, comparing=self.comparing)

    def _discouragements(self, taints: tuple[Taint, ...], pod: Pod, state: _Tolerations | None) -> int:
        tolerations = pod.spec.tolerations if state is None else state
        return discouragements(taints, tolerations, comparing=self.comparing)


def _reason(pod: Pod) -> str:
    """Upstream's words, and the unknown operator if there is one: that may be why no toleration helped."""
    unknown = unknown_operator(pod.spec.tolerations)
    return f"{_UNTOLERATED} ({unknown})" if unknown else _UNTOLERATED
