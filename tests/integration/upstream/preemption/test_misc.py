"""upstream: test/integration/scheduler/preemption/misc, who may preempt, and who takes the room."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from scheduler_runtime.kube.client import ApiError
from tests.integration.upstream.preemption.victims import (
    EITHER_WAY,
    HIGH,
    MEDIUM,
    PREEMPTOR,
    VICTIM,
    asking,
    small,
    small_node,
)
from tests.integration.upstream.support import Object, node, world

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("gates", EITHER_WAY)
@pytest.mark.parametrize(
    ("policy", "happens"),
    [
        pytest.param({}, True, id="preemption-will-happen"),
        pytest.param({"preemptionPolicy": "Never"}, False, id="preemption-will-not-happen"),
    ],
)
async def test_non_preemption(server: Cluster, gates: dict[str, bool], policy: Object, happens: bool) -> None:
    async with world(server) as there:
        await there.create_nodes(small_node())
        await there.create_pod({**VICTIM, "spec": {**VICTIM["spec"], "nodeName": "node1"}})
        async with there.scheduling(feature_gates=gates):
            await there.create_pod(asking("preemptor-pod", "300m", "200", HIGH, **policy))
            message = await there.unschedulable("preemptor-pod")
            if happens:
                await there.until(lambda: there.nominated("preemptor-pod") == "node1")
            else:
                assert message.endswith("preemption: not eligible due to preemptionPolicy=Never.")
                assert (there.nominated("preemptor-pod"), there.is_leaving("victim-pod")) == ("", False)


@pytest.mark.parametrize("gates", EITHER_WAY)
@pytest.mark.parametrize("point", [pytest.param("postFilter", id="preemption-will-not-happen")])
async def test_disable_preemption(server: Cluster, gates: dict[str, bool], point: str) -> None:
    plugins = {point: {"disabled": [{"name": "DefaultPreemption"}]}}
    async with world(server) as there:
        await there.create_nodes(small_node())
        await there.create_pod({**VICTIM, "spec": {**VICTIM["spec"], "nodeName": "node1"}})
        profile = {"schedulerName": "default-scheduler", "plugins": plugins}
        async with there.scheduling(profiles=[profile], feature_gates=gates):
            await there.create_pod(PREEMPTOR)
            message = await there.unschedulable("preemptor-pod")
            assert "preemption" not in message
            assert (there.nominated("preemptor-pod"), there.is_leaving("victim-pod")) == ("", False)


@pytest.mark.parametrize(
    ("class_name", "priority"),
    [
        pytest.param("system-node-critical", 2_000_001_000, id="SystemNodeCritical"),
        pytest.param("system-cluster-critical", 2_000_000_000, id="SystemClusterCritical"),
        pytest.param("foo", None, id="invalid-priority-class"),
    ],
)
async def test_pod_priority_resolution(other_server: Cluster, class_name: str, priority: int | None) -> None:
    async with world(other_server) as there:
        await there.create_nodes(small_node())
        new_pod = small("pod", 0, priorityClassName=class_name)
        del new_pod["spec"]["priority"]
        async with there.scheduling():
            if priority is None:
                with pytest.raises(ApiError, match="no PriorityClass with name foo was found"):
                    await there.create_pod(new_pod)
            else:
                assert (await there.create_pod(new_pod))["spec"]["priority"] == priority
                await there.scheduled("pod")


AT_ONCE: Object = {"terminationGracePeriodSeconds": 0}


@pytest.mark.parametrize("gates", EITHER_WAY)
@pytest.mark.parametrize("pending", [pytest.param(5, id="higher-priority-pod-is-scheduled-before-the-lower")])
async def test_preemption_starvation(server: Cluster, gates: dict[str, bool], pending: int) -> None:
    async with world(server) as there:
        await there.create_nodes(small_node())
        await there.create_pods(*(small(f"rpod-{n}", MEDIUM, nodeName="node1", **AT_ONCE) for n in range(5)))
        async with there.scheduling(feature_gates=gates):
            waiting = [f"ppod-{number}" for number in range(pending)]
            await there.create_pods(*(small(name, MEDIUM, **AT_ONCE) for name in waiting))
            for name in waiting:
                await there.unschedulable(name)
            await there.create_pod(PREEMPTOR)
            await there.scheduled("preemptor-pod")
            assert [name for name in waiting if there.node_of(name)] == []
            assert len([name for name in (f"rpod-{n}" for n in range(5)) if there.is_leaving(name)]) == 3


@pytest.mark.parametrize("gates", EITHER_WAY)
@pytest.mark.parametrize("repetitions", [pytest.param(5, id="no-pod-takes-the-room-of-a-nominated-one")])
async def test_preemption_races(server: Cluster, gates: dict[str, bool], repetitions: int) -> None:
    for _ in range(repetitions):
        async with world(server) as there:
            await there.create_nodes(node("node1", allocatable={"pods": "100", "cpu": "5000m", "memory": "5000"}))
            await there.create_pods(*(small(f"rpod-{n}", MEDIUM, nodeName="node1", **AT_ONCE) for n in range(2)))
            async with there.scheduling(feature_gates=gates):
                await there.create_pod(asking("preemptor-pod", "4900m", "4900", HIGH))
                others = [f"ppod-{number}" for number in range(20)]
                await there.create_pods(*(small(name, MEDIUM, **AT_ONCE) for name in others))
                await there.scheduled("preemptor-pod")
                for name in others:
                    await there.unschedulable(name)
                assert [name for name in others if there.node_of(name)] == []
