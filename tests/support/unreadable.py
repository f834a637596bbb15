"""Pods and nodes with amounts that are no quantities: no API server lets them in, and testing refuses them too."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.state.objects import Container, Node, NodeStatus, Pod, ResourceRequirements


def pod_asking(name: str, cpu: str, **spec: Any) -> Pod:
    """A pod that asks for so much cpu, and has the fields of ``spec`` beside that."""
    pod = testing.pod(name, **spec)
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": cpu}))
    return replace(pod, spec=replace(pod.spec, containers=(container,)))


def node_offering(name: str, cpu: str) -> Node:
    """A node that offers so much cpu."""
    node = testing.node(name)
    return replace(node, status=NodeStatus(allocatable={**(node.status.allocatable or {}), "cpu": cpu}))
