"""upstream: test/integration/scheduler/scheduler_test.go, nodes that come and change."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from tests.integration.upstream.support import NODES, Object, node, pod, world
from tests.integration.upstream.written import on, taint, tolerates

pytestmark = pytest.mark.cluster


async def test_unschedulable_nodes(server: Cluster) -> None:
    async with world(server) as there:
        await there.create_nodes(node("node-scheduling-test-node", unschedulable=True))
        async with there.scheduling():
            await there.create_pod(pod("node-scheduling-test-pod"))
            await there.unschedulable("node-scheduling-test-pod")
            await there.patch(f"{NODES}/node-scheduling-test-node", {"spec": {"unschedulable": False}})
            await there.scheduled("node-scheduling-test-pod")


async def test_allocatable(server: Cluster) -> None:
    """What a node can hold is what it says is allocatable, or all of it when it says nothing of that."""
    name, requests = "node-allocatable-scheduler-test-node", {"cpu": "20m", "memory": "20"}
    unaware: Object = {"capacity": {"pods": "32", "cpu": "30m", "memory": "30"}, "allocatable": {}}
    aware = {"status": {"allocatable": {"pods": "32", "cpu": "10m", "memory": "10"}}}
    async with world(server) as there:
        await there.create_nodes(node(name, status=unaware))
        async with there.scheduling() as process:
            await there.create_pod(pod("pod-test-allocatable", requests))
            await there.scheduled("pod-test-allocatable")
            before = process.nodes.objects[name]
            await there.patch(f"{NODES}/{name}/status", aware)
            await there.until(lambda: process.nodes.objects[name] is not before)
            await there.delete(there.path("pod-test-allocatable"))
            await there.create_pod(pod("pod-test-allocatable2", requests))
            await there.unschedulable("pod-test-allocatable2")


SMALL = {"cpu": "100m", "memory": "30"}


async def test_node_events(server: Cluster) -> None:
    """What happens to a node wakes the pods that may fit it now, and a taint that stays wakes nobody to any avail."""
    async with world(server) as there, there.scheduling():
        await there.create_pod(pod("pod1", {"cpu": "80m"}))
        await there.create_nodes(node("node-events-test-node1", allocatable=SMALL))
        await there.scheduled("pod1")
        await there.create_pod(pod("pod2", {"cpu": "40m"}))
        await there.unschedulable("pod2")
        labels, taints = {"affinity-key": "affinity-value"}, [taint("taint-key", "")]
        await there.create_nodes(node("node-events-test-node2", labels, allocatable=SMALL, taints=taints))
        tolerating = [tolerates("taint-key", "", "Exists")]
        affinity = on("affinity-key in (affinity-value)")
        await there.create_pod(pod("plug-pod", {"cpu": "40m"}, affinity=affinity, tolerations=tolerating))
        await there.scheduled("plug-pod")
        await there.unschedulable("pod2")
        await there.patch(f"{NODES}/node-events-test-node2", {"spec": {"taints": None}})
        assert await there.scheduled("pod2") == "node-events-test-node2"


LEVEL, RATE, DEDICATED = "node.example.com/priority-level", "node.example.com/error-rate", "node.example.com/dedicated"


def tainted(name: str, key: str, value: str) -> Object:
    return node(name, allocatable={"cpu": "1"}, taints=[taint(key, value)])


async def test_taint_toleration_gt_lt_integration(other_server: Cluster, other_gates: dict[str, bool]) -> None:
    """A taint that changes its number wakes the pods that compare with it."""
    async with world(other_server) as there:
        await there.create_nodes(tainted("node1", DEDICATED, "special"), tainted("node2", LEVEL, "850"))
        async with there.scheduling(feature_gates=other_gates) as process:
            await there.create_pod(pod("pod1", {"cpu": "900m"}, tolerations=[tolerates(DEDICATED, "special")]))
            assert await there.scheduled("pod1") == "node1"
            await there.create_pod(pod("pod2", {"cpu": "200m"}, tolerations=[tolerates(LEVEL, "900", "Gt")]))
            await there.unschedulable("pod2")
            await there.patch(f"{NODES}/node2", {"spec": {"taints": [taint(LEVEL, "950")]}})
            assert await there.scheduled("pod2") == "node2"
            await there.create_nodes(tainted("node3", RATE, "15"))
            await there.until(lambda: "node3" in process.nodes.objects)
            await there.create_pod(pod("pod3", {"cpu": "100m"}, tolerations=[tolerates(RATE, "10", "Lt")]))
            await there.unschedulable("pod3")
            await there.patch(f"{NODES}/node3", {"spec": {"taints": [taint(RATE, "5")]}})
            assert await there.scheduled("pod3") == "node3"
