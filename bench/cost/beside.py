"""The CPU of kube-scheduler and of ours for the same object, in real processes at a real API server.

A contender runs alone, and for each shape and size an object is created and deleted in these ways:

    waiting    a pod that needs a node, from its creation until it is bound, or unschedulable, and deleted
    in vain    the same of a pod for which nodes have no room, and would not have after evicting what may be evicted
    assigned   a pod created with its node already set, while ordinary pods are bound beside it
    added      a node, created and deleted, while ordinary pods are bound beside it
    updated    a node that is there, and of which a label changes again and again

An ordinary pod is bound afterwards: what is left of an object must not cost others anything. The measure is the CPU
time of the scheduler's process until it is quiet, without what it uses while nothing happens. No two objects have an
entry in common, so that no repetition is answered from memory.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import devcluster
from bench.cluster.client import Connection, RefusedError, Server
from bench.cluster.process_stats import cpu_seconds
from bench.cost.builders import Object, in_vain, merged, node, pod, room
from bench.cost.shapes import ORDINARY, SHAPES, LongList
from bench.side_by_side import schedulers
from bench.side_by_side.schedulers import BERTH, KUBE_SCHEDULER
from devcluster import Spec

NAMESPACE = "cost"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
NODES = "/api/v1/nodes"
BESIDE = 3
"""Ordinary pods that are bound while the object is there."""
UPDATES = 5
WINDOW_SECONDS = 0.1
QUIET_WINDOWS = 4
QUIET_SHARE = 0.06
LONGEST_SECONDS = 120.0
ORDINARY_SAMPLES = 10
"""So many times an ordinary object is measured in each way, spread over the run."""
NUMBERS = range(10_000, 65_000)
"""Numbers of entries: of five digits each, and ports."""
ADMISSION = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority,RuntimeClass"
"""Overhead is admitted without a RuntimeClass that has it."""


@dataclass(frozen=True, slots=True)
class CostCase:
    """A shape, what is done with it, and how many entries its list has; none for an ordinary object."""

    shape: str
    way: str
    entries: int

    @property
    def list(self) -> LongList:
        return ORDINARY[self.shape] if self.shape in ORDINARY else SHAPES[self.shape]


def cases(shapes: Iterable[str], entries: Sequence[int]) -> Iterator[CostCase]:
    """All cases of the shapes."""
    for name in shapes:
        for way in SHAPES[name].ways:
            for number in entries:
                yield CostCase(name, way, number)


def with_ordinary(all_cases: Sequence[CostCase]) -> list[CostCase]:
    """``all_cases``, and at equal distances ordinary objects in the same ways."""
    kinds = {(case.list.kind, case.way): None for case in all_cases}
    ordinary = [CostCase(kind, way, 0) for kind, way in kinds]
    cuts = [len(all_cases) * number // (ORDINARY_SAMPLES - 1) for number in range(ORDINARY_SAMPLES)]
    result = list(ordinary)
    for start, end in pairwise(cuts):
        result += [*all_cases[start:end], *ordinary]
    return result


def control_plane(kubernetes: str) -> Spec:
    """An API server and its etcd, alone."""
    return Spec(
        kubernetes=kubernetes, node="none", scheduler=False, controller_manager=False, apiserver_args=(ADMISSION,)
    )


class Numbers:
    """Numbers for the entries of one object after the other, none of them twice as long as they last."""

    def __init__(self) -> None:
        self._next = NUMBERS.start

    def take(self, count: int) -> range:
        """The next ``count``."""
        if self._next + count > NUMBERS.stop:
            self._next = NUMBERS.start
        self._next += count
        return range(self._next - count, self._next)


class Measurement:
    """A control plane with nodes, two pods on each, and one contender."""

    def __init__(self, connection: Connection, pid: int) -> None:
        self._api = connection
        self._pid = pid
        self._idle_share = 0.0
        self._numbers = Numbers()
        self._number = 0

    async def prepare(self) -> None:
        """Measure how much CPU the contender uses while nothing happens."""
        for number in range(3):
            await self._bind_ordinary(f"warm-{number}")
        await self._quiet()
        before, began = cpu_seconds(self._pid), time.monotonic()
        await asyncio.sleep(2)
        self._idle_share = (cpu_seconds(self._pid) - before) / (time.monotonic() - began)

    async def milliseconds(self, case: CostCase) -> float:
        """The CPU of one case. Raises RefusedError when the API server does not take the object."""
        numbers = self._numbers.take(case.entries)
        self._number += 1
        name = f"long-{case.shape.lower()}-{self._number}"
        before_it = await self._prepare_case(case, name, numbers)
        await self._quiet()
        before, began = cpu_seconds(self._pid), time.monotonic()
        if case.way in ("added", "updated"):
            await self._with_node(case, name, numbers)
        elif case.way == "assigned":
            await self._with_assigned(case, name, numbers)
        else:
            await self._with_waiting(case, name, numbers)
        await self._bind_ordinary(f"after-{name}")
        await self._quiet()
        spent = cpu_seconds(self._pid) - before
        result = max(spent - self._idle_share * (time.monotonic() - began), 0.0) * 1000
        for path in before_it:
            await self._delete(path)
        return result

    async def _prepare_case(self, case: CostCase, name: str, numbers: range) -> list[str]:
        """Create what is there before the object; return the paths."""
        shape, paths = case.list, []
        if case.way == "updated":
            paths.append(await self._create(NODES, node(name, 0, shape.patch(numbers))))
        if shape.node is not None:
            paths.append(await self._create(NODES, node(f"before-{name}", 0, shape.node(numbers))))
        if shape.resident is not None:
            its_node = "node-0" if shape.node is None else f"before-{name}"
            patch = merged(shape.resident(numbers), {"spec": {"nodeName": its_node}})
            paths.insert(0, await self._create(PODS, pod(f"before-{name}", patch)))
        return paths

    async def _with_node(self, case: CostCase, name: str, numbers: range) -> None:
        if case.way == "updated":
            for number in range(UPDATES):
                patch = {"metadata": {"labels": {"example.com/updated": str(number)}}}
                await self._api.patch(f"{NODES}/{name}", json.dumps(patch).encode())
            return
        path = await self._create(NODES, node(name, 0, case.list.patch(numbers)))
        await self._bind_several(name)
        await self._delete(path)

    async def _with_assigned(self, case: CostCase, name: str, numbers: range) -> None:
        patch = merged(case.list.patch(numbers), {"spec": {"nodeName": "node-0"}})
        path = await self._create(PODS, pod(name, patch))
        await self._write_status(case, path, numbers)
        await self._bind_several(name)
        await self._delete(path)

    async def _with_waiting(self, case: CostCase, name: str, numbers: range) -> None:
        patch = case.list.patch(numbers)
        path = await self._create(PODS, pod(name, in_vain(patch) if case.way == "in vain" else patch))
        if case.list.is_tried:
            await self._attempted(path)
        await self._write_status(case, path, numbers)
        await self._quiet()
        await self._delete(path)

    async def _write_status(self, case: CostCase, path: str, numbers: range) -> None:
        if case.list.status is not None:
            await self._api.patch(f"{path}/status", json.dumps(case.list.status(numbers)).encode())

    async def _bind_several(self, name: str) -> None:
        for number in range(BESIDE):
            await self._bind_ordinary(f"beside-{number}-{name}")

    async def _bind_ordinary(self, name: str) -> None:
        """Create a pod without anything special, wait until it has a node, and delete it."""
        path = await self._create(PODS, pod(name, {}))
        await self._attempted(path)
        await self._delete(path)

    async def _create(self, collection: str, body: Object) -> str:
        """Create an object; return its path."""
        await self._api.post(collection, json.dumps(body).encode())
        return f"{collection}/{body['metadata']['name']}"

    async def _attempted(self, path: str) -> None:
        """Wait until the pod has a node, or a condition that says why not."""
        until = time.monotonic() + LONGEST_SECONDS
        while time.monotonic() < until:
            state: Any = await self._api.get(path)
            conditions = state["status"].get("conditions", ())
            if any(condition["type"] == "PodScheduled" for condition in conditions):
                return
            await asyncio.sleep(0.02)
        raise TimeoutError(f"{path} was not tried within {LONGEST_SECONDS:.0f} s")

    async def _delete(self, path: str) -> None:
        await self._api.delete(path, b'{"gracePeriodSeconds":0}')
        with suppress(RefusedError):  # then it is gone: it had no finalizers
            await self._api.patch(path, b'{"metadata":{"finalizers":null}}')

    async def _quiet(self) -> None:
        """Wait until the contender uses next to no CPU, several times in a row."""
        until, quiet_windows = time.monotonic() + LONGEST_SECONDS, 0
        used = cpu_seconds(self._pid)
        while quiet_windows < QUIET_WINDOWS and time.monotonic() < until:
            await asyncio.sleep(WINDOW_SECONDS)
            before, used = used, cpu_seconds(self._pid)
            quiet_windows = quiet_windows + 1 if used - before <= QUIET_SHARE * WINDOW_SECONDS else 0


Samples = Mapping[CostCase, Sequence[float]]
"""Milliseconds of CPU for each case, all repetitions; of an ordinary object the least of as many, each time."""
Record = Callable[[str, CostCase, float], None]
"""Called with the name of the contender, a case and its milliseconds."""


async def measure(
    all_cases: Sequence[CostCase], kubernetes: str, nodes: int, repetitions: int, record: Record = lambda *_: None
) -> tuple[Samples, Samples]:
    """Measure all cases with kube-scheduler, then with ours. Raises RefusedError, TimeoutError and others."""
    with devcluster.running(control_plane(kubernetes)) as cluster:
        connection = await Connection.open(Server.of(cluster.kubeconfig))
        await fill(connection, nodes)
        both: list[Samples] = []
        for contender in (KUBE_SCHEDULER, BERTH):
            process = await asyncio.to_thread(schedulers.start, contender, cluster, kubernetes)
            measurement = Measurement(connection, process.pid)
            await measurement.prepare()
            samples: dict[CostCase, list[float]] = {}
            for case in with_ordinary(all_cases):
                several = [await measurement.milliseconds(case) for _ in range(repetitions)]
                for milliseconds in several:
                    record(contender.name, case, milliseconds)
                samples.setdefault(case, []).extend(several if case.entries else [min(several)])
            await asyncio.to_thread(schedulers.stop, contender, cluster)
            both.append(samples)
        await connection.close()
    return both[0], both[1]


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
