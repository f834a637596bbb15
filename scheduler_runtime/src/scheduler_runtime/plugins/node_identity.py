"""Nodes that are out because of which node they are, or because they are cordoned."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from ..api import QUEUE, SKIP, Answer, Event, NodeTable, Plugin, Pod, Reject, Taint
from ..catalog import in_tree
from ..matching import tolerates

CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeName(Plugin):
    """Keep a pod that names its node off every other node."""

    declaration = in_tree()["NodeName"]

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        if not pod.spec.node_name:
            return
        others = np.ones(len(nodes), np.bool_)
        row = nodes.row(pod.spec.node_name)
        if row is not None:
            others[row] = False
        yield Reject(others, "node(s) didn't match the requested node name", resolvable=False)

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.node_name


class NodeUnschedulable(Plugin):
    """Keep pods off cordoned nodes, unless they tolerate the taint that a cordoned node has."""

    declaration = in_tree()["NodeUnschedulable"]

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        cordoned = nodes.unschedulable
        if np.count_nonzero(cordoned) and not tolerates(pod.spec.tolerations, CORDONED):
            yield Reject(cordoned, "node(s) were unschedulable", resolvable=False)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if event.resource == "Pod":
            helps = event.new.uid == pod.uid and tolerates(event.new.spec.tolerations, CORDONED)
        else:
            was_open = event.old is not None and not event.old.spec.unschedulable
            helps = not event.new.spec.unschedulable and not was_open
        return QUEUE if helps else SKIP

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.tolerations
