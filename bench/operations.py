"""Performing the steps of a workload on an API server."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any, Self

from bench.bound import Bound
from bench.client import Connection, RefusedError, Server
from bench.workloads import (
    Barrier,
    Churn,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePods,
    LabelNodes,
    Object,
    Step,
    Workload,
)

CREATORS = 30
WAIT_SECONDS = 600.0
"""How long pods may take to get their nodes."""
PLURALS = {"Service": "services", "Pod": "pods"}
MARK = "signature-label-"
"""Every pod has a label of its own: whoever takes pods for alike by their labels must look twice."""

Request = tuple[str, bytes]


class Operations:
    """The hands of one run: creates what the steps say and counts what gets a node."""

    def __init__(self, server: Server, workload: Workload, group: asyncio.TaskGroup) -> None:
        self._server = server
        self._workload = workload
        self._group = group
        self._connections: list[Connection] = []
        self._open = AsyncExitStack()
        self._bound: dict[str, Bound] = {}
        self._asked: dict[str, int] = {}
        self._endless: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        for _ in range(CREATORS):
            connection = await Connection.open(self._server)
            self._open.callback(connection.close)
            self._connections.append(connection)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.end()
        await self._open.aclose()

    def end(self) -> None:
        """Stop what goes on by itself: churn, and the watches."""
        for task in self._endless:
            task.cancel()

    async def perform(self, number: int, step: Step) -> None:
        """Do one step, the workload's ``number``-th."""
        match step:
            case CreateNodes():
                label = step.label_node_prepare_strategy
                template = self._workload.templates[step.node_template_path]
                await self._create(nodes(template, self._workload.count(step), label))
            case CreateNamespaces():
                for which in range(self._workload.count(step)):
                    await self._need_namespace(f"{step.prefix}-{which}")
            case CreatePods():
                await self.create_pods(step, self.namespace(number, step))
                if not step.skip_wait_to_completion:
                    await self.wait(self.namespace(number, step))
            case CreateAny():
                await self._need_namespace(step.namespace or "default")
                await self._post(*once(self._workload.templates[step.template_path], step.namespace or "default"))
            case Churn():
                self._endless.append(self._group.create_task(self._churn(number, step)))
            case Barrier():
                for namespace in self._bound:
                    await self.wait(namespace)

    def namespace(self, number: int, step: CreatePods | Churn) -> str:
        """Where the step's objects are: each step has a namespace of its own if it names none."""
        return step.namespace or f"namespace-{number}"

    async def follow(self, namespace: str) -> Bound:
        """Count the pods of ``namespace`` that get a node."""
        if namespace not in self._bound:
            await self._need_namespace(namespace)
            self._bound[namespace] = Bound(namespace)
            self._endless.append(self._group.create_task(self._bound[namespace].follow(self._server)))
        return self._bound[namespace]

    async def create_pods(self, step: CreatePods, namespace: str) -> None:
        """Create the pods of a step, without waiting for them to get a node."""
        await self.follow(namespace)
        count = self._workload.count(step)
        self._asked[namespace] = self._asked.get(namespace, 0) + count
        await self._create(pods(self._workload.pod_template(step), count, namespace))

    async def wait(self, namespace: str) -> None:
        """Wait until every pod of ``namespace`` has a node. Raises TimeoutError."""
        await self._bound[namespace].reach(self._asked[namespace], WAIT_SECONDS)

    async def items(self, path: str) -> list[Object]:
        """Every object of a collection."""
        found: list[Object] = (await self._connections[0].get(path))["items"]
        return found

    async def number(self, path: str) -> int:
        """How many objects a collection has, without reading them."""
        answer: dict[str, Any] = await self._connections[0].get(f"{path}?limit=1")
        return len(answer["items"]) + int(answer["metadata"].get("remainingItemCount", 0))

    async def _create(self, requests: Iterator[Request]) -> None:
        """Send all of ``requests``, each creator the next as soon as its last is answered."""

        async def creator(connection: Connection) -> None:
            for path, body in requests:
                await connection.post(path, body)

        async with asyncio.TaskGroup() as creators:
            for connection in self._connections:
                creators.create_task(creator(connection))

    async def _churn(self, number: int, step: Churn) -> None:
        namespace = self.namespace(number, step)
        await self._need_namespace(namespace)
        connection = await Connection.open(self._server)
        try:
            for path in itertools.cycle(step.template_paths):
                await connection.post(*once(self._workload.templates[path], namespace))
                await asyncio.sleep(step.interval_milliseconds / 1000 / len(step.template_paths))
        finally:
            connection.close()

    async def _need_namespace(self, name: str) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        try:
            await self._post("/api/v1/namespaces", json.dumps(body).encode())
        except RefusedError as error:
            if error.status != 409:
                raise

    async def _post(self, path: str, body: bytes) -> None:
        await self._connections[0].post(path, body)


def nodes(template: Object, count: int, label: LabelNodes | None) -> Iterator[Request]:
    """Requests for ``count`` nodes of ``template``, named and labelled as a kubelet would do it."""
    for number in range(count):
        node = copy.deepcopy(template)
        metadata = node["metadata"]
        metadata["name"] = metadata.get("name") or f"{metadata.pop('generateName')}{number}"
        labels = metadata.setdefault("labels", {})
        labels["kubernetes.io/hostname"] = metadata["name"]
        if label:
            labels[label.label_key] = label.label_values[number % len(label.label_values)]
        yield "/api/v1/nodes", json.dumps(node).encode()


def pods(template: Object, count: int, namespace: str) -> Iterator[Request]:
    """Requests for ``count`` pods of ``template``."""
    pod = copy.deepcopy(template)
    pod["metadata"].setdefault("labels", {})["signature"] = MARK
    before, after = json.dumps(pod).encode().split(MARK.encode())
    for number in range(count):
        yield f"/api/v1/namespaces/{namespace}/pods", b"%s%s%d%s" % (before, MARK.encode(), number, after)


def once(template: Object, namespace: str) -> Request:
    """The request for one object of ``template``."""
    return f"/api/v1/namespaces/{namespace}/{PLURALS[template['kind']]}", json.dumps(template).encode()
