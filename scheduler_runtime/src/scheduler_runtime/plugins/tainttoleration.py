"""Taints and tolerations."""

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
from scheduler_runtime.plugins.matching import discouragements, keeps_away, unknown_operator

_UNTOLERATED = "node(s) had untolerated taint(s)"
_Tolerations = tuple[Toleration, ...]


class TaintToleration(Plugin):
    """Keep pods off nodes with taints they do not tolerate, and prefer nodes with fewer PreferNoSchedule taints."""

    declaration = in_tree()["TaintToleration"]
    row_local = True
    looks_at_pods = False

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.comparing = handle.enabled("TaintTolerationComparisonOperators")

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        away = np.array([self._away(taints, pod) for taints in nodes.taint_sets], np.bool_)
        if away.any():
            yield Reject(away[nodes.taint_set_ids], _reason(pod), resolvable=False)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        taints = nodes.taint_sets[nodes.taint_set_ids.item(row)]
        if taints and self._away(taints, pod):
            yield Reject(True, _reason(pod), resolvable=False)

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> _Tolerations:
        return tuple([each for each in pod.spec.tolerations if each.effect in ("", "PreferNoSchedule")])

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
            return QUEUE if event.new.uid == pod.uid else SKIP
        was_closed = event.old is None or self._away(event.old.spec.taints, pod)
        return QUEUE if was_closed and not self._away(event.new.spec.taints, pod) else SKIP

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.tolerations

    def _away(self, taints: tuple[Taint, ...], pod: Pod) -> bool:
        return keeps_away(taints, pod.spec.tolerations, comparing=self.comparing)

    def _discouragements(self, taints: tuple[Taint, ...], pod: Pod, state: _Tolerations | None) -> int:
        tolerations = pod.spec.tolerations if state is None else state
        return discouragements(taints, tolerations, comparing=self.comparing)


def _reason(pod: Pod) -> str:
    """Upstream's words, with the operator that was not understood, if that may be why no toleration helped."""
    unknown = unknown_operator(pod.spec.tolerations)
    return f"{_UNTOLERATED} ({unknown})" if unknown else _UNTOLERATED
