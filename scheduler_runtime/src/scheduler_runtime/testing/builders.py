"""Nodes, pods, a cluster and a profile's framework, in a line each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import yaml

from scheduler_runtime import config
from scheduler_runtime.api import Plugin, declaration_of, flaws_of
from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest_name, not_a_field
from scheduler_runtime.catalog.syntax import is_scalar_resource
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.framework import Extenders, Framework, PluginServices
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.reload.installed_plugins import unknown_plugins
from scheduler_runtime.state import objects as wire
from scheduler_runtime.state.objects.pod_requests import read_amounts, sum_requests
from scheduler_runtime.state.table import Table
from scheduler_runtime.testing.objects import Objects

_READ = tuple(field.encode_name for field in msgspec.structs.fields(wire.PodSpec))
"""The fields of a pod's spec that are decoded. They are read once: msgspec evaluates every annotation each time."""
_NOT_READ = frozenset(
    (
        "activeDeadlineSeconds",
        "automountServiceAccountToken",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "hostAliases",
        "hostIPC",
        "hostPID",
        "hostname",
        "hostnameOverride",
        "imagePullSecrets",
        "os",
        "priorityClassName",
        "readinessGates",
        "restartPolicy",
        "runtimeClassName",
        "schedulingGroup",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
    )
)
"""Fields of a pod's spec that no scheduler reads: they may be written, as in any manifest."""
_HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def node(  # noqa: PLR0913 - a line of YAML each
    name: str,
    allocatable: Mapping[str, str] | None = None,
    *,
    cpu: str = "4",
    memory: str = "32Gi",
    pods: str = "110",
    labels: Mapping[str, str] | None = None,
    taints: Iterable[wire.Taint] = (),
    unschedulable: bool = False,
    **more: str,
) -> wire.Node:
    """A node. What it offers is written as in YAML, in ``allocatable``, or by keywords, in which underscores stand for
    dashes, as in ``ephemeral_storage``.

    Raises TypeError when nobody could ask for such a resource, and ValueError when an amount is no quantity.
    """
    offered: dict[str, str | int | float] = {
        "cpu": cpu,
        "memory": memory,
        "pods": pods,
        **{_resource(of): more[of] for of in more},
    }
    for of, amount in (allocatable or {}).items():
        offered[of if of in offered else _resource(of)] = amount
    read_amounts(offered, f"node {name}: allocatable")
    return wire.Node(
        metadata=wire.AnnotatedMeta(name=name, labels={"kubernetes.io/hostname": name, **(labels or {})}),
        spec=wire.NodeSpec(unschedulable=unschedulable, taints=tuple(taints)),
        status=wire.NodeStatus(allocatable=offered),
    )


def _resource(written: str) -> str:
    """The resource that a keyword of :func:`node` names. Raises TypeError when it is none."""
    name = written if "/" in written else written.replace("_", "-")
    if name != "ephemeral-storage" and not is_scalar_resource(name):
        known = ("cpu", "memory", "pods", "ephemeral_storage", "labels", "taints", "unschedulable")
        raise TypeError(f"node(): {written} {not_a_field(written, known)}")
    return name


def pod(
    name: str,
    requests: Mapping[str, str] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    namespace: str = "default",
    **spec: Any,
) -> wire.Pod:
    """A pod of one container. ``spec`` is as in YAML, with its fields in camelCase.

    Raises TypeError when a pod has no such field, and ValueError when one does not have the type that the API gives it,
    or an amount is no quantity.
    """
    _refuse_unknown(spec)
    container = {"name": "main", "resources": {"requests": dict(requests or {})}}
    owner = "" if namespace == "default" else f"{namespace}/"
    metadata = wire.AnnotatedMeta(
        name=name,
        namespace=namespace,
        uid=f"uid-of-{owner}{name}",
        labels=_copied(labels),
        annotations=_copied(annotations),
    )
    made = wire.Pod(metadata, msgspec.convert({"containers": [container], **spec}, wire.PodSpec))
    try:
        sum_requests(made)
    except wire.QuantityError as error:
        raise ValueError(f"pod {name}: {error}") from None
    return made


