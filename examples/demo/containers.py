"""The container image, made from the tree as it is and brought into a kind cluster."""

import re
import subprocess

from devcluster import Cluster, kind
from examples.demo.installation import ROOT


def provide(cluster: Cluster, image: str) -> None:
    """Build ``image`` for the Python of the cluster's base image, and load it into the nodes."""
    base = kind.base_image(cluster)
    version = re.search(r"python:(\d+\.\d+)", base)
    assert version, f"no Python version in the name of the base image {base}"  # noqa: S101 - devcluster's mistake, not the user's
    subprocess.run(
        ["make", "wheels", f"IMAGE_PYTHON={version[1]}"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    kind.build_image(cluster, ROOT, image, build_args={"BASE_IMAGE": base})
    kind.load_image(cluster, image)
