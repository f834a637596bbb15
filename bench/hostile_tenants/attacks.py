"""The attacks: what a tenant, a kubelet, the author of a profile, a writer of ConfigMaps and anybody on the network do.

Each is a coroutine that goes on until it is cancelled. What the API server refuses is counted: an attack that it
refuses is one that it held off.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
import random
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.cluster.client import Connection, RefusedError, Server

Object = dict[str, Any]

TENANT = "tenant"
"""The namespace in which the tenant may do what the ClusterRole ``edit`` permits."""
HOSTILE_NODE = "hostile-node"
CONNECTIONS = 1000
"""Idle and slow connections to each program's endpoints."""
RECONNECT_SECONDS = 20.0
"""How long a connection that was closed waits before it is opened again."""
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
_PROFILES = "/apis/berth.dev/v1alpha1/schedulerprofiles"
_PLUGIN_CONFIGS = "/apis/berth.dev/v1alpha1/pluginconfigs"


@dataclass(frozen=True, slots=True)
class Target:
    """What is attacked, and the accounts that the attackers have."""

    tenant: Server
    author: Server
    config_map_writer: Server
    kubelet: Server
    scheduler: str
    """The ``schedulerName`` of the scheduler that is attacked."""
    profile: str
    """Berth's profile, which is attacked through its objects in any case."""
    endpoints: Sequence[tuple[str, int]]
    """Addresses at which the programs serve their health and metrics."""
    nodes: Sequence[str]
    """Names of nodes."""
    extender: str
    """The address of an extender that never ends its answers."""


@dataclass(slots=True)
class Outcomes:
    """How many requests of each attack were taken and refused."""

    taken: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    last_refusal: dict[str, str] = field(default_factory=dict)


class Attacker:
    """One account's connection, which counts what it sends under the name of an attack."""

    def __init__(self, name: str, connection: Connection, outcomes: Outcomes) -> None:
        self._name = name
        self._connection = connection
        self._outcomes = outcomes

    async def post(self, path: str, body: Object | bytes) -> None:
        """Create an object; a refusal is only counted."""
        await self._send(self._connection.post(path, body if isinstance(body, bytes) else json.dumps(body).encode()))

    async def patch(self, path: str, change: Object | bytes) -> None:
        """Change an object by a merge patch; a refusal is only counted."""
        await self._send(
            self._connection.patch(path, change if isinstance(change, bytes) else json.dumps(change).encode())
        )

    async def delete(self, path: str) -> None:
        """Delete an object or a collection at once; that it is gone already is no matter."""
        with contextlib.suppress(RefusedError):
            await self._connection.delete(path, b'{"gracePeriodSeconds": 0}')

    async def _send(self, request: Awaitable[bytes]) -> None:
        try:
            await request
            self._outcomes.taken[self._name] += 1
        except RefusedError as error:
            self._outcomes.refused[self._name] += 1
            self._outcomes.last_refusal[self._name] = str(error)


@asynccontextmanager
async def _attacker(name: str, server: Server, outcomes: Outcomes) -> AsyncIterator[Attacker]:
    connection = await Connection.open(server)
    try:
        yield Attacker(name, connection, outcomes)
    finally:
        await connection.close()


# Pods of a tenant.


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
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    node_terms = [{"matchExpressions": expressions}]
    yield "spread", {"topologySpreadConstraints": spread}
    yield "affinity", {"affinity": {"podAffinity": {required: terms}}}
    yield "anti-affinity", {"affinity": {"podAntiAffinity": {required: terms}}}
    yield "preferred", {"affinity": {"podAffinity": {preferred: weighted}}}
    yield "tolerations", {"tolerations": [{"key": f"k{number}", "operator": "Exists"} for number in range(count)]}
    yield "expressions", {"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": node_terms}}}}
    yield "ports", {"hostNetwork": True, "containers": [{"name": "c", "image": "x", "ports": ports}]}


