"""Pods and nodes, decoded; what many of them have in common is held once."""

from __future__ import annotations

import msgspec

from scheduler_runtime.kube.watch.envelopes import ListMeta, Wire
from scheduler_runtime.state.objects.in_place_resize import BY_CONTAINER, ResizeRules
from scheduler_runtime.state.objects.shared_images import SharedImages
from scheduler_runtime.state.objects.shared_specs import SharedSpecs
from scheduler_runtime.state.objects.structs import Node, Pod


class PodList(Wire, frozen=True, gc=False):
    """A page of pods."""

    metadata: ListMeta = ListMeta()
    items: tuple[Pod, ...] = ()


class NodeList(Wire, frozen=True, gc=False):
    """A page of nodes."""

    metadata: ListMeta = ListMeta()
    items: tuple[Node, ...] = ()


_shapes = SharedSpecs()
_images = SharedImages()
_decode_pod = msgspec.json.Decoder(Pod).decode
_decode_pod_list = msgspec.json.Decoder(PodList).decode
_decode_node = msgspec.json.Decoder(Node).decode
_decode_node_list = msgspec.json.Decoder(NodeList).decode


def decode_pod(raw: bytes | str, resizing: ResizeRules = BY_CONTAINER) -> Pod:
    """Read a pod; what it takes is added up as ``resizing`` has it. Raises msgspec.MsgspecError."""
    return _shapes.share(_decode_pod(raw), resizing)


def decode_pod_list(raw: bytes | str, resizing: ResizeRules = BY_CONTAINER) -> PodList:
    """Read a page of pods. Raises msgspec.MsgspecError."""
    page = _decode_pod_list(raw)
    for pod in page.items:
        _shapes.share(pod, resizing)
    return page


def decode_node(raw: bytes | str) -> Node:
    """Read a node. Raises msgspec.MsgspecError."""
    return _images.share(_decode_node(raw))


def decode_node_list(raw: bytes | str) -> NodeList:
    """Read a page of nodes. Raises msgspec.MsgspecError."""
    page = _decode_node_list(raw)
    for node in page.items:
        _images.share(node)
    return page
