"""A scene of preemption: full nodes, a ReplicaSet of pods that need the room of others, and what a scheduler does.

Each node has ten pods of low priority. Each pod that comes is as large as one of them, so one eviction for each is
enough. The API server counts the requests; a stand-in for kubelets ends victims that do not go at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import uvloop

from bench.cluster.api import BulkClient, Request
from bench.cluster.client import Connection, RefusedError, Server, WatchError, read_page
from bench.side_by_side import schedulers
from bench.side_by_side.run import ADMISSION, quiet, settled
from bench.side_by_side.schedulers import Contender
from bench.workloads import Object
from devcluster import Cluster, Spec
from devcluster.system.ports import free_port

PER_NODE = 10
LOW, HIGH = 0, 1000
AT_LONGEST_SECONDS = 900.0
AT_ONCE = json.dumps({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}).encode()
COUNTED = re.compile(
    r'apiserver_request_total\{code="(?P<code>\d+)".*resource="pods".*subresource="".*verb="DELETE".*\} (?P<many>\S+)'
)
VICTIMS = re.compile(r"^scheduler_preemption_victims_sum (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CrowdScene:
    """Full nodes, and pods that come."""

    nodes: int
    preemptors: int
    stay_seconds: float
    """The time in which a victim ends; 0 if it is gone at once."""
    qps: int

    @property
    def title(self) -> str:
        going = f"victims stay {self.stay_seconds:g} s" if self.stay_seconds else "victims go at once"
        return f"{self.nodes} nodes, {self.preemptors} preemptors, {going}, qps {self.qps}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The doings of one scheduler in a scene."""

    scene: CrowdScene
    contender: str
    evictions: int
    """Pods of low priority that had to leave."""
    requests: int
    """Requests to delete a pod, whatever the answer."""
    refused: int
    """Those of them that were answered with an error, such as that the pod is not there any more."""
    events: int
    """Events that say of a pod that it was preempted."""
    counted: int
    """Victims by the scheduler's own metric."""
    seconds: float
    """From the creation of the ReplicaSet until its last pod had a node."""


def control_plane(kubernetes: str) -> Spec:
    """An API server, and the controllers, but for the one that gives nodes up whose kubelet is silent."""
    return Spec(
        kubernetes=kubernetes,
        node="none",
        scheduler=False,
        apiserver_args=(ADMISSION,),
        kcm_args=("--controllers=-node-lifecycle-controller",),
    )


def measure(
    cluster: Cluster, scenes: Sequence[CrowdScene], contenders: Sequence[Contender], kubernetes: str
) -> Iterator[Outcome]:
    """The outcome of each scene for each of ``contenders``, in a cluster without nodes: all scenes have as many."""
    uvloop.run(create_nodes(cluster, scenes[0].nodes))
    for number, (scene, contender) in enumerate(itertools.product(scenes, contenders)):
        yield uvloop.run(_Crowd(cluster, scene, contender, kubernetes, f"low-{number}", f"high-{number}").run())


