"""ImageLocality: images that nodes have already. Upstream: pkg/scheduler/framework/plugins/imagelocality."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from scheduler_runtime.api import MAX_SCORE, Handle, Ints, NodeTable, Plugin, Pod
from scheduler_runtime.catalog import Version, in_tree

_MEBIBYTE = 1024 * 1024
_MIN_BYTES = 23 * _MEBIBYTE
"""Fewer bytes on a node count as none (upstream's minThreshold)."""
_MAX_BYTES_PER_IMAGE = 1000 * _MEBIBYTE
"""More bytes count as this many (upstream's maxContainerThreshold)."""


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
        containers = (*pod.spec.init_containers, *pod.spec.containers)
        names = [container.image for container in containers]
        count = len(containers)
        if self.scores_volumes:
            volumes = [volume.image.reference for volume in pod.spec.volumes if volume.image is not None]
            names += volumes
            # Kubernetes 1.36 adds the bytes of image volumes and forgets to count the volumes here.
            count += len(volumes) if self.counts_volumes else 0
        most = _MAX_BYTES_PER_IMAGE * count
        present: Ints | None = None
        for name in map(normalized, names):
            image = nodes.image(name)
            if image is not None:
                # In floating point and cut off, as upstream's scaledImageScore.
                size = min(int(float(image.size) * (len(image.nodes) / len(nodes))), most)
                on_nodes = size * nodes.image_rows(name)
                present = on_nodes if present is None else present + on_nodes
        if present is None:
            return np.zeros(len(nodes), np.int64)
        scores: Ints = MAX_SCORE * (np.clip(present, _MIN_BYTES, most) - _MIN_BYTES) // (most - _MIN_BYTES)
        return scores

    def signature(self, pod: Pod) -> Hashable:
        spec = pod.spec
        volumes = tuple([volume.image.reference for volume in spec.volumes if volume.image is not None])
        return (
            tuple([container.image for container in spec.containers]),
            tuple([container.image for container in spec.init_containers]),
            volumes,
        )


def normalized(name: str) -> str:
    """An image's name with its tag, ``latest`` by default (upstream's normalizedImageName)."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
