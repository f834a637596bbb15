"""Taints and tolerations."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from ..api import QUEUE, SKIP, Answer, Event, Ints, NodeTable, Plugin, Pod, Reject, Scores, share_of_the_largest
from ..catalog import in_tree
from ..matching import discouragements, keeps_away


class TaintToleration(Plugin):
    """Keep pods off nodes with taints they do not tolerate, and prefer nodes with fewer PreferNoSchedule taints."""

    declaration = in_tree()["TaintToleration"]
    row_local = True

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        away = np.array([keeps_away(taints, pod.spec.tolerations) for taints in nodes.taint_sets], np.bool_)
        if away.any():
            yield Reject(away[nodes.taint_set_ids], "node(s) had untolerated taint(s)", resolvable=False)

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        counts = np.array([discouragements(taints, pod.spec.tolerations) for taints in nodes.taint_sets], np.int64)
        return counts[nodes.taint_set_ids] if counts.any() else np.zeros(len(nodes), np.int64)

    def normalize_score(self, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
        return share_of_the_largest(scores, nodes.feasible, reverse=True)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if event.resource == "Pod":
            return QUEUE if event.new.uid == pod.uid else SKIP
        tolerations = pod.spec.tolerations
        was_closed = event.old is None or keeps_away(event.old.spec.taints, tolerations)
        return QUEUE if was_closed and not keeps_away(event.new.spec.taints, tolerations) else SKIP

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.tolerations
