"""The kinds of pods and clusters that are measured, in the shapes of upstream's own performance suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import msgspec

from scheduler_runtime import testing
from scheduler_runtime.state import objects as wire

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """The parts of a pod that a family varies."""

    labels: Mapping[str, str] = field(default_factory=dict)
    spec: Spec = field(default_factory=dict)
    cpu: str = "100m"
    memory: str = "500Mi"

    def pod(self, name: str, **labels: str) -> wire.Pod:
        """A pod of this shape, decoded as from a watch."""
        resources = {"cpu": self.cpu, "memory": self.memory}
        container = {
            "name": "pause",
            "image": "registry.k8s.io/pause:3.10",
            "ports": [{"containerPort": 80}],
            "resources": {"requests": resources, "limits": resources},
        }
        raw = {
            "metadata": {
                "name": name,
                "namespace": "bench",
                "uid": f"uid-of-{name}",
                "labels": {**self.labels, **labels},
            },
            "spec": {"containers": [container], **self.spec},
        }
        return wire.decode_pod(msgspec.json.encode(raw))


@dataclass(frozen=True, slots=True)
class Family:
    """Pods to measure: the shape of the n-th one, and the number of those that are on the nodes before."""

    title: str
    shape: Callable[[int], Shape]
    before: int = 0
    unique_labels: bool = False
    objects: tuple[Mapping[str, Any], ...] = ()
    """Further objects of the cluster, as in YAML."""

    def pod(self, name: str, number: int) -> wire.Pod:
        """The pod with this number."""
        more = {"signature": f"signature-{name}"} if self.unique_labels else {}
        return self.shape(number).pod(name, **more)


PLAIN = Shape()
_TERM = {"labelSelector": {"matchLabels": {"color": "green"}}, "topologyKey": HOST}


def _affinity(kind: str, **terms: Any) -> Spec:
    return {"affinity": {kind: terms}}


SPREAD = Shape(
    {"color": "blue"},
    {
        "topologySpreadConstraints": [
            {
                "maxSkew": 5,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"color": "blue"}},
            }
        ]
    },
)
SOFT_SPREAD = Shape(
    SPREAD.labels,
    {
        "topologySpreadConstraints": [
            {**SPREAD.spec["topologySpreadConstraints"][0], "whenUnsatisfiable": "ScheduleAnyway"}
        ]
    },
)
APART = Shape({"color": "green"}, _affinity("podAntiAffinity", **{REQUIRED: [_TERM]}))
RATHER_NEAR = Shape(
    {"color": "green"}, _affinity("podAffinity", **{PREFERRED: [{"weight": 1, "podAffinityTerm": _TERM}]})
)
RATHER_APART = Shape(
    {"color": "green"}, _affinity("podAntiAffinity", **{PREFERRED: [{"weight": 1, "podAffinityTerm": _TERM}]})
)
NEAR = Shape(
    {"color": "green"},
    _affinity("podAffinity", **{REQUIRED: [{**_TERM, "topologyKey": ZONE}]}),
)
IN_ZONES = Shape(
    spec=_affinity(
        "nodeAffinity",
        **{
            REQUIRED: {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-1", "zone-2"]}]}
                ]
            }
        },
    )
)


SERVED = Shape({"app": "served"})
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "served", "namespace": "bench"},
    "spec": {"selector": {"app": "served"}},
}


def daemon_shape(number: int) -> Shape:
    """As the controller of DaemonSets makes them: for one node each."""
    by_name = {"key": "metadata.name", "operator": "In", "values": [f"node-{number % 1000}"]}
    return Shape(
        spec=_affinity("nodeAffinity", **{REQUIRED: {"nodeSelectorTerms": [{"matchFields": [by_name]}]}}),
        cpu="1m",
        memory="1Mi",
    )


def thousand_shapes(number: int) -> Shape:
    """One of a thousand shapes."""
    kind = number % 1000
    return Shape({"app": f"app-{kind}"}, cpu=f"{100 + kind % 50}m", memory=f"{500_000 + kind}Ki")


def spread_by_kind(number: int) -> Shape:
    """One of 1,500 kinds, each spread by itself."""
    labels = {"app": f"app-{number % 1500}"}
    constraint = {**SPREAD.spec["topologySpreadConstraints"][0], "labelSelector": {"matchLabels": labels}}
    return Shape(labels, {"topologySpreadConstraints": [constraint]}, cpu="1m", memory="1Mi")


def apart_by_kind(number: int) -> Shape:
    """One of 1,500 kinds, each kept apart by itself."""
    labels = {"app": f"app-{number % 1500}"}
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOST}
    return Shape(labels, _affinity("podAntiAffinity", **{REQUIRED: [term]}), cpu="1m", memory="1Mi")


def new_shape(number: int) -> Shape:
    return Shape(cpu=f"{100 + number % 50}m", memory=f"{500_000 + number}Ki")


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "plain": Family("identical plain pods", lambda _: PLAIN),
        "labelled": Family("plain pods, each with a label of its own", lambda _: PLAIN, unique_labels=True),
        "shapes": Family("1,000 shapes in turn, labels of their own", thousand_shapes, unique_labels=True),
        "cold": Family("every pod of a new class", new_shape),
        "node-affinity": Family("required node affinity", lambda _: IN_ZONES),
        "spread": Family("hard spread over zones", lambda _: SPREAD),
        "soft-spread": Family("soft spread over zones", lambda _: SOFT_SPREAD),
        "default-spread": Family("pods of a service, spread by default", lambda _: SERVED, objects=(SERVICE,)),
        "apart": Family("required anti-affinity by host", lambda _: APART),
        "near": Family("required affinity by zone", lambda _: NEAR, before=1000),
        "rather-near": Family("preferred affinity by host", lambda _: RATHER_NEAR, before=1000),
        "rather-apart": Family("preferred anti-affinity by host", lambda _: RATHER_APART, before=1000),
        "spread-kinds": Family("1,500 kinds in turn, each spread over zones", spread_by_kind, before=15_000),
        "apart-kinds": Family("1,500 kinds in turn, each apart by host", apart_by_kind, before=15_000),
        "daemon": Family("pods of a DaemonSet, each for a node of its own", daemon_shape),
        "large": Family("pods that fit nowhere", lambda _: Shape(cpu="9")),
    }
)


def node(number: int) -> wire.Node:
    """A node as upstream's suite has them, in one of three zones."""
    return testing.node(f"node-{number}", labels={ZONE: f"zone-{number % 3}"})