def _refuse_unknown(spec: Collection[str]) -> None:
    """A misspelt field would be a test of another pod. Raises TypeError."""
    for name in spec:
        if name not in _READ and name not in _NOT_READ:
            raise TypeError(
                f"pod(): {name} {not_a_field(name, ('requests', 'labels', 'annotations', 'namespace', *_READ))}"
            )


def _copied(written: Mapping[str, str] | None) -> dict[str, str] | None:
    """Labels or annotations as the API has them: never an empty mapping."""
    return dict(written) if written else None


class Cluster:
    """Nodes and what is on them: the cache as far as a decision needs it."""

    def __init__(self, *nodes: wire.Node) -> None:
        """Raises ValueError when two nodes have one name."""
        self.table = Table()
        self.assumed: dict[str, str] = {}
        for each in nodes:
            if self.table.row(each.name) is not None:
                raise ValueError(f"there are two nodes called {each.name}; give one of them another name")
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

    def count_attempt(self) -> None:
        """Count nothing."""

    def count_victims(self, victims: int) -> None:
        """Count nothing."""

    async def preempt(self, victim: wire.Pod, preemptor: wire.Pod, node: str, plugin: str) -> None:
        raise ConnectionError(f"no API server to delete {victim.key}")

    async def clear_nomination(self, pod: wire.Pod) -> None:
        raise ConnectionError(f"no API server to tell of {pod.key}")


def offline(objects: Objects) -> PluginServices:
    """What a process lends to plugins when there is no API server."""
    nobody = _NoApiServer()
    return PluginServices(nobody, lambda *_: None, lambda _: None, objects, preemptions=nobody)


def framework(
    profile: Mapping[str, Any] | None = None,
    *plugins: type[Plugin],
    services: PluginServices | None = None,
    objects: Objects | None = None,
    version: str = "v1.36.4",
    seed: int = 1,
    extenders: Extenders | None = None,
) -> Framework:
    """The framework of one profile, written as in a document, with ``plugins`` beside the in-tree ones.

    ``objects`` are what its plugins watch; ``services`` replaces all that the process lends to plugins.
    Raises ValueError listing everything that is wrong with the profile.
    """
    effective = effective_profile(profile or {}, plugins, version)
    classes = {declaration_of(plugin).name: plugin for plugin in plugins}
    offered = services or offline(objects or Objects())
    version_asked = Target.parse(version).version
    return Framework(effective, offered, version_asked, seed, {**IN_TREE, **classes}, extenders=extenders)


def effective_profile(profile: Mapping[str, Any], plugins: Iterable[type[Plugin]], version: str) -> EffectiveProfile:
    """The meaning of a profile as it is written. Raises ValueError listing everything that is wrong with it."""
    plugins = tuple(plugins)
    for plugin in plugins:
        if flaws := "; ".join(flaws_of(plugin)):
            raise ValueError(f"plugin {declaration_of(plugin).name}: {flaws}")
    document = config.load(_HEADER + yaml.safe_dump({"profiles": [{"schedulerName": "test", **profile}]}))
    if isinstance(document, config.Problems):
        raise ValueError(str(document))
    declared = {declaration_of(plugin).name: declaration_of(plugin) for plugin in plugins}
    if forgotten := "\n".join(_not_given(document, declared)):
        raise ValueError(forgotten)
    effective = config.expand_profile(document.profiles[0], Target.parse(version), declared)
    if isinstance(effective, config.Problems):
        raise ValueError(str(effective))
    return effective


def _not_given(document: config.Document, classes: Collection[str]) -> Iterator[str]:
    """That plugins are enabled which Kubernetes does not have and whose classes are not given."""
    for name in unknown_plugins(document, classes, classes):
        meant = did_you_mean(nearest_name(name, classes))
        yield (
            f"plugin {name} is neither one of Kubernetes' nor among the classes that are given"
            f"{meant or f'; pass its class, as in testing.framework(profile, {name})'}"
        )
