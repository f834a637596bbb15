"""Attacks by a tenant with its pods, and by a kubelet with its node.

Each is a coroutine that goes on until it is cancelled.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any

from bench.hostile_tenants.attacker import TENANT, Object, Outcomes, Target, attacker

HOSTILE_NODE = "hostile-node"
STANDING_CLASSES = 2000
"""Unschedulable pods that wait at the same time, no two alike."""
LONGEST_LIST = 4000
"""Entries of a list. The API server itself takes a second of CPU to validate some lists of 8,000."""
SLOW_LIST = 1000
SLOW_PODS = 40
"""Pods with lists of ``SLOW_LIST`` entries that wait at the same time."""
BOUND_PODS = 40
BOUND_TERMS = 2500
"""Terms of each pod that is created with its node."""
MOST_LEVELS = 9993
"""How deeply the API server lets a client nest managedFields."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PODS = f"/api/v1/namespaces/{TENANT}/pods"


def pod(name: str, scheduler: str, labels: Object | None = None, **spec: Any) -> Object:
    """A pod of the tenant that fits on no node, unless its ``spec`` says otherwise."""
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "10"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "hostile", **(labels or {})}},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def long_shapes(count: int) -> Iterator[tuple[str, Object]]:
    """Fields of a pod that the API server takes at thousands of entries, with ``count`` of them."""
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": f"l{number}",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "hostile"}},
        }
        for number in range(count)
    ]
    terms = [
        {"topologyKey": f"l{number}", "labelSelector": {"matchLabels": {"app": f"a{number}"}}}
        for number in range(count)
    ]
    weighted = [{"weight": 1, "podAffinityTerm": term} for term in terms]
    expressions = [{"key": f"k{number}", "operator": "DoesNotExist"} for number in range(count)]
    ports = [{"containerPort": number, "hostPort": number} for number in range(1, count)]
    node_terms = [{"matchExpressions": expressions}]
    yield "spread", {"topologySpreadConstraints": spread}
    yield "affinity", {"affinity": {"podAffinity": {REQUIRED: terms}}}
    yield "anti-affinity", {"affinity": {"podAntiAffinity": {REQUIRED: terms}}}
    yield "preferred", {"affinity": {"podAffinity": {PREFERRED: weighted}}}
    yield "tolerations", {"tolerations": [{"key": f"k{number}", "operator": "Exists"} for number in range(count)]}
    yield "expressions", {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": node_terms}}}}
    yield "ports", {"hostNetwork": True, "containers": [{"name": "c", "image": "x", "ports": ports}]}


async def long_lists(target: Target, outcomes: Outcomes) -> None:
    """One pod after the other with a list of thousands, for each scheduler."""
    async with attacker("long lists", target.server("tenant"), outcomes) as tenant:
        for number, (shape, spec) in enumerate(itertools.cycle(long_shapes(LONGEST_LIST))):
            await tenant.post(PODS, pod(f"long-{shape}-{number}", target.scheduler, **spec))
            await asyncio.sleep(10)
            await tenant.delete(f"{PODS}/long-{shape}-{number}")


async def slow_pods(target: Target, outcomes: Outcomes) -> None:
    """Many expensive pods at once, each of which a change of its labels wakes again and again."""
    shapes = list(long_shapes(SLOW_LIST))
    async with attacker("slow pods", target.server("tenant"), outcomes) as tenant:
        for number in range(SLOW_PODS):
            shape, spec = shapes[number % 4]
            await tenant.post(PODS, pod(f"slow-{shape}-{number}", target.scheduler, **spec))
        for turn in itertools.count():
            number = turn % SLOW_PODS
            change = {"metadata": {"labels": {"turn": str(turn)}}}
            await tenant.patch(f"{PODS}/slow-{shapes[number % 4][0]}-{number}", change)
            await asyncio.sleep(1)


async def bound_terms(target: Target, outcomes: Outcomes) -> None:
    """Pods that are created on a node, each with thousands of terms of its own that select every pod; they change."""
    async with attacker("bound terms", target.server("tenant"), outcomes) as tenant:
        for number in range(BOUND_PODS):
            terms = [
                {
                    "topologyKey": f"t{index}" if number % 2 else "kubernetes.io/hostname",
                    "namespaceSelector": {},
                    "labelSelector": {
                        "matchExpressions": [{"key": "app", "operator": "NotIn", "values": [f"x.{number}.{index}"]}]
                    },
                }
                for index in range(BOUND_TERMS)
            ]
            affinity: Object = {"podAntiAffinity": {REQUIRED: terms}}
            if number % 4 < 2:
                weighted = [{"weight": 1, "podAffinityTerm": term} for term in terms]
                affinity = {"podAffinity": {PREFERRED: weighted}}
            node = target.nodes[number % len(target.nodes)]
            bound = pod(f"bound-{number}", "nobody", affinity=affinity, nodeName=node)
            del bound["spec"]["containers"][0]["resources"]
            await tenant.post(PODS, bound)
            await asyncio.sleep(0.5)
        for turn in itertools.count():
            change = {"metadata": {"labels": {"turn": str(turn)}}}
            await tenant.patch(f"{PODS}/bound-{turn % BOUND_PODS}", change)
            await asyncio.sleep(1)


async def largest_requests(target: Target, outcomes: Outcomes) -> None:
    """Pods on a node that together ask for more than 64 bits hold, and one that waits and asks for as much."""
    async with attacker("largest requests", target.server("tenant"), outcomes) as tenant:
        largest = {"resources": {"requests": {"memory": str(2**63 - 1), "cpu": str(2**63 - 1)}}}
        containers = [{"name": "c", "image": "x", **largest}]
        for number in itertools.count():
            for name in ("one", "other"):
                bound = pod(f"largest-{name}-{number}", "nobody", containers=containers, nodeName=target.nodes[0])
                await tenant.post(PODS, bound)
            await tenant.post(PODS, pod(f"largest-{number}", target.scheduler, containers=containers))
            await asyncio.sleep(20)
            for name in ("one-", "other-", ""):
                await tenant.delete(f"{PODS}/largest-{name}{number}")


async def unlike_classes(target: Target, outcomes: Outcomes) -> None:
    """Unschedulable pods of which no two are alike, ten per second."""
    async with attacker("unlike classes", target.server("tenant"), outcomes) as tenant:
        for number in itertools.count():
            container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": f"{1000 + number}"}}}
            unlike = pod(f"class-{number}", target.scheduler, {"class": str(number)}, containers=[container])
            await tenant.post(PODS, unlike)
            if number >= STANDING_CLASSES:
                await tenant.delete(f"{PODS}/class-{number - STANDING_CLASSES}")
            await asyncio.sleep(0.1)


async def deep_managed_fields(target: Target, outcomes: Outcomes) -> None:
    """Pods whose managedFields are nested as deeply as the API server takes them."""
    managed = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": "HERE"}
    fields = '{"f:a":' * MOST_LEVELS + "{}" + "}" * MOST_LEVELS  # by hand: json.dumps cannot nest so deeply
    async with attacker("deep managedFields", target.server("tenant"), outcomes) as tenant:
        for number in itertools.count():
            for scheduler in (target.scheduler, "nobody"):
                deep = pod(f"deep-{number}-{scheduler}", scheduler)
                deep["metadata"]["managedFields"] = [managed]
                await tenant.post(PODS, json.dumps(deep).replace('"HERE"', fields).encode())
            await asyncio.sleep(15)
            for scheduler in (target.scheduler, "nobody"):
                await tenant.delete(f"{PODS}/deep-{number}-{scheduler}")


# A kubelet.


async def extreme_node(target: Target, outcomes: Outcomes) -> None:
    """A node whose status says what no node can have."""
    statuses: list[Object] = [
        {"allocatable": {"pods": "1e25"}},
        {"allocatable": {"pods": "110", "cpu": "9223372036854775807E", "memory": "1e30"}},
        {"allocatable": {f"example.com/r{number}": str(number) for number in range(5000)}},
        {"images": [{"names": [f"example.com/i{number}:v1"], "sizeBytes": 2**62} for number in range(8000)]},
    ]
    async with attacker("extreme node", target.kubelet, outcomes) as kubelet:
        taint = {"key": "hostile", "effect": "NoSchedule"}
        await kubelet.post("/api/v1/nodes", {"metadata": {"name": HOSTILE_NODE}, "spec": {"taints": [taint]}})
        for status in itertools.cycle(statuses):
            await kubelet.patch(f"/api/v1/nodes/{HOSTILE_NODE}/status", {"status": {"capacity": None, "images": None}})
            await kubelet.patch(f"/api/v1/nodes/{HOSTILE_NODE}/status", {"status": status})
            await asyncio.sleep(5)
