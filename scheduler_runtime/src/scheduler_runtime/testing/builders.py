"""Builders of nodes, pods, clusters and a profile's framework, in a line each; they refuse what cannot exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import yaml

from scheduler_runtime import config
from scheduler_runtime.api import Plugin, declaration_of, flaws_of
from scheduler_runtime.catalog import Target, gate_problems
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

_DECODED_FIELDS = tuple(field.encode_name for field in msgspec.structs.fields(wire.PodSpec))
"""The fields of a pod's spec that are decoded. They are read once: msgspec evaluates every annotation each time."""
_IGNORED_FIELDS = frozenset(
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
    """Return a node whose resources are in ``allocatable``, as in YAML, or in keywords, as ``ephemeral_storage="1Gi"``.

    An underscore in a keyword stands for a dash. The node has the label ``kubernetes.io/hostname`` with its name.

    Raises TypeError for a resource that no pod could request, and ValueError when an amount is no quantity.
    """
    amounts: dict[str, str | int | float] = {
        "cpu": cpu,
        "memory": memory,
        "pods": pods,
        **{_resource(keyword): amount for keyword, amount in more.items()},
    }
    for resource, amount in (allocatable or {}).items():
        amounts[resource if resource in amounts else _resource(resource)] = amount
    read_amounts(amounts, f"node {name}: allocatable")
    return wire.Node(
        metadata=wire.AnnotatedMeta(name=name, labels={"kubernetes.io/hostname": name, **(labels or {})}),
        spec=wire.NodeSpec(unschedulable=unschedulable, taints=tuple(taints)),
        status=wire.NodeStatus(allocatable=amounts),
    )


def _resource(keyword: str) -> str:
    """Return the resource that a keyword of :func:`node` names. Raises TypeError when it is none."""
    name = keyword if "/" in keyword else keyword.replace("_", "-")
    if name != "ephemeral-storage" and not is_scalar_resource(name):
        fields = ("cpu", "memory", "pods", "ephemeral_storage", "labels", "taints", "unschedulable")
        raise TypeError(f"node(): {keyword} {not_a_field(keyword, fields)}")
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
    """Return a pod of one container with these requests. ``spec`` has further fields as in YAML, in camelCase.

    Raises TypeError when a pod has no such field, and ValueError when one does not have the type that the API gives it,
    or an amount is no quantity.
    """
    for field in spec:
        # Without this, a test with a misspelt field would be a test of another pod.
        if field not in _DECODED_FIELDS and field not in _IGNORED_FIELDS:
            fields = ("requests", "labels", "annotations", "namespace", *_DECODED_FIELDS)
            raise TypeError(f"pod(): {field} {not_a_field(field, fields)}")
    container = {"name": "main", "resources": {"requests": dict(requests or {})}}
    owner = "" if namespace == "default" else f"{namespace}/"
    # None for empty labels and annotations, as decoding leaves them where the API server omits the field.
    metadata = wire.AnnotatedMeta(
        name=name,
        namespace=namespace,
        uid=f"uid-of-{owner}{name}",
        labels=dict(labels) if labels else None,
        annotations=dict(annotations) if annotations else None,
    )
    new_pod = wire.Pod(metadata, msgspec.convert({"containers": [container], **spec}, wire.PodSpec))
    try:
        sum_requests(new_pod)
    except wire.QuantityError as error:
        raise ValueError(f"pod {name}: {error}") from None
    return new_pod


class Cluster:
    """Nodes and the pods on them: as much of the scheduler's cache as a decision needs."""

    def __init__(self, *nodes: wire.Node) -> None:
        """Raises ValueError when two nodes have one name."""
        self.table = Table()
        self.assumed: dict[str, str] = {}
        """The node of each assumed pod, by the pod's uid."""
        for new_node in nodes:
            if self.table.row(new_node.name) is not None:
                raise ValueError(f"there are two nodes called {new_node.name}; give one of them another name")
            self.table.set_node(new_node)

    def place(self, pod: wire.Pod, node_name: str) -> None:
        """Put ``pod`` on a node, where it counts as running. Raises ValueError when there is no such node."""
        if self.table.row(node_name) is None:
            raise ValueError(f"there is no node {node_name} for {pod.key} to be on")
        self.table.add_pod(pod, node_name)

    def assume(self, pod: wire.Pod, node_name: str) -> None:
        """Count ``pod`` on the node that a decision chose. Raises ValueError when there is no such node."""
        self.place(pod, node_name)
        self.assumed[pod.uid] = node_name

    def forget(self, pod: wire.Pod) -> None:
        """Remove an assumed pod from its node. Raises KeyError when the pod is not assumed."""
        self.table.remove_pod(pod, self.assumed.pop(pod.uid))


class _NoApiServer:
    """The services for plugins that need an API server: requests fail, counts go nowhere."""

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        raise ConnectionError(f"no API server to bind {namespace}/{name} on {node}")

    def count_attempt(self) -> None:
        """Count nothing."""

    def count_victims(self, victims: int) -> None:
        """Count nothing."""

    async def preempt(self, victim: wire.Pod, preemptor: wire.Pod, node: str, plugin: str) -> None:
        raise ConnectionError(f"no API server to delete {victim.key}")

    async def clear_nomination(self, pod: wire.Pod) -> None:
        raise ConnectionError(f"no API server to clear the nomination of {pod.key}")


def offline(objects: Objects) -> PluginServices:
    """Return the services of a scheduler for plugins, without an API server: ``objects`` are what they watch."""
    no_server = _NoApiServer()
    return PluginServices(no_server, lambda *_: None, lambda _: None, objects, preemptions=no_server)


def framework(
    profile: Mapping[str, Any] | None = None,
    *plugins: type[Plugin],
    services: PluginServices | None = None,
    objects: Objects | None = None,
    version: str = "v1.36.4",
    seed: int = 1,
    extenders: Extenders | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> Framework:
    """Return the framework of one profile, written as in a document, with ``plugins`` beside those of Kubernetes.

    Its ``schedule(pod, cluster)`` makes one decision. ``objects`` are what its plugins watch; ``services`` replaces all
    that the scheduler provides for plugins; ``feature_gates`` are those of ``--feature-gates``. Raises ValueError with
    everything that is wrong with the profile or the gates.
    """
    target = Target.parse(version, feature_gates or {})
    if problems := gate_problems(target):
        raise ValueError("\n".join(problems))
    effective = effective_profile(profile or {}, plugins, target)
    classes = {declaration_of(plugin).name: plugin for plugin in plugins}
    services = services or offline(objects or Objects())
    return Framework(
        effective, services, target.version, seed, {**IN_TREE, **classes}, target.feature_gates, extenders=extenders
    )


def effective_profile(profile: Mapping[str, Any], plugins: Iterable[type[Plugin]], target: Target) -> EffectiveProfile:
    """Return the profile with all defaults, as a scheduler runs it. Raises ValueError with everything that is wrong."""
    plugins = tuple(plugins)
    for plugin in plugins:
        if flaws := "; ".join(flaws_of(plugin)):
            raise ValueError(f"plugin {declaration_of(plugin).name}: {flaws}")
    document = config.load(_HEADER + yaml.safe_dump({"profiles": [{"schedulerName": "test", **profile}]}))
    if isinstance(document, config.Problems):
        raise ValueError(str(document))
    declared = {declaration_of(plugin).name: declaration_of(plugin) for plugin in plugins}
    missing = []
    for name in unknown_plugins(document, declared, declared):
        suggestion = did_you_mean(nearest_name(name, declared))
        missing.append(
            f"plugin {name} is neither one of Kubernetes' nor among the classes that are passed"
            f"{suggestion or f'; pass its class, as in testing.framework(profile, {name})'}"
        )
    if missing:
        raise ValueError("\n".join(missing))
    effective = config.expand_profile(document.profiles[0], target, declared)
    if isinstance(effective, config.Problems):
        raise ValueError(str(effective))
    return effective
