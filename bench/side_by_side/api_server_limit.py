"""The fastest that pods can be bound here: ``python -m bench.side_by_side.api_server_limit KUBECONFIG PORT``.

A loader without any decision: it follows the pods without a node and binds each to the next node in turn, with the
event that a scheduler writes, over the connections that ours uses and in the same order: bindings first. Its
rate is the limit that API server, etcd and a Python client set together. The only pods it leaves alone are those
that ask for more CPU than any node has: nobody binds them.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import msgspec
import uvloop

from bench.cluster.api import Container, Offer
from bench.cluster.client import Connection, Server
from bench.side_by_side.placement_check import amount
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.client import ApiError, Client
from scheduler_runtime.kube.events import micro_time
from scheduler_runtime.scheduling.io_batching import CROWD, IoBatching
from scheduler_runtime.scheduling.reporting.outbox import Outbox

BINDERS = 64
WITHOUT_NODE = "/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3D"
NODES = "/api/v1/nodes?watch=true"


class Metadata(msgspec.Struct):
    name: str
    uid: str
    namespace: str = ""


class Spec(msgspec.Struct):
    containers: list[Container] = []


class WatchedObject(msgspec.Struct):
    """The parts of a node or a pod that the loader needs."""

    metadata: Metadata
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Offer = msgspec.field(default_factory=Offer)


class WatchEvent(msgspec.Struct):
    type: str
    object: WatchedObject


class Loader:
    """Binds every pod without a node."""

    def __init__(self, kubeconfig: Path) -> None:
        self._server = Server.of(kubeconfig)
        self._clients = [Client(credentials.load(str(kubeconfig)), "limit") for _ in range(2)]
        self._nodes: list[str] = []
        self._uids: set[str] = set()
        self._largest = 0.0
        self._waiting: asyncio.Queue[Metadata] = asyncio.Queue()
        self._under_way = 0
        self._crowded = asyncio.Event()
        # Bindings first: events wait while every binder is busy.
        self._outbox = Outbox(is_busy=lambda: self._under_way == BINDERS)

    async def run(self, port: int) -> None:
        async with asyncio.TaskGroup() as group:
            turn = itertools.count()
            works = (
                self._follow_nodes(),
                self._follow_pods(),
                self._outbox.run(),
                IoBatching(self._crowded, self._outbox).run(),
            )
            for work in (*works, *(self._bind(turn) for _ in range(BINDERS))):
                group.create_task(work)
            served = await asyncio.start_server(say_ready, "127.0.0.1", port)
            await served.serve_forever()

    async def _follow_nodes(self) -> None:
        async for node in self._new_objects(NODES):
            self._nodes.append(node.metadata.name)
            self._largest = max(self._largest, amount(node.status.allocatable.get("cpu", "0")))

    async def _follow_pods(self) -> None:
        async for pod in self._new_objects(WITHOUT_NODE):
            requested = sum(amount(container.resources.requests.get("cpu", "0")) for container in pod.spec.containers)
            if requested <= self._largest:
                self._waiting.put_nowait(pod.metadata)

    async def _new_objects(self, path: str) -> AsyncIterator[WatchedObject]:
        """Yield each new object once; a new watch begins with all that exist, so their uids are remembered."""
        while True:
            connection = await Connection.open(self._server)
            async for new in added(connection, path):
                if new.metadata.uid not in self._uids:
                    self._uids.add(new.metadata.uid)
                    yield new
            await connection.close()

    async def _bind(self, turn: Iterator[int]) -> None:
        while True:
            pod = await self._waiting.get()
            node = self._nodes[next(turn) % len(self._nodes)]
            self._count(1)
            try:
                path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
                await self._clients[0].request("POST", path, body=binding(pod, node))
                self._outbox.put(pod.uid, partial(self._send_event, pod, node))
            except ApiError as error:
                if error.status != 404:  # the pod was deleted meanwhile
                    raise
            finally:
                self._count(-1)

    def _count(self, by: int) -> None:
        self._under_way += by
        if self._under_way >= CROWD:
            self._crowded.set()
        else:
            self._crowded.clear()

    async def _send_event(self, pod: Metadata, node: str) -> None:
        path = f"/apis/events.k8s.io/v1/namespaces/{pod.namespace}/events"
        await self._clients[1].request("POST", path, body=event(pod, node))


async def added(connection: Connection, path: str) -> AsyncIterator[WatchedObject]:
    """Yield the added objects of a watch until the server ends it."""
    decoder = msgspec.json.Decoder(WatchEvent)
    rest = b""
    async for chunk in connection.stream(path, "application/json"):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if (event := decoder.decode(line)).type == "ADDED":
                yield event.object


def binding(pod: Metadata, node: str) -> dict[str, object]:
    """The body of a Binding, as schedulers send it."""
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"kind": "Node", "name": node},
    }


def event(pod: Metadata, node: str) -> dict[str, object]:
    """The body of the event of a bind, as schedulers send it."""
    now = time.time_ns()
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{pod.name}.{now:x}", "namespace": pod.namespace},
        "eventTime": micro_time(now),
        "reportingController": "limit",
        "reportingInstance": "limit-0",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
        "note": f"Successfully assigned {pod.namespace}/{pod.name} to {node}",
        "type": "Normal",
    }


async def say_ready(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a readiness check: the loader is ready from its start."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    await writer.drain()
    writer.close()


async def limit(kubeconfig: Path, port: int) -> None:
    await Loader(kubeconfig).run(port)


def main() -> int:
    """Bind until ended."""
    kubeconfig, port = sys.argv[1:]
    uvloop.run(limit(Path(kubeconfig), int(port)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
