"""Nodes and pods as chance has them, few enough in kind that they meet."""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.state.objects import ContainerImage, Node, Pod, Taint

ZONE = "topology.kubernetes.io/zone"
TOPOLOGIES = (ZONE, "kubernetes.io/hostname", "disk")
IMAGES = ("x:1", "y:1")
MIB = 2**20


def node(chance: Random, name: str) -> Node:
    """A node with other labels, taints, images and room every time."""
    labels = {ZONE: f"zone-{chance.randrange(4)}", "disk": chance.choice(["ssd", "hdd", ""])}
    taint = Taint(chance.choice("ab"), "1", chance.choice(["NoSchedule", "PreferNoSchedule"]))
    result = testing.node(
        name,
        cpu=chance.choice(["2", "4", "8"]),
        pods=chance.choice(["3", "110"]),
        labels={key: value for key, value in labels.items() if chance.random() < 0.9},
        taints=[taint] if chance.random() < 0.3 else [],
        unschedulable=chance.random() < 0.1,
    )
    if chance.random() < 0.1:
        result = replace(result, metadata=replace(result.metadata, labels={}))
    present = [image for image in IMAGES if chance.random() < 0.5]
    images = tuple(ContainerImage(names=(image,), size_bytes=chance.choice([300, 900]) * MIB) for image in present)
    return replace(result, status=replace(result.status, images=images))


def pod(chance: Random, name: str) -> Pod:
    """A pod that asks for several things, none of them always."""
    spec: dict[str, Any] = {"affinity": _affinity(chance), "containers": [_container(chance)]}
    if chance.random() < 0.3:
        spec["nodeSelector"] = {"disk": chance.choice(["ssd", "hdd"])}
    if chance.random() < 0.3:
        spec["tolerations"] = [{"key": chance.choice("ab"), "operator": "Exists"}]
    if chance.random() < 0.3:
        spec["topologySpreadConstraints"] = [_spread(chance) for _ in range(chance.randint(1, 2))]
    if chance.random() < 0.3:
        spec["priority"] = chance.choice([-5, 5])
    result = testing.pod(name, **spec)
    labels, namespace = {"app": chance.choice("12")}, chance.choice(["default", "other"])
    return replace(result, metadata=replace(result.metadata, labels=labels, namespace=namespace))


def _container(chance: Random) -> dict[str, Any]:
    return {
        "name": "main",
        "image": chance.choice(IMAGES),
        "resources": {"requests": {"cpu": chance.choice(["1m", "500m", "1"])}},
        "ports": [{"hostPort": chance.choice([80, 443])}] if chance.random() < 0.2 else [],
    }


def _affinity(chance: Random) -> dict[str, Any]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    likes = {"key": "disk", "operator": "In", "values": ["ssd"]}
    weight = chance.randint(1, 100)
    several: list[dict[str, Any]] = [
        {"podAffinity": {required: [_term(chance)]}},
        {"podAntiAffinity": {required: [_term(chance)]}},
        {"podAffinity": {preferred: [{"weight": weight, "podAffinityTerm": _term(chance)}]}},
        {"nodeAffinity": {preferred: [{"weight": weight, "preference": {"matchExpressions": [likes]}}]}},
    ]
    return {key: value for terms in several if chance.random() < 0.15 for key, value in terms.items()}


def _term(chance: Random) -> dict[str, Any]:
    term: dict[str, Any] = {"topologyKey": chance.choice(TOPOLOGIES), "labelSelector": _selector(chance)}
    if chance.random() < 0.2:
        term["namespaceSelector"] = chance.choice([{}, {"matchLabels": {"team": "x"}}])
    return term


def _spread(chance: Random) -> dict[str, Any]:
    return {
        "maxSkew": chance.randint(1, 2),
        "topologyKey": chance.choice(TOPOLOGIES),
        "whenUnsatisfiable": chance.choice(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": _selector(chance),
        "nodeTaintsPolicy": chance.choice(["Honor", "Ignore"]),
    }


def _selector(chance: Random) -> dict[str, Any]:
    if chance.random() < 0.7:
        return {"matchLabels": {"app": chance.choice("12")}}
    return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["1"]}]}