@dataclass(slots=True)
class _Crowd:
    cluster: Cluster
    scene: CrowdScene
    contender: Contender
    kubernetes: str
    low: str
    high: str
    """The namespaces of the pods."""
    ended: int = 0
    """Victims that the kubelets have ended."""

    async def run(self) -> Outcome:
        server, scene = Server.of(self.cluster.kubeconfig), self.scene
        async with asyncio.TaskGroup() as group, BulkClient(server, group) as api:
            connection = await Connection.open(server)
            filled, bound = await api.follow(self.low), await api.follow(self.high)
            await api.create(residents(scene, self.low))
            await filled.reach(scene.nodes * PER_NODE, AT_LONGEST_SECONDS)
            if scene.stay_seconds:
                api.begin(self._end_victims(server))
            port = free_port()
            process = await asyncio.to_thread(
                schedulers.start, self.contender, self.cluster, self.kubernetes, qps=scene.qps, port=port
            )
            await quiet(process.pid)
            before, began = await deletions(connection), time.monotonic()
            await connection.post(f"/apis/apps/v1/namespaces/{self.high}/replicasets", replica_set(scene.preemptors))
            await bound.reach(scene.preemptors, AT_LONGEST_SECONDS)
            seconds = time.monotonic() - began
            for namespace in (self.high, self.low):
                await settled(api, process.pid, namespace)
            after, ended = await deletions(connection), self.ended
            left = await api.items(f"/api/v1/namespaces/{self.low}/pods")
            events = await api.items(f"/apis/events.k8s.io/v1/namespaces/{self.low}/events")
            page = await asyncio.to_thread(read_page, f"https://127.0.0.1:{port}/metrics", 10.0, server.token)
            schedulers.stop(self.contender, self.cluster)
            api.end()
            await self._clear(api, connection)
            await connection.close()
        staying = [pod for pod in left if not pod["metadata"].get("deletionTimestamp")]
        sent = after - before
        found = VICTIMS.search(page)
        return Outcome(
            scene,
            self.contender.name,
            evictions=scene.nodes * PER_NODE - len(staying),
            requests=sum(sent.values()) - ended,
            refused=sum(many for code, many in sent.items() if code >= 300),
            events=sum(happened(event) for event in events if event["reason"] == "Preempted"),
            counted=int(float(found[1])) if found else 0,
            seconds=seconds,
        )

    async def _end_victims(self, server: Server) -> None:
        """End each victim after its time, as its kubelet would."""
        ending, seen = asyncio.Queue[tuple[float, str]](), set[str]()
        path = f"/api/v1/namespaces/{self.low}/pods"
        async with asyncio.TaskGroup() as kubelet, contextlib.aclosing(changes(server, path)) as pods:
            kubelet.create_task(self._end_in_time(ending, server))
            async for pod in pods:
                metadata = pod["metadata"]
                if metadata.get("deletionTimestamp") and metadata["uid"] not in seen:
                    seen.add(metadata["uid"])
                    ending.put_nowait((time.monotonic() + self.scene.stay_seconds, f"{path}/{metadata['name']}"))

    async def _end_in_time(self, ending: asyncio.Queue[tuple[float, str]], server: Server) -> None:
        connection = await Connection.open(server)
        try:
            while True:
                due, path = await ending.get()
                await asyncio.sleep(due - time.monotonic())
                await connection.delete(path, AT_ONCE)
                self.ended += 1
        finally:
            await connection.close()

    async def _clear(self, api: BulkClient, connection: Connection) -> None:
        """Leave the nodes as they were before."""
        await connection.delete(f"/apis/apps/v1/namespaces/{self.high}/replicasets", AT_ONCE)
        while await api.number("/api/v1/pods"):  # the controller may not know yet that its ReplicaSet is gone
            for namespace in (self.high, self.low):
                with contextlib.suppress(EOFError, RefusedError):  # thousands take longer than one request may
                    await connection.delete(f"/api/v1/namespaces/{namespace}/pods", AT_ONCE)
            await asyncio.sleep(0.2)


async def create_nodes(cluster: Cluster, count: int) -> None:
    """Create nodes for ten pods each."""
    async with asyncio.TaskGroup() as group, BulkClient(Server.of(cluster.kubeconfig), group) as api:
        await api.create(nodes(count))


def nodes(count: int) -> Iterator[Request]:
    status = {"capacity": {"pods": "110", "cpu": str(PER_NODE)}, "conditions": [{"type": "Ready", "status": "True"}]}
    for number in range(count):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}, "status": status}
        yield "/api/v1/nodes", json.dumps(node).encode()


def residents(scene: CrowdScene, namespace: str) -> Iterator[Request]:
    """The requests that fill the nodes."""
    for number in range(scene.nodes * PER_NODE):
        grace = 3600 if scene.stay_seconds else 0  # their kubelet is quicker
        spec = pod_spec(LOW) | {"nodeName": f"node-{number % scene.nodes}", "terminationGracePeriodSeconds": grace}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"low-{number}"}, "spec": spec}
        yield f"/api/v1/namespaces/{namespace}/pods", json.dumps(pod).encode()


def replica_set(replicas: int) -> bytes:
    """The pods that come."""
    labels = {"app": "high"}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(HIGH)}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    manifest = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "high"}, "spec": spec}
    return json.dumps(manifest).encode()


def pod_spec(priority: int) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {"priority": priority, "containers": [container]}


async def changes(server: Server, path: str) -> AsyncGenerator[Object]:
    """The objects of a collection as they change from now on.

    The API server ends the watch of a client that is slow for a moment; a new one begins where that ended.
    """
    version = ""
    while True:
        connection, rest = await Connection.open(server), b""
        try:
            version = version or (await connection.get(f"{path}?limit=1"))["metadata"]["resourceVersion"]
            async for chunk in connection.stream(f"{path}?watch=true&resourceVersion={version}", "application/json"):
                *complete, rest = (rest + chunk).split(b"\n")
                for change in map(json.loads, complete):
                    if change["type"] == "ERROR":
                        raise WatchError(f"the watch on {path} reports {change}")
                    version = change["object"]["metadata"]["resourceVersion"]
                    yield change["object"]
        except EOFError:
            continue
        finally:
            await connection.close()


async def deletions(connection: Connection) -> Counter[int]:
    """The requests so far to delete one pod, by the status of the answer."""
    return deletions_on((await connection.page("/metrics")).decode())


def deletions_on(page: str) -> Counter[int]:
    """Those requests as a page of the API server's metrics counts them."""
    found = COUNTED.finditer(page)
    totals: Counter[int] = Counter()
    for sample in found:
        totals[int(sample["code"])] += int(float(sample["many"]))
    return totals


def happened(event: Object) -> int:
    """How often the thing happened that an event tells."""
    return int((event.get("series") or {}).get("count", 1))
