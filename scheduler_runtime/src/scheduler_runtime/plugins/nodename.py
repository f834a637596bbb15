"""NodeName: a pod that names its node. Upstream: pkg/scheduler/framework/plugins/nodename."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject
from scheduler_runtime.catalog import in_tree

_ANOTHER_NODE = "node(s) didn't match the requested node name"


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
        yield Reject(others, _ANOTHER_NODE, resolvable=False)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        if pod.spec.node_name and pod.spec.node_name != nodes.names[row]:
            yield Reject(True, _ANOTHER_NODE, resolvable=False)

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.node_name
