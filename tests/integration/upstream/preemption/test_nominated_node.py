"""upstream: test/integration/scheduler/preemption/nominatednodename, where a pod waits for room."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster import Cluster
from scheduler_runtime.api import Reject
from tests.integration.upstream.preemption.victims import (
    EITHER_WAY,
    HIGH,
    LOW,
    MEDIUM,
    asking,
    small,
    small_node,
    with_cpu,
)
from tests.integration.upstream.support import NODES, CasePlugin, Object, World, node, world

pytestmark = pytest.mark.cluster


class FailsAlways(CasePlugin):
    """Rejects every pod just before it would be bound, but those that ask not to be."""

    name = "alwaysFailPlugin"

    async def pre_bind(self, pod: Any, node: str, state: Any) -> Reject | None:
        return None if "do-not-fail-me" in pod.name else Reject.pod("fails always", resolvable=True)


async def scheduled(there: World, name: str) -> None:
    await there.scheduled(name)


async def nominated(there: World, name: str) -> None:
    await there.until(lambda: there.nominated(name) == "fake-node")


TAINTED = node("taint-node", allocatable={"cpu": "1"}, taints=[{"key": "taint-node", "effect": "NoSchedule"}])
LOWS = [with_cpu(f"low-{number}", "1", LOW) for number in range(1, 5)]
ONE_LOW, ONE_MEDIUM = [with_cpu("low", "1", LOW)], [with_cpu("medium", "1", MEDIUM)]


@pytest.mark.parametrize("gates", EITHER_WAY)
@pytest.mark.parametrize(
    ("cpu", "batches", "nodes", "node_goes", "fails"),
    [
        pytest.param(
            "5",
            [
                (LOWS, scheduled),
                ([with_cpu("medium", "3", MEDIUM)], nominated),
                ([with_cpu("high", "4", HIGH)], nominated),
            ],
            [],
            False,
            False,
            id="followed-by-another-preemption",
        ),
        pytest.param(
            "2",
            [
                (ONE_LOW, scheduled),
                ([with_cpu("medium", "2", MEDIUM)], nominated),
                ([with_cpu("high", "1", HIGH)], scheduled),
            ],
            [],
            False,
            False,
            id="followed-by-a-high-priority-pod-without-preemption",
        ),
        pytest.param(
            "1", [(ONE_LOW, scheduled), (ONE_MEDIUM, nominated)], [], True, False, id="followed-by-a-node-deletion"
        ),
        pytest.param(
            "1",
            [(ONE_LOW, scheduled), (ONE_MEDIUM, nominated)],
            [TAINTED],
            True,
            False,
            id="no-candidates-after-the-node-is-deleted",
        ),
        pytest.param(
            "1",
            [([with_cpu("low-do-not-fail-me", "1", LOW)], scheduled), (ONE_MEDIUM, nominated)],
            [],
            False,
            True,
            id="failed-on-prebind",
        ),
    ],
)
async def test_nominated_node(
    server: Cluster,
    gates: dict[str, bool],
    cpu: str,
    batches: list[tuple[list[Object], Any]],
    nodes: list[Object],
    node_goes: bool,
    fails: bool,
) -> None:
    async with world(server) as there:
        plugins = [there.plugin(FailsAlways)] if fails else []
        await there.create_nodes(*nodes, node("fake-node", allocatable={"cpu": cpu}))
        async with there.scheduling(*plugins, feature_gates=gates):
            for pods, check in batches:
                await there.create_pods(*pods)
                for pod in pods:
                    await check(there, pod["metadata"]["name"])
            if node_goes:
                await there.delete(f"{NODES}/fake-node")
            for batch in batches[0][0]:
                await there.delete(there.path(batch["metadata"]["name"]))
            await there.until(lambda: there.nominated("medium") == "")


@pytest.mark.parametrize("gates", EITHER_WAY)
@pytest.mark.parametrize(
    ("occupied", "expected"),
    [
        pytest.param("node-2", "node-1", id="nominated-node-released-all-resources"),
        pytest.param("node-1", "node-2", id="nominated-node-cannot-pass-all-the-filters"),
    ],
)
async def test_prefer_nominated_node(server: Cluster, gates: dict[str, bool], occupied: str, expected: str) -> None:
    """The pod's status says that it is nominated before the scheduler sees it for the first time."""
    async with world(server) as there:
        await there.create_nodes(small_node("node-1"), small_node("node-2"))
        await there.create_pod(small("low-pod", LOW, nodeName=occupied))
        await there.create_pod(asking("preemptor-pod", "500m", "200", HIGH))
        await there.patch(f"{there.path('preemptor-pod')}/status", {"status": {"nominatedNodeName": "node-1"}})
        async with there.scheduling(feature_gates=gates):
            assert await there.scheduled("preemptor-pod") == expected
