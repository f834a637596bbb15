"""Lists and watches: the envelopes around objects."""

from __future__ import annotations

import msgspec

from .images import SharedImages
from .objects import Node, ObjectMeta, Pod, Wire
from .resizing import BY_CONTAINER, Resizing
from .shapes import Shapes


class ListMeta(Wire, frozen=True, gc=False):
    """Where a list was taken, and where its next page begins."""

    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class PodList(Wire, frozen=True, gc=False):
    """A page of pods."""

    metadata: ListMeta = ListMeta()
    items: tuple[Pod, ...] = ()


class NodeList(Wire, frozen=True, gc=False):
    """A page of nodes."""

    metadata: ListMeta = ListMeta()
    items: tuple[Node, ...] = ()


class _ListHead(Wire, frozen=True, gc=False):
    metadata: ListMeta = ListMeta()


class Status(Wire, frozen=True, gc=False):
    """The API server's answer when it does not do what was asked."""

    code: int = 0
    reason: str = ""
    message: str = ""


class Bookmark(Wire, frozen=True, gc=False):
    """An object of which only the resource version counts."""

    metadata: ObjectMeta = ObjectMeta()


class WatchEvent(Wire, frozen=True, gc=False):
    """One line of a watch: ``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK`` or ``ERROR``."""

    type: str
    object: msgspec.Raw

    def pod(self, resizing: Resizing = BY_CONTAINER) -> Pod:
        """The object of a watch on pods."""
        return _shapes.share(_decode_pod(self.object), resizing)

    def node(self) -> Node:
        """The object of a watch on nodes."""
        return decode_node(self.object)

    def bookmark(self) -> str:
        """The resource version that a ``BOOKMARK`` brings."""
        return _decode_bookmark(self.object).metadata.resource_version

    def error(self) -> Status:
        """Why the watch ends, when the type is ``ERROR``."""
        return _decode_status(self.object)


_shapes = Shapes()
_images = SharedImages()
_decode_pod = msgspec.json.Decoder(Pod).decode
_decode_pod_list = msgspec.json.Decoder(PodList).decode
_decode_node = msgspec.json.Decoder(Node).decode
_decode_node_list = msgspec.json.Decoder(NodeList).decode
_decode_bookmark = msgspec.json.Decoder(Bookmark).decode
_decode_list_head = msgspec.json.Decoder(_ListHead).decode
_decode_status = msgspec.json.Decoder(Status).decode


def decode_pod(raw: bytes | str, resizing: Resizing = BY_CONTAINER) -> Pod:
    """Read a pod; what it takes is added up as ``resizing`` has it. Raises msgspec.MsgspecError."""
    return _shapes.share(_decode_pod(raw), resizing)


def decode_pod_list(raw: bytes | str, resizing: Resizing = BY_CONTAINER) -> PodList:
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


def continue_token(raw: bytes) -> str:
    """What asks for the page after this one, empty when it is the last. Raises msgspec.MsgspecError."""
    return _decode_list_head(raw).metadata.continue_token
