"""Images that nodes have already."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from scheduler_runtime.api import MAX_SCORE, Handle, Ints, NodeTable, Plugin, Pod
from scheduler_runtime.catalog import Version, in_tree

_MEBIBYTE = 1024 * 1024
_LEAST = 23 * _MEBIBYTE
"""Bytes that have to be there to count at all."""
_MOST = 1000 * _MEBIBYTE
"""Bytes per image from which on more does not count."""


class ImageLocality(Plugin):
    """Prefer nodes that have the images of the pod, the more bytes the better.

    An image counts by the share of the nodes that have it, so that pods do not crowd on the first node with it.
    """

    declaration = in_tree()["ImageLocality"]
    looks_at_pods = False

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        version = Version.parse(handle.version)
        self.scores_volumes = version.at_least("1.36")
        self.counts_volumes = version.at_least("1.37")

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Ints:
        most = _MOST * self._divisor(pod)
        present: Ints | None = None
        for name in self._images(pod):
            image = nodes.image(name)
            if image is not None:
                size = min(_spread_size(image.size, len(image.nodes), len(nodes)), most)
                bytes_there = size * nodes.image_rows(name)
                present = bytes_there if present is None else present + bytes_there
        if present is None:
            return np.zeros(len(nodes), np.int64)
        scores: Ints = MAX_SCORE * (np.clip(present, _LEAST, most) - _LEAST) // (most - _LEAST)
        return scores

    def signature(self, pod: Pod) -> Hashable:
        spec = pod.spec
        volumes = tuple([volume.image.reference for volume in spec.volumes if volume.image is not None])
        return (
            tuple([each.image for each in spec.containers]),
            tuple([each.image for each in spec.init_containers]),
            volumes,
        )

    def _images(self, pod: Pod) -> Iterator[str]:
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            yield normalised(container.image)
        if self.scores_volumes:
            for volume in pod.spec.volumes:
                if volume.image is not None:
                    yield normalised(volume.image.reference)

    def _divisor(self, pod: Pod) -> int:
        """By how many images the bytes are divided. Kubernetes 1.36 adds those of volumes and forgets them here."""
        count = len(pod.spec.init_containers) + len(pod.spec.containers)
        if self.counts_volumes:
            count += sum(volume.image is not None for volume in pod.spec.volumes)
        return count


def _spread_size(size: int, having: int, nodes: int) -> int:
    return int(float(size) * (having / nodes))


@lru_cache(maxsize=4096)
def normalised(name: str) -> str:
    """An image's name with the tag that it has when none is written."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
