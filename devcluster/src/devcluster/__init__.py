"""A real Kubernetes control plane on this machine, from binaries that are built once and kept.

with devcluster.running(Spec(fake_nodes=100)) as cluster:
    cluster.kubectl("get", "nodes")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devcluster.build import binaries, build_seconds, missing
    from devcluster.lifecycle import Status, down, find, running, status, up
    from devcluster.model.running_cluster import Cluster
    from devcluster.model.spec import Spec
    from devcluster.system.errors import DevclusterError, MissingBinariesError

__all__ = [
    "Cluster",
    "DevclusterError",
    "MissingBinariesError",
    "Spec",
    "Status",
    "binaries",
    "build_seconds",
    "down",
    "find",
    "missing",
    "running",
    "status",
    "up",
]

_MODULES = {
    "devcluster.build": ("binaries", "build_seconds", "missing"),
    "devcluster.model.running_cluster": ("Cluster",),
    "devcluster.system.errors": ("DevclusterError", "MissingBinariesError"),
    "devcluster.lifecycle": ("Status", "down", "find", "running", "status", "up"),
    "devcluster.model.spec": ("Spec",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what is asked for and no more: pytest loads this package's plugin in every run."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
