"""The specification of a cluster: the one argument of ``running`` and ``up``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from devcluster.system.errors import DevclusterError

DEFAULT_KUBERNETES = "1.36"
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A cluster to be made.

    ``images`` maps image references to the local commands that the process node runs for them (see
    ``devcluster.node``). The ``*_args`` are appended to a component's own arguments, so they win.
    Without a controller manager there are no ServiceAccounts and a new node keeps the not-ready taint,
    so the two admission plugins that depend on it are switched off.
    """

    kubernetes: str = DEFAULT_KUBERNETES
    fake_nodes: int = 0
    node: Literal["process", "none"] = "process"
    scheduler: bool = True
    controller_manager: bool = True
    name: str = ""
    images: Mapping[str, Sequence[str] | Mapping[str, Any]] = field(default_factory=dict)
    etcd_args: tuple[str, ...] = ()
    apiserver_args: tuple[str, ...] = ()
    kcm_args: tuple[str, ...] = ()
    scheduler_args: tuple[str, ...] = ()
    kind: bool = False
    nodes: int = 1

    def __post_init__(self) -> None:
        if self.name:
            check_name(self.name)
        if self.fake_nodes < 0:
            raise DevclusterError(f"{self.fake_nodes} fake nodes are not possible: give 0 or more")
        if self.nodes < 1:
            raise DevclusterError(f"a cluster of {self.nodes} nodes is not possible: give 1 or more")
        if self.kind and self.fake_nodes:
            raise DevclusterError("fake nodes are not for kind clusters: leave out one of the two")
        if self.kind and not self.scheduler:
            raise DevclusterError("a kind cluster always has kube-scheduler: leave out --no-scheduler or --kind")
        if self.kind and self.images:
            raise DevclusterError(
                "commands stand for images on a process node, which a kind cluster has not: leave out one of the two"
            )

    @property
    def binaries(self) -> tuple[str, ...]:
        """The binaries that this cluster runs. A kind cluster may need more, for its node image."""
        if self.kind:
            return ("kind", "kubectl")
        needed = {
            "etcd": True,
            "kube-apiserver": True,
            "kube-controller-manager": self.controller_manager,
            "kube-scheduler": self.scheduler,
            "kubectl": True,
            "kwok": self.fake_nodes > 0,
        }
        return tuple(name for name, is_needed in needed.items() if is_needed)


def check_name(name: str) -> str:
    """Return ``name`` if a cluster can be called that; it becomes a directory and part of host names."""
    if not NAME.fullmatch(name):
        raise DevclusterError(
            f"{name!r} cannot be the name of a cluster: use up to 40 lower-case letters, digits and dashes"
        )
    return name
