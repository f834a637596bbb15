"""upstream: test/integration/scheduler/queueing, how pods come back into the queue."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any, ClassVar

import pytest

from devcluster import Cluster
from scheduler_runtime.api import QUEUE, Action, Answer, ClusterEvent, Event, Reject, Wait, Watch
from scheduler_runtime.kube.client import ApiError
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.integration.upstream.plugins import fakes
from tests.integration.upstream.queueing.waking import Scene
from tests.integration.upstream.support import NODES, PATIENCE, CasePlugin, Object, World, node, pod, world
from tests.integration.upstream.written import on

pytestmark = pytest.mark.cluster


def gated(name: str, gate: str) -> Object:
    return pod(name, schedulingGates=[{"name": gate}])


@pytest.mark.parametrize(
    ("pods", "schedulable", "deleted", "opened"),
    [
        pytest.param([pod("p1"), pod("p2")], ["p1", "p2"], [], [], id="regular-pods"),
        pytest.param([gated("p1", "foo"), pod("p2")], ["p2"], [], [], id="one-pod-carrying-gates"),
        pytest.param(
            [gated("p1", "foo"), gated("p2", "bar"), pod("p3")],
            ["p3"],
            [],
            ["p2"],
            id="two-pods-carrying-gates-and-one-loses-them",
        ),
        pytest.param(
            [gated("p1", "foo"), pod("p2")],
            ["p2"],
            ["p2"],
            ["p1"],
            id="gate-removed-after-the-scheduled-pod-is-deleted",
        ),
    ],
)
async def test_scheduling_gates(
    server: Cluster, pods: list[Object], schedulable: list[str], deleted: list[str], opened: list[str]
) -> None:
    async with world(server) as there:
        await there.create_nodes(node("node"))
        await there.create_pods(*pods)
        async with there.stepping() as process:
            scene = Scene(there, process)
            await decides(scene, *schedulable)
            for name in deleted:
                await there.delete(there.path(name))
                await there.until(lambda name=name: f"{there.namespace}/{name}" not in process.pods.objects)  # type: ignore[misc]
            assert not scene.at(QueuePlace.ACTIVE)
            for name in opened:
                await scene.sees(await there.patch(there.path(name), {"spec": {"schedulingGates": None}}))
            await decides(scene, *opened)
            assert not scene.at(QueuePlace.ACTIVE)


async def decides(scene: Scene, *names: str) -> None:
    """Take as many pods as there are ``names``, and see that it is these that get a node."""
    for name in names:
        assert name in scene.at(QueuePlace.ACTIVE)
        await scene.process.loop.schedule_one()
        await scene.there.scheduled(name)


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOOS: Object = {
    "metadata": {"name": "foos.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "foos", "kind": "Foo"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


@contextlib.asynccontextmanager
async def a_kind_of_its_own(there: World) -> AsyncIterator[None]:
    """While this lasts the API server knows Foos."""
    await there.create(DEFINITIONS, FOOS)
    try:
        async with asyncio.timeout(PATIENCE.get()):
            while not await is_served(there, "/apis/example.com/v1/foos"):  # noqa: ASYNC110  nobody tells when it begins
                await asyncio.sleep(0.05)
        yield
    finally:
        await there.delete(f"{DEFINITIONS}/foos.example.com")


async def is_served(there: World, path: str) -> bool:
    """Whether the API server has made what it stores these objects in: until then it knows no such path, or is busy."""
    try:
        await there.client.request("GET", path)
    except ApiError as error:
        if error.status not in (404, 429):
            raise
        return False
    return True


class RejectsUntilAFooComes(CasePlugin):
    name = "fakeCRPlugin"
    watches: ClassVar[tuple[Watch, ...]] = (Watch("example.com/v1", "Foo"),)
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent("example.com/Foo", Action.ALL),)

    def filter(self, pod: Any, nodes: Any, state: Any) -> Iterable[Reject]:
        yield Reject(True, "always fail")


async def test_custom_resource_enqueue(server: Cluster) -> None:
    async with world(server) as there, a_kind_of_its_own(there):
        await there.create_nodes(node("fake-node"))
        await there.create_pod(pod("fake-pod"))
        async with there.stepping(there.plugin(RejectsUntilAFooComes)) as process:
            scene = Scene(there, process)
            await process.loop.schedule_one()
            assert scene.at(QueuePlace.PARKED) == {"fake-pod"}
            foo = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "foo1"}}
            await there.create(f"/apis/example.com/v1/namespaces/{there.namespace}/foos", foo)
            await there.until(lambda: scene.at(QueuePlace.ACTIVE))
            await process.loop.schedule_one()
            assert [entry.attempts for entry in process.queue.entries()] == [2]


class FailsFirst(fakes.Bind):
    name = "firstFailBindPlugin"

    async def bind(self, pod: Any, node: str, state: Any) -> Any:
        if not self.calls:
            self.calls.add(pod.name)
            raise RuntimeError("firstFailBindPlugin rejects the Pod")
        return await super().bind(pod, node, state)


async def test_requeue_by_bind_failure(server: Cluster) -> None:
    """Nothing else happens that could bring the pod back."""
    async with world(server) as there:
        binder = there.plugin(FailsFirst)
        await there.create_nodes(node("fake-node"))
        async with there.scheduling(binder, backs_off=False):
            await there.create_pod(pod("pod-1"))
            await there.scheduled("pod-1")
        assert binder.calls.log == ["pod-1", "pod-1"]


class Holds(fakes.Permit):
    """Holds every pod, and wants it back when the labels of a node change."""

    name = "fakePermitPlugin"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent("Node", Action.UPDATE_NODE_LABEL),)

    def permit(self, pod: Any, node: str, state: Any) -> Wait:
        self.calls.add(f"hold {pod.name}")
        return Wait(fakes.LONG)

    def hint(self, event: Event, pod: Any) -> Answer:
        self.calls.add(f"hint {pod.name}")
        return QUEUE

    def find_waiting_pod(self, name: str) -> Any:
        return next((pod for pod in self.handle.waiting_pods() if pod.pod.name == name), None)


async def test_requeue_by_permit_rejection(server: Cluster) -> None:
    """What happened while a pod waited for its permit brings it back at once when that is refused."""
    async with world(server) as there:
        permit = there.plugin(Holds)
        await there.create_nodes(node("fake-node"))
        async with there.scheduling(permit, backs_off=False) as process:
            await there.create_pod(pod("pod-1"))
            await there.until(lambda: "hold pod-1" in permit.calls.log)
            await Scene(there, process).sees(
                await there.patch(f"{NODES}/fake-node", {"metadata": {"labels": {"updated": ""}}})
            )
            await there.create_pod(pod("pod-2"))
            await there.until(lambda: "hold pod-2" in permit.calls.log)
            permit.calls.plugin.find_waiting_pod("pod-1").reject(permit.name, "fakePermitPlugin rejects the Pod")
            permit.calls.plugin.find_waiting_pod("pod-2").allow(permit.name)
            await there.scheduled("pod-2")
            await there.until(lambda: permit.calls.log.count("hold pod-1") == 2)
            permit.calls.plugin.find_waiting_pod("pod-1").allow(permit.name)
            await there.scheduled("pod-1")
        assert permit.calls.log == ["hold pod-1", "hold pod-2", "hint pod-1", "hold pod-1"]


async def test_pop_from_backoff_q_when_active_q_empty(server: Cluster) -> None:
    long = {"podInitialBackoffSeconds": 1000, "podMaxBackoffSeconds": 1000}
    async with world(server) as there:
        await there.create_nodes(node("node"))
        async with there.scheduling(**long):
            await there.create_pod(pod("pod", affinity=on("foo in (bar)")))
            await there.unschedulable("pod")
            await there.create_nodes(node("node-schedulable", {"foo": "bar"}))
            assert await there.scheduled("pod") == "node-schedulable"
