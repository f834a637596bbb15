"""The CPU of kube-scheduler and of ours for the same object, in real processes at a real API server.

A contender runs alone, and for each shape and size an object is created and deleted in three ways:

    waiting    a pod that needs a node, from its creation until it is bound, or unschedulable, and deleted
    in vain    the same of a pod for which nodes have no room, and would not have after evicting what may be evicted
    assigned   a pod created with its node already set, then an ordinary pod that is bound beside it

Nodes with a long list are created, an ordinary pod is bound, and the node is deleted. The measure is the CPU time of
the scheduler's process until it is quiet, without what it uses while nothing happens.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import devcluster
from bench.cluster.client import Connection, RefusedError, Server
from bench.cluster.process_stats import cpu_seconds
from bench.cost.shapes import SHAPES, Object, merged, node, pod
from bench.side_by_side import schedulers
from bench.side_by_side.run import control_plane
from bench.side_by_side.schedulers import BERTH, KUBE_SCHEDULER

NAMESPACE = "cost"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
NODES = "/api/v1/nodes"
WAYS = ("waiting", "in vain", "assigned")
WINDOW_SECONDS = 0.2
QUIET_SHARE = 0.06
LONGEST_SECONDS = 120.0
MOST_TIMES = 3
"""So many times kube-scheduler's CPU ours may be."""
NOISE_MILLISECONDS = 60.0
"""Less than this is not compared: it is what events, garbage collection and the machine add to both."""
GROWTH_TOLERANCE = 1.6


@dataclass(frozen=True, slots=True)
class CostCase:
    """A shape, how many entries its list has, and what is done with it."""

    shape: str
    way: str
    entries: int


def room(cpu: str) -> Object:
    """The part of a container that requests so many cores."""
    return {"resources": {"requests": {"cpu": cpu}}}


def in_vain(patch: Object) -> Object:
    """``patch`` with a request that no node has room for: two cores are free, and two more after preemption."""
    spec = patch.get("spec", {})
    more: Object = {"priority": 10}
    if "containers" in spec:
        more["containers"] = [*spec["containers"], {"name": "large", "image": "none", **room("6")}]
    else:
        more["containers"] = [{"name": "large", "image": "none", **room("6")}]
    return merged(patch, {"spec": more})


class Measurement:
    """A control plane with nodes, two pods on each, and one contender."""

    def __init__(self, connection: Connection, pid: int) -> None:
        self._api = connection
        self._pid = pid
        self._idle_share = 0.0

    async def prepare(self) -> None:
        """Measure how much CPU the contender uses while nothing happens."""
        for number in range(3):
            await self.bind_ordinary(f"warm-{number}")
            await self._delete(f"{PODS}/warm-{number}")
        await self.quiet()
        before, began = cpu_seconds(self._pid), time.monotonic()
        await asyncio.sleep(2)
        self._idle_share = (cpu_seconds(self._pid) - before) / (time.monotonic() - began)

    async def quiet(self) -> None:
        """Wait until the contender uses next to no CPU, twice in a row."""
        until, quiet_windows = time.monotonic() + LONGEST_SECONDS, 0
        used = cpu_seconds(self._pid)
        while quiet_windows < 2 and time.monotonic() < until:
            await asyncio.sleep(WINDOW_SECONDS)
            before, used = used, cpu_seconds(self._pid)
            quiet_windows = quiet_windows + 1 if used - before <= QUIET_SHARE * WINDOW_SECONDS else 0

    async def milliseconds(self, case: CostCase) -> float:
        """The CPU of one case. Raises RefusedError when the API server does not take the object."""
        shape = SHAPES[case.shape]
        patch = shape.patch(case.entries)
        name = f"{case.shape}-{case.entries}-{time.time_ns()}"
        before, began = cpu_seconds(self._pid), time.monotonic()
        beside = f"{PODS}/beside-{name}"
        if shape.kind == "Node":
            await self._api.post(NODES, json.dumps(node(name, 0, patch)).encode())
            await self.bind_ordinary(f"beside-{name}")
            await self._delete(beside)
            await self._delete(f"{NODES}/{name}")
        elif case.way == "assigned":
            assigned = pod(name, merged(patch, {"spec": {"nodeName": "node-0"}}))
            await self._api.post(PODS, json.dumps(assigned).encode())
            await self.bind_ordinary(f"beside-{name}")
            await self._delete(beside)
            await self._delete(f"{PODS}/{name}")
        else:
            waiting = pod(name, in_vain(patch) if case.way == "in vain" else patch)
            await self._api.post(PODS, json.dumps(waiting).encode())
            await self._attempted(name)
            await self.quiet()
            await self._delete(f"{PODS}/{name}")
        await self.quiet()
        spent = cpu_seconds(self._pid) - before
        return max(spent - self._idle_share * (time.monotonic() - began), 0.0) * 1000

    async def bind_ordinary(self, name: str) -> None:
        """Create a pod without anything special, and wait until it has a node."""
        await self._api.post(PODS, json.dumps(pod(name, {})).encode())
        await self._attempted(name)

    async def _attempted(self, name: str) -> None:
        """Wait until the pod has a node, or a condition that says why not."""
        until = time.monotonic() + LONGEST_SECONDS
        while time.monotonic() < until:
            state: Any = await self._api.get(f"{PODS}/{name}")
            conditions = state["status"].get("conditions", ())
            if any(condition["type"] == "PodScheduled" for condition in conditions):
                return
            await asyncio.sleep(0.05)
        raise TimeoutError(f"{name} was not tried within {LONGEST_SECONDS:.0f} s")

    async def _delete(self, path: str) -> None:
        with suppress(RefusedError):
            await self._api.patch(path, b'{"metadata":{"finalizers":null}}')
        await self._api.delete(path, b'{"gracePeriodSeconds":0}')


