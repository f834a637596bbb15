"""Nodes that are out because of which node they are, or because they are cordoned."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from scheduler_runtime.api import QUEUE, SKIP, Answer, Event, Handle, NodeTable, Plugin, Pod, Reject, Taint
from scheduler_runtime.catalog import in_tree
from scheduler_runtime.plugins.matching import tolerates

CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_ANOTHER = "node(s) didn't match the requested node name"
_UNSCHEDULABLE = "node(s) were unschedulable"


class NodeName(Plugin):
    """Keep a pod that names its node off every other node."""

    declaration = in_tree()["NodeName"]
    row_local = True
    looks_at_pods = False

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        if not pod.spec.node_name:
            return
        others = np.ones(len(nodes), np.bool_)
        row = nodes.row(pod.spec.node_name)
        if row is not None:
            others[row] = False
        yield Reject(others, _ANOTHER, resolvable=False)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        if pod.spec.node_name and pod.spec.node_name != nodes.names[row]:
            yield Reject(True, _ANOTHER, resolvable=False)

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.node_name


class NodeUnschedulable(Plugin):
    """Keep pods off cordoned nodes, unless they tolerate the taint that a cordoned node has."""

    declaration = in_tree()["NodeUnschedulable"]
    row_local = True
    looks_at_pods = False

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.comparing = handle.enabled("TaintTolerationComparisonOperators")

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        cordoned = nodes.unschedulable
        if np.count_nonzero(cordoned) and not self._tolerated_by(pod):
            yield Reject(cordoned, _UNSCHEDULABLE, resolvable=False)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        if nodes.unschedulable.item(row) and not self._tolerated_by(pod):
            yield Reject(True, _UNSCHEDULABLE, resolvable=False)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if event.resource == "Pod":
            helps = event.new.uid == pod.uid and self._tolerated_by(event.new)
        else:
            was_open = event.old is not None and not event.old.spec.unschedulable
            helps = not event.new.spec.unschedulable and not was_open
        return QUEUE if helps else SKIP

    def signature(self, pod: Pod) -> Hashable:
        return self._tolerated_by(pod)

    def _tolerated_by(self, pod: Pod) -> bool:
        return tolerates(pod.spec.tolerations, CORDONED, comparing=self.comparing)
