"""Leaders that are killed, frozen and told to end in the middle of many pods: who binds leads, and nothing is lost.

``FAULTS_FULL=1`` (``make faults``) has thousands of pods instead of hundreds.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import devcluster
from devcluster import Cluster, Spec
from tests.integration.scheduler.faults.candidates import CandidateScheduler, candidates, check, leader_of
from tests.integration.scheduler.faults.size import FULL
from tests.integration.scheduler.support import api, document, lease_of, quick
from tests.support.proxy import Act, Proxy, at, is_binding, is_lease

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900 if FULL else 180)]

PODS = 5000 if FULL else 600
RETRY_PERIOD = 2.0


@pytest.fixture(scope="module")
def crowded(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster that all of the pods nearly fill."""
    if not FULL:
        yield cluster
        return
    with devcluster.running(Spec(node="none", fake_nodes=PODS // 30, scheduler=False)) as cluster:
        yield cluster


def in_the_middle(one: CandidateScheduler, number: int) -> Act:
    """Send the signal when many pods are bound and many are being bound."""
    return at(PODS // 8, is_binding, lambda: one.process.process.send_signal(number))


async def test_leaders_that_are_frozen_and_killed_in_the_middle_of_many_pods_bind_nothing_out_of_turn(
    crowded: Cluster, tmp_path: Path
) -> None:
    """One of three is frozen, the next is killed, and the first wakes up while the third leads."""
    config = document(leaderElection=calm_election(lease_of(tmp_path))) if FULL else quick(lease_of(tmp_path))
    async with api(crowded, tidy=not FULL) as there, candidates(there, tmp_path, 3, config) as three:
        frozen = await leader_of(there, three)
        others = [candidate for candidate in three if candidate is not frozen]
        for other in others:
            other.proxy.rules.insert(0, in_the_middle(other, signal.SIGKILL))
        frozen.proxy.rules.insert(0, in_the_middle(frozen, signal.SIGSTOP))
        creating = asyncio.create_task(there.create_pods(PODS))
        killed = await leader_of(there, others)
        last = next(other for other in others if other is not killed)
        last.proxy.rules.pop(0)
        await asyncio.to_thread(killed.process.process.wait, 60)
        await leader_of(there, [last])
        frozen.process.process.send_signal(signal.SIGCONT)
        assert await asyncio.to_thread(frozen.process.process.wait, 60) == 1
        await creating
        await there.all_bound(PODS, 600 if FULL else 90)
        await check(there, three, PODS)
        assert frozen.process.lines("lost lease")
        assert frozen.led_until is not None
        assert killed.leads_since is not None
        assert frozen.led_until < killed.leads_since
        assert all(candidate.proxy.arrivals for candidate in three)


def released(into: list[float]) -> Act:
    """Note when a Lease is given up. It passes."""

    async def rule(request: web.Request, proxy: Proxy) -> None:
        if request.method == "PUT" and is_lease(request) and not (await request.json())["spec"]["holderIdentity"]:
            into.append(time.monotonic())

    return rule


def calm_election(lease: str) -> dict[str, Any]:
    """Leader election whose periods are long beside what a busy machine adds to them."""
    times = {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": f"{RETRY_PERIOD:g}s"}
    return {"resourceNamespace": "default", "resourceName": lease, **times}


@pytest.mark.alone
async def test_a_leader_that_is_to_end_finishes_its_bindings_and_another_leads_soon_after_the_release(
    cluster: Cluster, tmp_path: Path
) -> None:
    config, ends = document(leaderElection=calm_election(lease_of(tmp_path))), list[float]()
    async with api(cluster) as there, candidates(there, tmp_path, 2, config, bind_seconds=0.5) as both:
        leader = await leader_of(there, both)
        standby = next(candidate for candidate in both if candidate is not leader)
        assert standby.process.get("/readyz") == "ok"
        assert [one.process.metric("leader_election_master_status") for one in (leader, standby)] == [1, 0]
        terminated = at(60, is_binding, lambda: leader.process.process.send_signal(signal.SIGTERM))
        leader.proxy.rules[:0] = [released(ends), terminated]
        await there.create_pods(200)
        assert await asyncio.to_thread(leader.process.process.wait, 60) == 0
        await there.all_bound(200)
        await check(there, both, 200)
        assert [status for _, _, status in leader.proxy.bindings] == [201] * len(leader.proxy.arrivals)
        assert len(ends) == 1
        assert max(leader.proxy.arrivals) < ends[0]
        assert standby.leads_since is not None
        assert standby.leads_since - ends[0] < 2.2 * RETRY_PERIOD + 0.5
