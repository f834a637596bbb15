"""A namespace of its own for a case, a scheduler in this process, and waiting for what happens without sleeping.

The scheduler runs in the test's own event loop, so that a case can give it plugins of its own and look at them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar, cast

import yaml

from devcluster import Cluster
from scheduler_runtime import config
from scheduler_runtime.api import Plugin, Watch, declaration_of
from scheduler_runtime.app import startup
from scheduler_runtime.app.scheduler import Scheduler
from scheduler_runtime.app.settings import SchedulerSettings
from scheduler_runtime.catalog import Version
from scheduler_runtime.component.https import ServingSettings
from scheduler_runtime.config import Problems
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.client import Client
from scheduler_runtime.reload.plan import DocumentText
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.watched_objects import WatchedObjects

T = TypeVar("T")
Object = dict[str, Any]
PATIENCE = ContextVar("patience", default=30.0)
"""How many seconds a case waits for what has to happen."""
REPLACED: ContextVar[tuple[type[Plugin], ...]] = ContextVar("replaced", default=())
"""Plugins that stand in for in-tree ones of their names, for cases that are to fail."""
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
NODES = "/api/v1/nodes"

_names = itertools.count(1)


UNSEEN_SECONDS = 0.05
"""How often whoever waits looks at what changes without being told, such as the scheduler's own queue."""


