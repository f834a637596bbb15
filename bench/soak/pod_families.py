"""The kinds of pods that come and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.soak.plan import Plan

Object = dict[str, Any]

FAMILY = "soak/family"
APART = "soak/apart"
POOL = "soak/pool"
COLOR = "soak/color"
CROWDED, ORDINARY = "crowded", "ordinary"
BLUE, GREEN = "blue", "green"
GATE = "soak/gate"
GATED = "gated"
HIGH, LOW = "soak-high", "soak-low"
FIRST, SECOND = "default-scheduler", "packing"
"""The profiles."""
PRIORITIES = {HIGH: 1000, LOW: -1000}
PER_GROUP = 3
"""The size of a group of pods that avoid each other: less than the least number of nodes."""


@dataclass(frozen=True, slots=True)
class PodFamily:
    """Pods of one kind, and their planned number."""

    name: str
    count: int
    cpu: str = "100m"
    memory: str = "128Mi"
    scheduler: str = FIRST
    spec: Callable[[int], Mapping[str, Any]] = field(default=lambda _: {})
    labels: Callable[[int], Mapping[str, str]] = field(default=lambda _: {})

    def pod(self, number: int) -> Object:
        """The family's pod of that number."""
        requests = {"cpu": self.cpu, "memory": self.memory}
        container = {"name": "main", "image": "none", "resources": {"requests": requests}}
        elsewhere = {} if "nodeSelector" in self.spec(number) else {"nodeSelector": {POOL: ORDINARY}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"soak-{self.name}-{number}",
                "labels": {FAMILY: self.name, **self.labels(number)},
            },
            "spec": {"schedulerName": self.scheduler, "containers": [container], **elsewhere, **self.spec(number)},
        }


def families(plan: Plan) -> list[PodFamily]:
    """All of them. The crowded nodes have 32 processors: eight unimportant pods, or two important ones and two."""
    few = max(4, plan.nodes // 100)
    many = round(plan.nodes * plan.pods_per_node)
    return [
        PodFamily("plain", many * 5 // 10),
        PodFamily("spread", many * 2 // 10, spec=spread_over_zones),
        PodFamily("apart", many * 1 // 10, spec=apart_by_host, labels=lambda number: {APART: _group(number)}),
        PodFamily("packed", many * 1 // 10, scheduler=SECOND),
        PodFamily("colored", many * 1 // 10, spec=lambda _: {"nodeSelector": {POOL: ORDINARY, COLOR: BLUE}}),
        PodFamily("low", plan.crowded * 8, cpu="4", spec=lambda _: _crowding(LOW)),
        PodFamily("high", plan.crowded, cpu="12", spec=lambda _: _crowding(HIGH)),
        PodFamily("nowhere", few, cpu="1000"),
        PodFamily(GATED, few, spec=lambda _: {"schedulingGates": [{"name": GATE}]}),
    ]


def _crowding(priority: str) -> Mapping[str, Any]:
    return {"nodeSelector": {POOL: CROWDED}, "priorityClassName": priority}


def spread_over_zones(_: int) -> Mapping[str, Any]:
    constraint = {
        "maxSkew": 5,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {FAMILY: "spread"}},
    }
    return {"topologySpreadConstraints": [constraint]}


def apart_by_host(number: int) -> Mapping[str, Any]:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {APART: _group(number)}},
    }
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _group(number: int) -> str:
    return f"group-{number // PER_GROUP}"