async def long_lists(target: Target, outcomes: Outcomes) -> None:
    """One pod after the other with a list of thousands, for each scheduler."""
    async with _attacker("long lists", target.tenant, outcomes) as tenant:
        for number, (shape, spec) in enumerate(itertools.cycle(long_shapes(LONGEST_LIST))):
            await tenant.post(_pods(TENANT), pod(f"long-{shape}-{number}", target.scheduler, **spec))
            await asyncio.sleep(10)
            await tenant.delete(f"{_pods(TENANT)}/long-{shape}-{number}")


async def slow_pods(target: Target, outcomes: Outcomes) -> None:
    """Many expensive pods at once, each of which a change of its labels wakes again and again."""
    shapes = list(long_shapes(SLOW_LIST))
    async with _attacker("slow pods", target.tenant, outcomes) as tenant:
        for number in range(SLOW_PODS):
            shape, spec = shapes[number % 4]
            await tenant.post(_pods(TENANT), pod(f"slow-{shape}-{number}", target.scheduler, **spec))
        for turn in itertools.count():
            number = turn % SLOW_PODS
            change = {"metadata": {"labels": {"turn": str(turn)}}}
            await tenant.patch(f"{_pods(TENANT)}/slow-{shapes[number % 4][0]}-{number}", change)
            await asyncio.sleep(1)


async def bound_terms(target: Target, outcomes: Outcomes) -> None:
    """Pods that are created on a node, each with thousands of terms of its own that select every pod; they change."""
    async with _attacker("bound terms", target.tenant, outcomes) as tenant:
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
            weighted = [{"weight": 1, "podAffinityTerm": term} for term in terms]
            affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}
            node = target.nodes[number % len(target.nodes)]
            bound = pod(f"bound-{number}", "nobody", affinity=affinity, nodeName=node)
            del bound["spec"]["containers"][0]["resources"]
            await tenant.post(_pods(TENANT), bound)
            await asyncio.sleep(0.5)
        for turn in itertools.count():
            change = {"metadata": {"labels": {"turn": str(turn)}}}
            await tenant.patch(f"{_pods(TENANT)}/bound-{turn % BOUND_PODS}", change)
            await asyncio.sleep(1)


async def unlike_classes(target: Target, outcomes: Outcomes) -> None:
    """Unschedulable pods of which no two are alike, ten per second."""
    async with _attacker("unlike classes", target.tenant, outcomes) as tenant:
        for number in itertools.count():
            container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": f"{1000 + number}"}}}
            unlike = pod(f"class-{number}", target.scheduler, {"class": str(number)}, containers=[container])
            await tenant.post(_pods(TENANT), unlike)
            if number >= STANDING_CLASSES:
                await tenant.delete(f"{_pods(TENANT)}/class-{number - STANDING_CLASSES}")
            await asyncio.sleep(0.1)


async def deep_managed_fields(target: Target, outcomes: Outcomes) -> None:
    """Pods whose managedFields are nested as deeply as the API server takes them."""
    managed = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": "HERE"}
    fields = '{"f:a":' * MOST_LEVELS + "{}" + "}" * MOST_LEVELS  # by hand: json.dumps cannot nest so deeply
    async with _attacker("deep managedFields", target.tenant, outcomes) as tenant:
        for number in itertools.count():
            for scheduler in (target.scheduler, "nobody"):
                deep = pod(f"deep-{number}-{scheduler}", scheduler)
                deep["metadata"]["managedFields"] = [managed]
                await tenant.post(_pods(TENANT), json.dumps(deep).replace('"HERE"', fields).encode())
            await asyncio.sleep(15)
            for scheduler in (target.scheduler, "nobody"):
                await tenant.delete(f"{_pods(TENANT)}/deep-{number}-{scheduler}")


# A kubelet.


