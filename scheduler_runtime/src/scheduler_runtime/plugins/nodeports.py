"""NodePorts: ports of the node, each for one pod at a time. Upstream: pkg/scheduler/framework/plugins/nodeports."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from scheduler_runtime.api import QUEUE, SKIP, Answer, Cycle, Event, NodeTable, Plugin, Pod, Reject
from scheduler_runtime.catalog import in_tree
from scheduler_runtime.state.table import HostPort, host_ports

_NO_FREE_PORTS = "node(s) didn't have free ports for the requested pod ports"
_Ports = tuple[HostPort, ...]


class NodePorts(Plugin):
    """Keep a pod that binds ports of its node off nodes where another pod has bound one of them."""

    declaration = in_tree()["NodePorts"]
    row_local = True

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return host_ports(pod) or SKIP

    def filter(self, pod: Pod, nodes: NodeTable, state: _Ports | None) -> Iterator[Reject]:
        conflicts = np.zeros(len(nodes), np.bool_)
        for port in host_ports(pod) if state is None else state:
            for users in nodes.port_users(port):
                conflicts |= users > 0
        if np.count_nonzero(conflicts):
            yield Reject(conflicts, _NO_FREE_PORTS)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: _Ports | None, row: int) -> Iterator[Reject]:
        ports = host_ports(pod) if state is None else state
        if any(nodes.is_port_used(row, port) for port in ports):
            yield Reject(True, _NO_FREE_PORTS)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if event.resource == "Node":
            return QUEUE
        deleted: Pod = event.old
        if not (deleted.spec.node_name or deleted.status.nominated_node_name):
            return SKIP
        # By number: both pods may have thousands of ports.
        freed: dict[tuple[str, int], list[HostPort]] = {}
        for port in host_ports(deleted):
            freed.setdefault(port[1:], []).append(port)
        if not freed:
            return SKIP
        conflicts = (port.conflicts(other) for port in host_ports(pod) for other in freed.get(port[1:], ()))
        return QUEUE if any(conflicts) else SKIP

    def signature(self, pod: Pod) -> Hashable:
        return host_ports(pod)
