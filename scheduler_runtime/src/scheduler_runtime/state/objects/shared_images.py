"""The images that nodes have, each held once.

A kubelet tells of up to fifty, under long names, and most nodes have most of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from msgspec.structs import force_setattr

from scheduler_runtime.state.lru import next_sweep
from scheduler_runtime.state.objects.structs import ContainerImage, Node

FEW = 1024
"""So many new ones are not worth a sweep."""


class SharedImages:
    """The images of the nodes that were seen last."""

    def __init__(self) -> None:
        self._known: dict[ContainerImage, ContainerImage] = {}
        self._sweep_at = FEW

    def __len__(self) -> int:
        return len(self._known)

    def share(self, node: Node) -> Node:
        """Let ``node``, which is changed, have the very images that others have; return it."""
        images = node.status.images
        if images:
            known = self._known
            force_setattr(node.status, "images", tuple([known.setdefault(each, each) for each in images]))
            if len(known) >= self._sweep_at:
                self._sweep()
        return node

    def _sweep(self) -> None:
        """Forget what no node has any more."""
        (of_nobody,) = _references({each: each for each in [ContainerImage()]})
        counted = zip(self._known, _references(self._known), strict=True)
        self._known = {image: image for image, references in counted if references > of_nobody}
        self._sweep_at = next_sweep(len(self._known), FEW)


def _references(known: Iterable[ContainerImage]) -> list[int]:
    """From how many places each is referred to."""
    return [sys.getrefcount(image) for image in known]