class Changes:
    """Something changed: whoever waits looks again."""

    def __init__(self) -> None:
        self._happened = asyncio.Event()

    def tell(self, *_: object) -> None:
        self._happened.set()
        self._happened = asyncio.Event()

    async def until(self, check: Callable[[], T | None], seconds: float) -> T:
        """Wait until ``check`` is true, and return what it said. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while not (answer := check()):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(UNSEEN_SECONDS):
                        await self._happened.wait()
            return answer


@dataclass
class World:
    """A namespace, and all nodes of the API server."""

    cluster: Cluster
    client: Client
    namespace: str
    changes: Changes
    pods: WatchedObjects
    log: list[str] = field(default_factory=list)
    """What the plugins of the case want told, in order."""
    others: list[str] = field(default_factory=list)
    """Further namespaces whose pods are to go at the end."""

    # What can be done.

    async def create(self, where: str, item: Object) -> Object:
        answer: Object = json.loads(await self.client.request("POST", where, body=item))
        return answer

    async def create_nodes(self, *nodes: Object) -> None:
        await asyncio.gather(*(self.create(NODES, node) for node in nodes))

    async def create_namespace(self, name: str, **labels: str) -> None:
        await self.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        self.others.append(name)

    async def create_pods(self, *pods: Object) -> None:
        """Create them one after the other, because some cases count on the order."""
        for pod in pods:
            await self.create_pod(pod)

    async def create_pod(self, pod: Object) -> Object:
        return await self.create(f"/api/v1/namespaces/{pod['metadata'].get('namespace', self.namespace)}/pods", pod)

    async def patch(self, path: str, change: Any, content_type: str = MERGE_PATCH) -> Object:
        answer: Object = json.loads(await self.client.request("PATCH", path, body=change, content_type=content_type))
        return answer

    async def delete(self, path: str, grace_seconds: int | None = 0) -> None:
        body = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        await self.client.request("DELETE", path, body=body)

    def path(self, pod_name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{pod_name}"

    # What can be seen.

    def pod(self, name: str) -> Object | None:
        """The pod as it was last seen; None when it is gone."""
        return next((pod for pod in self.pods.list(self.watch) if pod["metadata"]["name"] == name), None)

    @property
    def watch(self) -> Watch:
        return Watch("v1", "Pod", namespace=self.namespace)

    def node_of(self, name: str) -> str:
        return str((self.pod(name) or {}).get("spec", {}).get("nodeName", ""))

    def nominated(self, name: str) -> str:
        return str((self.pod(name) or {}).get("status", {}).get("nominatedNodeName", ""))

    def reason(self, name: str) -> str:
        """Why the pod has no node, in a word."""
        scheduled = condition(self.pod(name) or {})
        return str(scheduled.get("reason", "")) if scheduled.get("status") == "False" else ""

    def has_condition(self, name: str, kind: str) -> bool:
        conditions = (self.pod(name) or {}).get("status", {}).get("conditions", ())
        return any((condition["type"], condition["status"]) == (kind, "True") for condition in conditions)

    def is_leaving(self, name: str) -> bool:
        """Whether the pod is gone, or asked to go."""
        pod = self.pod(name)
        return pod is None or bool(pod["metadata"].get("deletionTimestamp"))

    # Waiting.

    async def until(self, check: Callable[[], T | None], seconds: float = 0) -> T:
        seconds = seconds or PATIENCE.get()
        try:
            return await self.changes.until(check, seconds)
        except TimeoutError:
            raise AssertionError(f"not within {seconds:g} s\n{self.describe()}") from None

    async def scheduled(self, name: str, seconds: float = 0) -> str:
        """Wait until the pod has a node, and return its name."""
        return await self.until(lambda: self.node_of(name), seconds)

    async def unschedulable(self, name: str, seconds: float = 0) -> str:
        """Wait until the pod is said to fit nowhere, and return the words."""
        return await self._message_for(name, "Unschedulable", seconds)

    async def failed(self, name: str) -> str:
        """Wait until something other than a lack of nodes is said to keep the pod waiting, and return the words."""
        return await self._message_for(name, "SchedulerError")

    async def gated(self, name: str) -> str:
        return await self._message_for(name, "SchedulingGated")

    async def _message_for(self, name: str, reason: str, seconds: float = 0) -> str:
        await self.until(lambda: self.reason(name) == reason or self.node_of(name), seconds)
        assert self.reason(name) == reason, f"{name} has a node\n{self.describe()}"
        return str(condition(self.pod(name) or {}).get("message", ""))

    def describe(self) -> str:
        """Every pod with its node or why it has none, for whoever has to find out why a case failed."""
        lines = []
        for pod in self.pods.list(self.watch):
            where = pod["spec"].get("nodeName") or condition(pod) or "not looked at"
            lines.append(f"{pod['metadata']['name']}: {where}")
        return "\n".join(lines) or "no pods"

    # Schedulers.

    def plugin(self, kind: type[P], name: str = "", **settings: Any) -> type[P]:
        """Return a class of its own for this case, with these attributes, of which nothing was called yet."""
        attributes = {"name": name or kind.name, "calls": Calls(self.changes), "world": self, **settings}
        return cast("type[P]", types.new_class(kind.__name__, (kind,), {}, lambda body: body.update(attributes)))

    @contextlib.asynccontextmanager
    async def scheduling(self, *plugins: type[Plugin], **how: Any) -> AsyncIterator[Scheduler]:
        """A scheduler at work, as ``assembled``."""
        async with self.assembled(*plugins, **how) as process:
            stop = asyncio.Event()
            running = asyncio.create_task(process.run(stop))
            try:
                yield process
            finally:
                stop.set()
                await running

    @contextlib.asynccontextmanager
    async def stepping(self, *plugins: type[Plugin], **how: Any) -> AsyncIterator[Scheduler]:
        """A scheduler that follows the API server, and decides only when the case tells its loop to.

        Pods do not back off.
        """
        async with self.assembled(*plugins, backs_off=False, **how) as process:
            runs = (process.outbox.run(), *(reflector.run() for reflector in process.reflectors))
            tasks = [asyncio.create_task(run) for run in runs]
            try:
                for reflector in process.reflectors:
                    await reflector.synced.wait()
                yield process
                await process.underway.finish(PATIENCE.get())
            finally:
                await process.underway.finish(0)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def assembled(
        self,
        *plugins: type[Plugin],
        profiles: Iterable[Mapping[str, Any]] = (),
        feature_gates: Mapping[str, bool] = MappingProxyType({}),
        backs_off: bool = True,
        **document: Any,
    ) -> AsyncIterator[Scheduler]:
        """A scheduler with ``plugins`` beside the in-tree ones, enabled wherever they have hooks or by ``profiles``."""
        fields = {"profiles": list(profiles) or [profile_with(*plugins)], **document}
        settings = settings_of(self.cluster, fields, (*plugins, *REPLACED.get()), feature_gates)
        version = Version.parse(self.cluster.version)
        metrics = Metrics()
        async with startup.connect(settings, metrics) as clients:
            planner = startup.create_planner(settings, version, clients.deciding)
            plan = await startup.first_plan(settings, planner)
            if not backs_off:
                at_once = {"pod_initial_backoff_seconds": 0, "pod_max_backoff_seconds": 0}
                plan = replace(plan, document=plan.document.model_copy(update=at_once))
            yield startup.assemble(settings, plan, planner, clients, metrics)


Outcome = Callable[[World, str], Awaitable[str]]
"""What is waited for: ``World.scheduled`` and its neighbours."""


@contextlib.asynccontextmanager
async def world(cluster: Cluster) -> AsyncIterator[World]:
    """A new namespace; all pods made in it, and all nodes, are gone when it is left."""
    async with Client(credentials.load(str(cluster.kubeconfig)), "tests") as client:
        namespace, changes = f"case-{next(_names)}", Changes()
        pods = WatchedObjects([Watch("v1", "Pod", namespace=namespace)], client, changes.tell)
        there = World(cluster, client, namespace, changes, pods)
        await there.create_namespace(namespace)
        following = [asyncio.create_task(reflector.run()) for reflector in pods.reflectors]
        try:
            yield there
        finally:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
            await asyncio.gather(
                there.delete(NODES),
                *(there.delete(f"/api/v1/namespaces/{name}/pods") for name in there.others),
            )


def settings_of(
    cluster: Cluster, fields: Mapping[str, Any], plugins: Iterable[type[Plugin]], feature_gates: Mapping[str, bool]
) -> SchedulerSettings:
    """What a scheduler is started with. Raises AssertionError for a document that is refused."""
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    quick = {"leaderElection": {"leaderElect": False}, "clientConnection": {"qps": -1}}
    text = yaml.safe_dump({**header, **quick, **fields})
    document = config.load(text)
    assert not isinstance(document, Problems), str(document)
    return SchedulerSettings(
        source="the case",
        text=DocumentText(text),
        document=document,
        kubeconfig=str(cluster.kubeconfig),
        version=None,
        feature_gates=feature_gates,
        serving=ServingSettings(address="127.0.0.1", port=0),
        user_agent="tests",
        plugins={declaration_of(plugin).name: plugin for plugin in plugins},
    )


def condition(pod: Object) -> Object:
    """The pod's condition PodScheduled, ``{}`` when it has none."""
    conditions = pod.get("status", {}).get("conditions", ())
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


