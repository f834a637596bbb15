"""Clusters of real nodes in containers, made by kind.

Where Docker answers and can pull images, this is kind as its users know it. Where not, on a Debian and
as root, each cluster gets a Docker daemon of its own, and a node image made here.
"""

from devcluster.kind.cluster import base_image, build_image, create, load_image, prepare
from devcluster.kind.prerequisites import missing

__all__ = ["base_image", "build_image", "create", "load_image", "missing", "prepare"]
