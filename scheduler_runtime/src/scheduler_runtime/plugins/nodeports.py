"""Ports of the node itself, which one pod at a time can bind."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from scheduler_runtime.api import QUEUE, SKIP, Answer, Cycle, Event, NodeTable, Plugin, Pod, Reject
from scheduler_runtime.catalog import in_tree
from scheduler_runtime.state.table import HostPort, host_ports

_TAKEN = "node(s) didn't have free ports for the requested pod ports"
_Ports = tuple[HostPort, ...]


class NodePorts(Plugin):
    """Keep a pod that binds ports of its node off nodes where another pod has bound one of them."""

    declaration = in_tree()["NodePorts"]
    row_local = True

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return host_ports(pod) or SKIP

    def filter(self, pod: Pod, nodes: NodeTable, state: _Ports | None) -> Iterator[Reject]:
        taken = np.zeros(len(nodes), np.bool_)
        for port in host_ports(pod) if state is None else state:
            for users in nodes.port_users(port):
                taken |= users > 0
        if np.count_nonzero(taken):
            yield Reject(taken, _TAKEN)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: _Ports | None, row: int) -> Iterator[Reject]:
        ports = host_ports(pod) if state is None else state
        if any(users.item(row) > 0 for port in ports for users in nodes.port_users(port)):
            yield Reject(True, _TAKEN)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if event.resource == "Node":
            return QUEUE
        gone: Pod = event.old
        if not (gone.spec.node_name or gone.status.nominated_node_name):
            return SKIP
        freed = host_ports(gone)
        return QUEUE if any(port.conflicts(other) for port in host_ports(pod) for other in freed) else SKIP

    def signature(self, pod: Pod) -> Hashable:
        return host_ports(pod)
