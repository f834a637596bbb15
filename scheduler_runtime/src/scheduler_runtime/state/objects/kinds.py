"""Pods and nodes as kinds that can be followed."""

from __future__ import annotations

from scheduler_runtime.kube.watch import Kind
from scheduler_runtime.state.objects.decoding import decode_node, decode_node_list, decode_pod, decode_pod_list
from scheduler_runtime.state.objects.in_place_resize import ResizeRules
from scheduler_runtime.state.objects.structs import Node, Pod


def pods(resizing: ResizeRules) -> Kind[Pod]:
    """Pods that have not ended: one that ends is seen as deleted, because it needs nothing any more."""
    return Kind(
        "/api/v1/pods",
        key=lambda pod: pod.key,
        read_list=lambda raw: decode_pod_list(raw, resizing),
        read_item=lambda event: decode_pod(event.object, resizing),
        params={"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
    )


NODES: Kind[Node] = Kind(
    "/api/v1/nodes",
    key=lambda node: node.name,
    read_list=decode_node_list,
    read_item=lambda event: decode_node(event.object),
)
