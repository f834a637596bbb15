"""Several schedulers for the same pods: one leads, another takes over, and nothing is done twice."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from devcluster import Cluster
from tests.integration.scheduler.support import Api, SchedulerProcess, api, document, scheduler
from tests.support.proxy import every, is_binding, proxied

pytestmark = pytest.mark.cluster

PODS = 200


async def holder(there: Api, lease: str) -> str:
    path = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{lease}"
    return str(json.loads(await there.client.request("GET", path))["spec"].get("holderIdentity") or "")


async def leader_and_standby(
    there: Api, first: SchedulerProcess, second: SchedulerProcess
) -> tuple[SchedulerProcess, SchedulerProcess]:
    await there.until(lambda: first.is_scheduling or second.is_scheduling, 30)
    await there.until(lambda: bool(first.lines("synced") and second.lines("synced")), 30)
    return (first, second) if first.is_scheduling else (second, first)


async def test_a_standby_is_ready_and_leads_soon_after_the_leader_is_told_to_end(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = document("handover")
    async with api(cluster) as there:
        with (
            scheduler(tmp_path, cluster.kubeconfig, config) as first,
            scheduler(tmp_path, cluster.kubeconfig, config) as second,
        ):
            leader, standby = await leader_and_standby(there, first, second)
            assert standby.get("/readyz") == "ok"
            assert (
                leader.metric("leader_election_master_status"),
                standby.metric("leader_election_master_status"),
            ) == (
                1,
                0,
            )
            await there.create_pods(20, "first")
            await there.all_bound(20)
            assert leader.end(signal.SIGTERM) == 0
            assert leader.lines("released lease")
            began = time.monotonic()
            await there.until(lambda: standby.is_scheduling, 10)
            assert time.monotonic() - began < 2.2 * 1.0 + 3.0  # the lists that follow take what the machine gives
            await there.create_pods(20, "second")
            await there.all_bound(40)
            assert await there.overcommitted() == []


async def test_pods_go_on_being_placed_when_the_leader_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    config = document("killed")
    async with api(cluster) as there:
        with (
            scheduler(tmp_path, cluster.kubeconfig, config) as first,
            scheduler(tmp_path, cluster.kubeconfig, config) as second,
        ):
            leader, standby = await leader_and_standby(there, first, second)
            creating = asyncio.create_task(there.create_pods(PODS, cpu="3"))
            await there.until(lambda: leader.metric("scheduler_schedule_attempts_total", result="scheduled") > 20, 30)
            leader.process.kill()
            leader.process.wait()
            await creating
            await there.all_bound(PODS)
            assert standby.is_scheduling
            assert await there.overcommitted() == []


async def test_a_leader_that_was_frozen_binds_nothing_more(cluster: Cluster, tmp_path: Path) -> None:
    """It wakes up long after another took over, in the middle of bindings, and must end instead."""
    config = document("frozen")
    async with api(cluster) as there, proxied(cluster, tmp_path) as proxy:
        slow = every(1, is_binding, _slowly)
        proxy.rules[:] = [slow]
        with scheduler(tmp_path, tmp_path / "kubeconfig", config) as frozen:
            await there.until(lambda: frozen.is_scheduling, 30)
            with scheduler(tmp_path, cluster.kubeconfig, config) as other:
                await there.until(lambda: other.lines("synced"), 30)
                await there.create_pods(PODS, cpu="3")
                await there.until(lambda: len(proxy.bindings) > 20, 30)
                frozen.process.send_signal(signal.SIGSTOP)
                await there.until(lambda: other.is_scheduling, 30)
                before = len(proxy.bindings)
                frozen.process.send_signal(signal.SIGCONT)
                assert await asyncio.to_thread(frozen.process.wait, 20) == 1
                await there.all_bound(PODS)
                assert frozen.lines("lost lease")
                late = [binding for binding in proxy.bindings[before:] if binding[2] == 201]
                assert late == []
                assert await there.overcommitted() == []
        assert max(Counter(pod for pod, _, status in proxy.bindings if status == 201).values()) == 1


async def _slowly(request: object, proxy: object) -> None:
    """Let a binding pass after a moment, so that some are always under way."""
    await asyncio.sleep(0.2)


async def test_without_leader_election_there_is_no_lease(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document(leaderElection={"leaderElect": False})) as process:
            await there.until(lambda: process.is_scheduling, 30)
            await there.create_pods(10)
            await there.all_bound(10)
            assert not process.lines("lease")
            assert process.end() == 0


async def test_a_lease_that_is_taken_away_ends_the_leader(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document("stolen")) as process:
            await there.until(lambda: process.is_scheduling, 30)
            patch = '{"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 60}}'
            cluster.kubectl("patch", "lease", "stolen", "--type=merge", f"--patch={patch}")
            assert await asyncio.to_thread(process.process.wait, 20) == 1
            assert len(process.lines("ERROR lost lease default/stolen: held by thief")) == 1
            assert await holder(there, "stolen") == "thief"