async def extreme_node(target: Target, outcomes: Outcomes) -> None:
    """A node whose status says what no node can have."""
    statuses: list[Object] = [
        {"allocatable": {"pods": "1e25"}},
        {"allocatable": {"pods": "110", "cpu": "9223372036854775807E", "memory": "1e30"}},
        {"allocatable": {f"example.com/r{number}": str(number) for number in range(5000)}},
        {"images": [{"names": [f"example.com/i{number}:v1"], "sizeBytes": 2**62} for number in range(8000)]},
    ]
    async with _attacker("extreme node", target.kubelet, outcomes) as kubelet:
        taint = {"key": "hostile", "effect": "NoSchedule"}
        await kubelet.post("/api/v1/nodes", {"metadata": {"name": HOSTILE_NODE}, "spec": {"taints": [taint]}})
        for status in itertools.cycle(statuses):
            await kubelet.patch(f"/api/v1/nodes/{HOSTILE_NODE}/status", {"status": {"capacity": None, "images": None}})
            await kubelet.patch(f"/api/v1/nodes/{HOSTILE_NODE}/status", {"status": status})
            await asyncio.sleep(5)


# The author of profiles, and a writer of ConfigMaps.


def _profile(name: str, **spec: Any) -> Object:
    return {"apiVersion": "berth.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": name}, "spec": spec}


def _plugin_config(name: str, **spec: Any) -> Object:
    return {"apiVersion": "berth.dev/v1alpha1", "kind": "PluginConfig", "metadata": {"name": name}, "spec": spec}


def expensive_objects() -> Iterator[tuple[str, str, bytes]]:
    """The collection, name and text of each."""
    arguments = {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    where = "/profiles/0/pluginConfig/0/args"
    copies = [{"op": "copy", "from": where, "path": f"{where}/b{number}"} for number in range(26)]
    copying = _profile("bomb", pluginConfig=[{"name": "NodeResourcesFit", "args": arguments}], overrides=copies)
    yield _PROFILES, "bomb", json.dumps(copying).encode()
    resources = [{"name": f"example.com/r{number}", "weight": 1} for number in range(8000)]
    wide = {"scoringStrategy": {"type": "LeastAllocated", "resources": resources}}
    wide_profile = _profile("wide", pluginConfig=[{"name": "NodeResourcesFit", "args": wide}])
    yield _PROFILES, "wide", json.dumps(wide_profile).encode()
    enum = [f"v{number}" for number in range(30000)]
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "enum": enum}}}}
    declares = {"hooks": ["filter"], "argsSchema": schema}
    quoting = _plugin_config("quoting", plugin="Made", args={"a": ["wrong"] * 3000}, declares=declares)
    yield _PLUGIN_CONFIGS, "quoting", json.dumps(quoting).encode()
    odd = _profile("odd", plugins={"filter": {"enabled": [{"name": "a\0b"}]}})
    yield _PROFILES, "odd", json.dumps(odd).encode()
    for depth in (300, 1500, 9996):
        nested = json.dumps(_plugin_config(f"deep-{depth}", plugin="NodeResourcesFit", args={"a": "HERE"}))
        yield _PLUGIN_CONFIGS, f"deep-{depth}", nested.replace('"HERE"', '{"a":' * depth + "{}" + "}" * depth).encode()


async def bombs(target: Target, outcomes: Outcomes) -> None:
    """Profiles and PluginConfigs that are small to write and expensive to judge, or deep, or enormous."""
    async with _attacker("bombs for the operator", target.author, outcomes) as author:
        for number in range(20):
            large = _plugin_config(f"large-{number}", plugin="NodeResourcesFit", args={"a": "x" * 1_000_000})
            await author.post(_PLUGIN_CONFIGS, large)
        for turn in itertools.count():
            for path, name, body in expensive_objects():
                await author.post(path, body)
                await author.patch(f"{path}/{name}", {"metadata": {"annotations": {"turn": str(turn)}}})
            await asyncio.sleep(5)


