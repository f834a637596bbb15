"""Many objects for an API server at once, and a count of the pods that get a node."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any, Self

import msgspec

from bench.cluster.bind_counter import Bound
from bench.cluster.client import Connection, RefusedError, Server
from bench.workloads import LabelNodes, Object

CREATORS = 30
PLURALS = {"Service": "services", "Pod": "pods"}
MARK = "signature-label-"
"""Every pod has a label of its own, so that no scheduler can take pods for equal by their labels."""

Request = tuple[str, bytes]


class BulkClient:
    """An API server with thirty connections to it; watches and other endless tasks run in ``group``."""

    def __init__(self, server: Server, group: asyncio.TaskGroup) -> None:
        self.server = server
        self.bound: dict[str, Bound] = {}
        self._group = group
        self._connections: list[Connection] = []
        self._open = AsyncExitStack()
        self._endless: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        for _ in range(CREATORS):
            connection = await Connection.open(self.server)
            self._open.push_async_callback(connection.close)
            self._connections.append(connection)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.end()
        await self._open.aclose()

    def end(self) -> None:
        """Stop the endless tasks."""
        for task in self._endless:
            task.cancel()

    def begin(self, endless: Any) -> None:
        """Let a coroutine run until ``end``."""
        self._endless.append(self._group.create_task(endless))

    async def follow(self, namespace: str) -> Bound:
        """Count the pods of ``namespace`` that get a node; the namespace is created if it does not exist."""
        if namespace not in self.bound:
            await self.need_namespace(namespace)
            self.bound[namespace] = Bound(namespace)
            self.begin(self.bound[namespace].follow(self.server))
        return self.bound[namespace]

    async def create(self, requests: Iterator[Request]) -> None:
        """Send all of ``requests``; each connection sends the next one as soon as its last is answered."""
        await self._send_all(requests, Connection.post)

    async def patch(self, requests: Iterator[Request]) -> None:
        """Send all of ``requests``, which are merge patches, in the same way."""
        await self._send_all(requests, Connection.patch)

    async def _send_all(
        self, requests: Iterator[Request], send: Callable[[Connection, str, bytes], Awaitable[bytes]]
    ) -> None:
        async def sender(connection: Connection) -> None:
            for path, body in requests:
                await send(connection, path, body)

        async with asyncio.TaskGroup() as senders:
            for connection in self._connections:
                senders.create_task(sender(connection))

    async def need_namespace(self, name: str) -> None:
        """Create the namespace if it does not exist."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        try:
            await self._connections[0].post("/api/v1/namespaces", json.dumps(body).encode())
        except RefusedError as error:
            if error.status != 409:
                raise

    async def items(self, path: str) -> list[Object]:
        """Every object of a collection."""
        items: list[Object] = (await self._connections[0].get(path))["items"]
        return items

    async def number(self, path: str) -> int:
        """The number of objects in a collection, without reading them."""
        answer: dict[str, Any] = await self._connections[0].get(f"{path}?limit=1")
        return len(answer["items"]) + int(answer["metadata"].get("remainingItemCount", 0))


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
    # One template, cut at the mark: to encode every pod would take CPU from the processes that are measured.
    before, after = json.dumps(pod).encode().split(MARK.encode())
    for number in range(count):
        yield f"/api/v1/namespaces/{namespace}/pods", b"%s%s%d%s" % (before, MARK.encode(), number, after)


def once(template: Object, namespace: str) -> Request:
    """The request for one object of ``template``."""
    return f"/api/v1/namespaces/{namespace}/{PLURALS[template['kind']]}", json.dumps(template).encode()


class Resources(msgspec.Struct):
    requests: dict[str, str] = {}


class Container(msgspec.Struct):
    resources: Resources = msgspec.field(default_factory=Resources)


class Offer(msgspec.Struct):
    """The part of a node's status that judging placements needs."""

    allocatable: dict[str, str] = {}