def cases(shapes: Iterable[str], entries: Sequence[int]) -> Iterator[CostCase]:
    """All cases of the shapes. A pod with scheduling gates cannot be created with its node."""
    for name in shapes:
        ways = WAYS[:2] if name == "gates" else WAYS
        for way in ways if SHAPES[name].kind == "Pod" else WAYS[:1]:
            for number in entries:
                yield CostCase(name, way, number)


@dataclass(frozen=True, slots=True)
class Costs:
    """Milliseconds of CPU of both for one case, the least of several times."""

    case: CostCase
    theirs: float
    ours: float

    @property
    def is_too_much(self) -> bool:
        """True if ours is above the limit, and above what the noise of such a measurement may be."""
        return self.ours > max(MOST_TIMES * self.theirs, NOISE_MILLISECONDS)


def grows_faster(small: Costs, large: Costs) -> bool:
    """True if ours grows faster from one size to the next than theirs, and faster than the list does."""
    if large.ours <= NOISE_MILLISECONDS:
        return False
    most = max(large.theirs / max(small.theirs, 1.0), large.case.entries / small.case.entries)
    return large.ours / max(small.ours, 1.0) > GROWTH_TOLERANCE * most


def faults(costs: Sequence[Costs]) -> list[str]:
    """What is against the promise, a sentence each; ``costs`` are those of each shape and way, by growing size."""
    sentences = [
        f"{cost.case.shape}, {cost.case.way}, {cost.case.entries} entries: {cost.ours:.0f} ms of CPU,"
        f" more than {MOST_TIMES} times kube-scheduler's {cost.theirs:.0f} ms"
        for cost in costs
        if cost.is_too_much
    ]
    for small, large in pairwise(costs):
        is_same_list = (small.case.shape, small.case.way) == (large.case.shape, large.case.way)
        if is_same_list and grows_faster(small, large):
            sentences.append(
                f"{large.case.shape}, {large.case.way}: from {small.case.entries} to {large.case.entries} entries"
                f" {small.ours:.0f} ms become {large.ours:.0f} ms; kube-scheduler's {small.theirs:.0f} ms become"
                f" {large.theirs:.0f} ms"
            )
    return sentences


async def compare(all_cases: Sequence[CostCase], kubernetes: str, nodes: int, repetitions: int) -> list[Costs]:
    """Measure all cases, kube-scheduler first. Raises RefusedError, TimeoutError and others."""
    with devcluster.running(control_plane(kubernetes)) as cluster:
        connection = await Connection.open(Server.of(cluster.kubeconfig))
        await fill(connection, nodes)
        results = []
        for contender in (KUBE_SCHEDULER, BERTH):
            process = await asyncio.to_thread(schedulers.start, contender, cluster, kubernetes)
            measurement = Measurement(connection, process.pid)
            await measurement.prepare()
            results.append(
                [min([await measurement.milliseconds(case) for _ in range(repetitions)]) for case in all_cases]
            )
            await asyncio.to_thread(schedulers.stop, contender, cluster)
        await connection.close()
    return [Costs(*row) for row in zip(all_cases, *results, strict=True)]


async def fill(api: Connection, nodes: int) -> None:
    """Create the nodes, with a pod on each that may be preempted and one that may not, of three cores each."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await api.post("/api/v1/namespaces", json.dumps(namespace).encode())
    for number in range(nodes):
        name = f"node-{number}"
        await api.post(NODES, json.dumps(node(name, number, {})).encode())
        for kind, priority in (("low", 0), ("high", 1000)):
            spec = {
                "nodeName": name,
                "priority": priority,
                "containers": [{"name": "c", "image": "none", **room("3")}],
            }
            resident = pod(f"{kind}-{number}", {"spec": spec, "metadata": {"labels": {"app": f"{kind}-{number}"}}})
            await api.post(PODS, json.dumps(resident).encode())
