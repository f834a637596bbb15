"""upstream: test/integration/scheduler/plugins, who holds a pod back and lets it go."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from tests.integration.upstream.plugins import fakes
from tests.integration.upstream.support import Object, Outcome, World, node, nodes, pod, profile_with, world

pytestmark = pytest.mark.cluster

SOON = {"seconds": 0.2}


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        pytest.param({}, World.scheduled, id="disable-fail-reject-and-timeout"),
        pytest.param({"fail": True}, World.failed, id="enable-fail"),
        pytest.param({"reject": True}, World.unschedulable, id="enable-reject"),
        pytest.param({"fail": True, "reject": True}, World.failed, id="enable-fail-and-reject"),
        pytest.param(SOON, World.unschedulable, id="disable-timeout-by-its-name"),
        pytest.param(SOON, World.unschedulable, id="enable-timeout"),
    ],
)
async def test_permit_plugin(server: Cluster, settings: Object, outcome: Outcome) -> None:
    async with world(server) as there:
        plugin = there.plugin(fakes.Permit, **settings)
        await there.create_nodes(*nodes(2))
        async with there.scheduling(plugin):
            await there.create_pod(pod("test-pod"))
            await outcome(there, "test-pod")
        assert plugin.calls.log


LOW, HIGH = 100, 300


def asking(name: str, amount: int, priority: int) -> Object:
    requests = {"cpu": f"{amount}m", "memory": str(amount)}
    return pod(name, requests, priority=priority, terminationGracePeriodSeconds=0)


@pytest.mark.parametrize(
    ("runs", "deletes", "preemptor", "most"),
    [
        pytest.param(True, False, HIGH, 2, id="waiting-pod-is-not-deleted-upon-preemption"),
        pytest.param(False, False, HIGH, 2, id="rejecting-a-waiting-pod-retries-unschedulable-pods-and-itself"),
        pytest.param(False, True, LOW, 1, id="deleting-a-waiting-pod-retries-unschedulable-pods"),
    ],
)
async def test_preempt_with_permit_plugin(
    server: Cluster, runs: bool, deletes: bool, preemptor: int, most: int
) -> None:
    async with world(server) as there:
        permit = there.plugin(fakes.Permit, second="allows", waiting_pod="waiting-pod")
        counts = there.plugin(fakes.Filter)
        profile = profile_with(permit, counts)
        fit = {"name": "NodeResourcesFit"}
        profile["plugins"]["filter"]["enabled"].append(fit)  # after the one that counts, so that this is always asked
        profile["plugins"]["filter"]["disabled"] = [fit]
        await there.create_nodes(node("test-node", allocatable={"cpu": "500m", "memory": "500"}))
        async with there.scheduling(permit, counts, profiles=[profile]):
            if runs:
                await there.create_pod(asking("running-pod", 200, LOW))
                await there.scheduled("running-pod")
            await there.create_pod(asking("waiting-pod", 200, LOW))
            await there.until(lambda: "waiting-pod" in permit.calls.log)
            await there.create_pod(asking("preemptor-pod", 400, preemptor))
            if deletes:
                await there.unschedulable("preemptor-pod")
                await there.delete(there.path("waiting-pod"))
            await there.scheduled("preemptor-pod")
            await there.until(lambda: not permit.calls.plugin.handle.waiting_pods())
            assert counts.calls.log.count("waiting-pod") <= most
            assert (there.pod("waiting-pod") is None) is deletes
            assert there.pod("running-pod") is None


async def test_multiple_permit_plugins(server: Cluster) -> None:
    async with world(server) as there:
        one, other = (there.plugin(fakes.Permit, f"permit-plugin-{n}", seconds=fakes.LONG) for n in (1, 2))
        await there.create_nodes(*nodes(2))
        async with there.scheduling(one, other):
            await there.create_pod(pod("test-pod"))
            await there.until(lambda: other.calls.log)
            (waiting,) = one.calls.plugin.handle.waiting_pods()
            assert waiting.held_by == {"permit-plugin-1", "permit-plugin-2"}
            one.calls.plugin.allow_all()
            assert waiting.held_by == {"permit-plugin-2"}
            other.calls.plugin.allow_all()
            await there.scheduled("test-pod")


async def test_permit_plugins_cancelled(server: Cluster) -> None:
    async with world(server) as there:
        one, other = (there.plugin(fakes.PermitAndReserve, f"permit-plugin-{n}", seconds=fakes.LONG) for n in (1, 2))
        await there.create_nodes(*nodes(2))
        async with there.scheduling(one, other):
            await there.create_pod(pod("test-pod"))
            await there.until(lambda: other.calls.log)
            one.calls.plugin.reject_all()
            logs = (one.calls.log, other.calls.log)
            await there.until(lambda: all("unreserve test-pod" in log for log in logs))


@pytest.mark.parametrize(
    ("second", "outcome"),
    [
        pytest.param("rejects", World.unschedulable, id="wait-reject"),
        pytest.param("allows", World.scheduled, id="wait-allow"),
    ],
)
async def test_co_scheduling_with_permit_plugin(server: Cluster, second: str, outcome: Outcome) -> None:
    async with world(server) as there:
        plugin = there.plugin(fakes.Permit, second=second)
        await there.create_nodes(*nodes(2))
        async with there.scheduling(plugin):
            await there.create_pods(pod("pod-a"), pod("pod-b"))
            for name in ("pod-a", "pod-b"):
                await outcome(there, name)
        assert {plugin.waiting_pod, plugin.deciding_pod} == {"pod-a", "pod-b"}
