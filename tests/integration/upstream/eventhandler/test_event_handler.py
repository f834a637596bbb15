"""upstream: test/integration/scheduler/eventhandler."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, ClassVar

import numpy as np
import pytest

from devcluster import Cluster
from scheduler_runtime.api import Action, ClusterEvent, Reject
from scheduler_runtime.app.scheduler import Scheduler
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.integration.upstream.support import NODES, CasePlugin, Object, World, node, pod, world

pytestmark = pytest.mark.cluster


class Untainted(CasePlugin):
    """Keeps every pod off nodes with a taint, and wants to hear of taints alone."""

    name = "foo"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent("Node", Action.UPDATE_NODE_TAINT),)

    def filter(self, pod: Any, nodes: Any, state: Any) -> Iterable[Reject]:
        yield Reject(np.array([bool(nodes.node(row).spec.taints) for row in range(len(nodes))]), "has a taint")


async def test_update_node_event(server: Cluster) -> None:
    """One update of a node changes two things; who asked for one of them hears of it."""
    taints = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    async with world(server) as there:
        alone = {"filter": {"enabled": [{"name": "foo"}], "disabled": [{"name": "*"}]}}
        profile = {"schedulerName": "default-scheduler", "plugins": alone}
        await there.create_nodes(node("node-0", taints=taints))
        async with there.scheduling(there.plugin(Untainted), profiles=[profile]):
            await there.create_pod(pod("test-pod"))
            await there.unschedulable("test-pod")
            change = {"metadata": {"labels": {"foo": "bar"}}, "spec": {"taints": None}}
            await there.patch(f"{NODES}/node-0", change)
            await there.scheduled("test-pod")


LOW, MEDIUM, HIGH = 100, 200, 300
MINUTE = 60


def asking(name: str, memory: str, priority: int) -> Object:
    return pod(name, {"memory": memory}, priority=priority)


async def a_higher_pod_takes_its_place(there: World) -> None:
    await there.create_pod(asking("test-hp-pod", "10", HIGH))
    await there.scheduled("test-hp-pod")


async def it_is_removed(there: World) -> None:
    await there.delete(there.path("test-nominated-pod"))


def backing_off(process: Scheduler) -> set[str]:
    return {entry.pod.name for entry in process.queue.entries() if entry.place is QueuePlace.BACKOFF}


def node_minutes_later(there: World, process: Scheduler, name: str) -> str:
    """End every backoff, though nothing has been parked for so long that it would be tried again for that."""
    process.queue._flush_ended_waits(time.monotonic() + 2 * MINUTE)
    return there.node_of(name)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(a_higher_pod_takes_its_place, id="preempt-nominated-pod"),
        pytest.param(it_is_removed, id="remove-nominated-pod"),
    ],
)
async def test_update_nominated_node_name(server: Cluster, change: Callable[[World], Awaitable[None]]) -> None:
    """A pod hears that the room kept for a nominated one is free, while that one still backs off."""
    backoff = {"podInitialBackoffSeconds": MINUTE, "podMaxBackoffSeconds": MINUTE}
    gates = {"SchedulerPopFromBackoffQ": False}
    async with world(server) as there:
        await there.create_nodes(node("node-0", allocatable={"memory": "32"}))
        async with there.scheduling(feature_gates=gates, **backoff) as process:
            await there.create_pod(asking("test-lp-pod", "20", LOW))
            await there.scheduled("test-lp-pod")
            await there.create_pod(asking("test-nominated-pod", "25", MEDIUM))
            await there.until(lambda: there.nominated("test-nominated-pod") == "node-0")
            await there.unschedulable("test-nominated-pod")
            await there.delete(there.path("test-lp-pod"))
            await there.until(lambda: backing_off(process) == {"test-nominated-pod"})
            await there.create_pod(asking("test-lp-pod", "20", LOW))
            await there.until(lambda: there.reason("test-lp-pod") == "Unschedulable")
            await change(there)
            await there.until(lambda: node_minutes_later(there, process, "test-lp-pod"))