async def hostile_extender(target: Target, outcomes: Outcomes) -> None:
    """A profile that joins the honest one's process, with an extender that never ends its answers, and its pods."""
    extender = {"urlPrefix": target.extender, "filterVerb": "filter", "weight": 1, "httpTimeout": "5s"}
    joining = _profile("preyed", joins=target.profile, extenders=[extender])
    async with (
        _attacker("hostile extender", target.author, outcomes) as author,
        _attacker("pods of the hostile extender", target.tenant, outcomes) as tenant,
    ):
        await author.post(_PROFILES, joining)
        for number in itertools.count():
            container = {"name": "c", "image": "x"}
            await tenant.post(_pods(TENANT), pod(f"preyed-{number}", "preyed", containers=[container]))
            await asyncio.sleep(1)
            if number >= 50:
                await tenant.delete(f"{_pods(TENANT)}/preyed-{number - 50}")


async def endless_answers(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a request of an extender's client without end: with a body, a head, or interim answers, by chance."""
    kind = random.choice(("body", "head", "interim"))
    beginnings = {
        "body": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        "head": b"HTTP/1.1 200 OK\r\n",
        "interim": b"",
    }
    more = {
        "body": b"10000\r\n" + b" " * 65536 + b"\r\n",
        "head": b"X-A: " + b"a" * 1000 + b"\r\n",
        "interim": b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n",
    }
    with contextlib.suppress(OSError, asyncio.CancelledError):  # cancelled when the attacks end
        writer.write(beginnings[kind])
        while not writer.is_closing():
            writer.write(more[kind])
            await writer.drain()
    writer.close()


async def code_in_config_map(target: Target, outcomes: Outcomes) -> None:
    """Write code into the profile's own ConfigMap, and say there that the scheduler is to run it."""
    code = "raise SystemExit(7)"
    digest = hashlib.sha256(code.encode()).hexdigest()
    name = f"berth-{target.profile}"
    source = f"plugins: {{E: {{configMap: {{name: {name}, key: e.py, sha256: {digest}}}}}}}"
    async with _attacker("code in the profile's ConfigMap", target.config_map_writer, outcomes) as writer:
        while True:
            change = {"data": {"e.py": code, "berth.yaml": source}}
            await writer.patch(f"/api/v1/namespaces/berth-system/configmaps/{name}", change)
            await asyncio.sleep(5)


# The network.


async def idle_connections(target: Target, outcomes: Outcomes) -> None:
    """Hold a thousand connections to each endpoint: half silent, half with TLS and a byte of a request now and then."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE

    async def hold(host: str, port: int, *, speaks: bool) -> None:
        while True:
            with contextlib.suppress(OSError, EOFError, RuntimeError):  # uvloop's, for a handle that is closed
                _, writer = await asyncio.open_connection(host, port, ssl=trusting if speaks else None)
                outcomes.taken["idle connections"] += 1
                try:
                    for byte in itertools.cycle(b"GET /metrics HTTP/1.1\r\nHost: a\r\nX-A: "):
                        if writer.is_closing():
                            break
                        if speaks:
                            writer.write(bytes([byte]))
                        await asyncio.sleep(3)
                finally:
                    writer.transport.abort()
            # Idle clients, not a flood of handshakes: that costs CPU in every server, and here in the attacker too.
            await asyncio.sleep(RECONNECT_SECONDS)

    async with asyncio.TaskGroup() as group:
        for host, port in target.endpoints:
            for number in range(CONNECTIONS):
                group.create_task(hold(host, port, speaks=number % 2 == 1))
                await asyncio.sleep(0.005)


ATTACKS: Sequence[Callable[[Target, Outcomes], Awaitable[None]]] = (
    deep_managed_fields,
    long_lists,
    slow_pods,
    bound_terms,
    unlike_classes,
    extreme_node,
    bombs,
    hostile_extender,
    code_in_config_map,
    idle_connections,
)


def _pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"