# Plugins.


class Calls:
    """The calls of the plugins of a case, in order, and the instance that was called last."""

    def __init__(self, changes: Changes) -> None:
        self.log: list[str] = []
        self.rows = 0
        """The number of nodes in play when a filter or score was called."""
        self.plugin: Any = None
        self._changes = changes

    def __len__(self) -> int:
        return len(self.log)

    def add(self, what: str, rows: int = 0) -> None:
        self.log.append(what)
        self.rows += rows
        self._changes.tell()


class CasePlugin(Plugin):
    """A plugin that counts its calls and does what its class says."""

    calls: Calls
    world: World
    fail = False
    """Raise, whatever is asked."""
    reject = False

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.calls.plugin = self

    def fail_if_configured(self, pod_name: str) -> None:
        if self.fail:
            raise RuntimeError(f"injecting failure for pod {pod_name}")


P = TypeVar("P", bound=CasePlugin)

INSTEAD_OF = {"queueSort": "PrioritySort", "bind": "DefaultBinder"}
"""Where there can be one plugin only, and which it stands in for."""


def profile_with(*plugins: type[Plugin], **changes: Any) -> Object:
    """The default profile with ``plugins`` enabled wherever they have hooks."""
    points: dict[str, Any] = {}
    for plugin in plugins:
        declared = declaration_of(plugin)
        for point in declared.points:
            points.setdefault(point, {"enabled": []})["enabled"].append({"name": declared.name})
            if point in INSTEAD_OF:
                points[point]["disabled"] = [{"name": INSTEAD_OF[point]}]
    return {"schedulerName": "default-scheduler", "plugins": points, **changes}


def profile_scoring_by(score: str, pre_score: str = "") -> Object:
    """A profile that scores by one plugin alone."""
    others = [{"name": "*"}]
    points = {
        "preScore": {"enabled": [{"name": pre_score}] if pre_score else [], "disabled": others},
        "score": {"enabled": [{"name": score, "weight": 1}], "disabled": others},
    }
    return {"schedulerName": "default-scheduler", "plugins": points}


# Objects.


def node(name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> Object:
    """A node with room for 32 pods, and for ``allocatable`` beside that."""
    room = {"pods": "32", **spec.pop("allocatable", {})}
    status = {"capacity": room, "allocatable": room, **spec.pop("status", {})}
    return {"metadata": {"name": name, "labels": dict(labels or {})}, "spec": spec, "status": status}


def nodes(count: int, prefix: str = "test-node", **more: Any) -> list[Object]:
    return [node(f"{prefix}-{number}", **more) for number in range(count)]


def pod(name: str, requests: Mapping[str, str] | None = None, /, **spec: Any) -> Object:
    """A pod of one container. ``labels`` and ``namespace`` are its metadata; the rest is its spec, as in YAML."""
    metadata = {"name": name, "labels": dict(spec.pop("labels", {}))}
    if namespace := spec.pop("namespace", ""):
        metadata["namespace"] = namespace
    container = {"name": "pause", "image": "pause", "resources": {"requests": dict(requests or {})}}
    if ports := spec.pop("ports", None):
        container["ports"] = ports
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}
