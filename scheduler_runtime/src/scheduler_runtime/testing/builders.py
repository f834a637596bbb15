"""Nodes, pods, a cluster and a profile's framework, in a line each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import yaml

from .. import config, wire
from ..api import Plugin, declaration_of
from ..catalog import Target
from ..config import EffectiveProfile
from ..framework import Framework, Services
from ..plugins import IN_TREE
from ..table import Table
from .objects import Objects

_HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "32Gi",
    pods: str = "110",
    labels: Mapping[str, str] | None = None,
    taints: Iterable[wire.Taint] = (),
    unschedulable: bool = False,
    **more: str,
) -> wire.Node:
    """A node. Underscores in the names of ``more`` resources stand for dashes, as in ``ephemeral_storage``."""
    extra = {resource.replace("_", "-"): amount for resource, amount in more.items()}
    return wire.Node(
        metadata=wire.NodeMeta(name=name, labels={"kubernetes.io/hostname": name, **(labels or {})}),
        spec=wire.NodeSpec(unschedulable=unschedulable, taints=tuple(taints)),
        status=wire.NodeStatus(allocatable={"cpu": cpu, "memory": memory, "pods": pods, **extra}),
    )


def pod(name: str, requests: Mapping[str, str] | None = None, /, **spec: Any) -> wire.Pod:
    """A pod of one container. ``spec`` is as in YAML, with its fields in camelCase.

    Raises when a field does not have the type that the API gives it.
    """
    container = {"name": "main", "resources": {"requests": dict(requests or {})}}
    raw = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-of-{name}"},
        "spec": {"containers": [container], **spec},
    }
    return msgspec.convert(raw, wire.Pod)


class Cluster:
    """Nodes and what is on them: the cache as far as a decision needs it."""

    def __init__(self, *nodes: wire.Node) -> None:
        self.table = Table()
        self.assumed: dict[str, str] = {}
        for each in nodes:
            self.table.set_node(each)

    def place(self, pod: wire.Pod, node_name: str) -> None:
        """Let ``pod`` run on a node. Raises ValueError when there is no such node."""
        if self.table.row(node_name) is None:
            raise ValueError(f"there is no node {node_name} for {pod.key} to be on")
        self.table.add_pod(pod, node_name)

    def assume(self, pod: wire.Pod, node_name: str) -> None:
        """Count ``pod`` on the node."""
        self.place(pod, node_name)
        self.assumed[pod.uid] = node_name

    def forget(self, pod: wire.Pod) -> None:
        """Take back an assumed pod."""
        self.table.remove_pod(pod, self.assumed.pop(pod.uid))


class _NoApiServer:
    """What a process does for plugins, as far as it can be done without an API server."""

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        raise ConnectionError(f"no API server to bind {namespace}/{name} on {node}")

    def attempted(self) -> None:
        """Count nothing."""

    def chosen(self, victims: int) -> None:
        """Count nothing."""

    async def preempt(self, victim: wire.Pod, preemptor: wire.Pod, node: str, plugin: str) -> None:
        raise ConnectionError(f"no API server to delete {victim.key}")

    async def clear_nomination(self, pod: wire.Pod) -> None:
        raise ConnectionError(f"no API server to tell of {pod.key}")


def offline(objects: Objects) -> Services:
    """What a process lends to plugins when there is no API server."""
    nobody = _NoApiServer()
    return Services(nobody, lambda *_: None, lambda _: None, objects, preemptions=nobody)


def framework(
    profile: Mapping[str, Any] | None = None,
    *plugins: type[Plugin],
    services: Services | None = None,
    objects: Objects | None = None,
    version: str = "v1.36.4",
    seed: int = 1,
) -> Framework:
    """The framework of one profile, written as in a document, with ``plugins`` beside the in-tree ones.

    ``objects`` are what its plugins watch; ``services`` replaces all that the process lends to plugins.
    Raises ValueError listing everything that is wrong with the profile.
    """
    effective = effective_profile(profile or {}, plugins, version)
    classes = {declaration_of(plugin).name: plugin for plugin in plugins}
    offered = services or offline(objects or Objects())
    return Framework(effective, offered, Target.parse(version).version, seed, {**IN_TREE, **classes})


def effective_profile(profile: Mapping[str, Any], plugins: Iterable[type[Plugin]], version: str) -> EffectiveProfile:
    """The meaning of a profile as it is written. Raises ValueError listing everything that is wrong with it."""
    document = config.load(_HEADER + yaml.safe_dump({"profiles": [{"schedulerName": "test", **profile}]}))
    if isinstance(document, config.Problems):
        raise ValueError(str(document))
    declared = {declaration_of(plugin).name: declaration_of(plugin) for plugin in plugins}
    effective = config.effective(document.profiles[0], Target.parse(version), declared)
    if isinstance(effective, config.Problems):
        raise ValueError(str(effective))
    return effective
