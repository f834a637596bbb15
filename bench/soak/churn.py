"""The churn of a soak: pods come and go, gates open, nodes fail, are cordoned, relabelled and added."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from random import Random
from typing import Any

from bench.soak.ledger import Ledger
from bench.soak.objects import Node, Pod
from bench.soak.plan import Plan
from bench.soak.pod_families import BLUE, COLOR, CROWDED, GATED, GREEN, ORDINARY, POOL, PodFamily, families
from devcluster.controlplane.kwok_nodes import fake_node
from scheduler_runtime.kube.client import ApiError, Client

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
WORKERS = 8
ORPHANED_SECONDS = 2.0
"""The time that pods stay on a removed node, before they are deleted as the garbage collector would."""
NODE_CHANGES = 0.5
"""Changes of nodes per second, for each thousand of them and at least."""
FEWEST_NODES = 0.95
LEAST_SHARE = 0.04
"""The least share of one family in the replaced pods, however small the family is."""


class PodChurn:
    """Keeps the planned number of pods of each family, and replaces them all the time."""

    def __init__(self, client: Client, ledger: Ledger, plan: Plan) -> None:
        self.done: Counter[str] = Counter()
        """The number of changes of each kind."""
        self._client = client
        self._ledger = ledger
        self._plan = plan
        self._random = Random(plan.seed)
        self._families = families(plan)
        all_pods = sum(family.count for family in self._families)
        self._weights = [max(family.count, LEAST_SHARE * all_pods) for family in self._families]
        self._numbers = itertools.count()
        self._node_numbers = itertools.count(plan.nodes)
        self._orphaned_at: dict[str, float] = {}
        self._over = asyncio.Event()

    async def prepare(self) -> None:
        """Give every node its labels, before there are pods."""
        slots = asyncio.Semaphore(WORKERS)

        async def label(number: int) -> None:
            async with slots:
                body = {"metadata": {"labels": self._labels(number)}}
                await self._client.request("PATCH", f"{NODES}/kwok-{number}", body=body, content_type=MERGE)

        await asyncio.gather(*(label(number) for number in range(self._plan.nodes)))

    async def fill(self) -> None:
        """Create the first pods."""
        to_create = [family for family in self._families for _ in range(family.count)]
        self._random.shuffle(to_create)
        queue = iter(to_create)

        async def worker() -> None:
            for family in queue:
                await self._create(family)

        await asyncio.gather(*(worker() for _ in range(WORKERS)))

    @contextlib.asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """Change pods and nodes inside this block; at its end no request is under way."""
        pods = WORKERS / self._plan.per_second
        nodes = 1 / (NODE_CHANGES * max(1.0, self._plan.nodes / 1000))
        steps = [(self._change_pods, pods)] * WORKERS + [(self._change_node, nodes), (self._collect, ORPHANED_SECONDS)]
        self._over.clear()
        async with asyncio.TaskGroup() as group:
            for step, seconds in steps:
                group.create_task(self._repeat(step, seconds))
            try:
                yield
            finally:
                self._over.set()

    async def tidy(self) -> None:
        """Delete the pods that are on no node."""
        while self._ledger.orphans():
            await self._collect(at_once=True)
            await asyncio.sleep(0.2)

    async def _repeat(self, step: Callable[[], Awaitable[None]], seconds: float) -> None:
        while not self._over.is_set():
            start = time.monotonic()
            await _without_conflict(step())
            pause = seconds * self._random.uniform(0.5, 1.5) - (time.monotonic() - start)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, pause)):
                    await self._over.wait()

    # Pods

    async def _change_pods(self) -> None:
        """Replace a pod of some family, or create one after a node or a preemption has removed one."""
        family = self._random.choices(self._families, self._weights)[0]
        pods = [pod for pod in self._ledger.of(family.name) if not pod.metadata.deletion_timestamp]
        missing = family.count - len(pods)
        if missing <= 0 and pods:
            await self._end_one(family, pods)
            missing += 1
        for _ in range(min(missing, WORKERS)):
            await self._create(family)

    async def _end_one(self, family: PodFamily, pods: Sequence[Pod]) -> None:
        """Delete a pod, one with a node if there is one; a gated pod may lose its gate before."""
        pod = self._random.choice([pod for pod in pods if pod.node] or pods)
        gated = [pod for pod in pods if pod.is_gated]
        if family.name == GATED and gated and self._random.random() < 0.7:
            await self._change(f"{PODS}/{self._random.choice(gated).name}", {"spec": {"schedulingGates": None}})
            self.done["pods let in"] += 1
        await self._delete(pod)

    async def _create(self, family: PodFamily) -> None:
        await self._client.request("POST", PODS, body=family.pod(next(self._numbers)))
        self.done["pods created"] += 1

    async def _delete(self, pod: Pod, **options: Any) -> None:
        body = {"preconditions": {"uid": pod.uid}, **options}
        await self._client.request("DELETE", f"{PODS}/{pod.name}", body=body)
        self.done["pods deleted"] += 1

    async def _collect(self, *, at_once: bool = False) -> None:
        """Delete pods whose nodes were removed a while ago, at once: no kubelet could end them."""
        now = time.monotonic()
        orphans = {pod.uid: pod for pod in self._ledger.orphans()}
        self._orphaned_at = {uid: self._orphaned_at.get(uid, now) for uid in orphans}
        for uid, since in self._orphaned_at.items():
            if at_once or now - since >= ORPHANED_SECONDS:
                await _without_conflict(self._delete(orphans[uid], gracePeriodSeconds=0))

    # Nodes

    async def _change_node(self) -> None:
        """Change something about some node outside the crowded ones."""
        every = [node for node in self._ledger.nodes.values() if node.metadata.labels.get(POOL) == ORDINARY]
        ready = [node for node in every if not node.spec.unschedulable]
        cordoned = [node for node in every if node.spec.unschedulable]
        few = len(ready) < FEWEST_NODES * (self._plan.nodes - self._plan.crowded)
        if few and cordoned:
            await self._cordon(self._random.choice(cordoned), on=False)
        elif few:
            await self._add()
        else:
            await self._random.choice([self._relabel, self._remove, self._cordon])(self._random.choice(ready))

    async def _relabel(self, node: Node) -> None:
        color = GREEN if node.metadata.labels.get(COLOR) == BLUE else BLUE
        await self._change(f"{NODES}/{node.name}", {"metadata": {"labels": {COLOR: color}}})
        self.done["nodes relabelled"] += 1

    async def _cordon(self, node: Node, *, on: bool = True) -> None:
        await self._change(f"{NODES}/{node.name}", {"spec": {"unschedulable": True if on else None}})
        self.done["nodes cordoned" if on else "nodes uncordoned"] += 1

    async def _remove(self, node: Node) -> None:
        await self._client.request("DELETE", f"{NODES}/{node.name}")
        self.done["nodes removed"] += 1

    async def _add(self) -> None:
        """Add a node, sometimes under the name of a removed one, as when a machine restarts."""
        removed = [number for number in range(self._plan.nodes) if f"kwok-{number}" not in self._ledger.nodes]
        reuse = removed and self._random.random() < 0.5
        number = self._random.choice(removed) if reuse else next(self._node_numbers)
        node = fake_node(number)
        node["metadata"]["labels"] |= self._labels(number)
        await self._client.request("POST", NODES, body=node)
        self.done["nodes added"] += 1

    def _labels(self, number: int) -> dict[str, str]:
        pool = CROWDED if number < self._plan.crowded else ORDINARY
        return {POOL: pool, COLOR: BLUE if number % 4 == 0 else GREEN}

    async def _change(self, path: str, body: object) -> None:
        await self._client.request("PATCH", path, body=body, content_type=MERGE)


async def _without_conflict(step: Awaitable[None]) -> None:
    """Take a step; its object may have been deleted or replaced by now."""
    try:
        await step
    except ApiError as error:
        if error.status not in (404, 409):
            raise
