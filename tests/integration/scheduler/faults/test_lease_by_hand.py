"""A Lease that somebody deletes, empties or gives away while its holder binds pods."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from devcluster import Cluster
from tests.integration.scheduler.faults.candidates import candidates, check, leader_of
from tests.integration.scheduler.support import ApiView, api, lease_of, quick

pytestmark = pytest.mark.cluster

PODS, MORE = 300, 100
TO_A_THIEF = '{"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 8}}'
EVENTS = "/api/v1/namespaces/default/events"
RESTORED = {"LeaseMadeAgain", "LeaseTakenAgain"}
EMPTIED = '{"spec": {"holderIdentity": null}}'


async def holder(there: ApiView, lease: str) -> str:
    """Who holds the Lease; empty when nobody does, or when there is none."""
    path, of_that_name = "/apis/coordination.k8s.io/v1/namespaces/default/leases", f"metadata.name={lease}"
    leases = json.loads(await there.client.request("GET", path, params={"fieldSelector": of_that_name}))["items"]
    return str(leases[0]["spec"].get("holderIdentity") or "") if leases else ""


async def test_whatever_is_done_to_a_lease_by_hand_only_one_binds(cluster: Cluster, tmp_path: Path) -> None:
    """The leader takes back what was deleted or emptied; what was given away it leaves to the thief."""
    lease = lease_of(tmp_path)

    async def kubectl(*words: str) -> None:
        await asyncio.to_thread(cluster.kubectl, *words)

    async def belongs_to(identity: str) -> bool:
        return await holder(there, lease) == identity

    async with api(cluster) as there, candidates(there, tmp_path, 2, quick(lease), bind_seconds=1) as both:
        leader = await leader_of(there, both)
        standby = next(candidate for candidate in both if candidate is not leader)
        identity = await holder(there, lease)
        creating = asyncio.create_task(there.create_pods(PODS))
        await there.until(lambda: leader.proxy.arrivals, 30)
        await kubectl("delete", "lease", lease)
        await there.eventually(lambda: belongs_to(identity), 20)
        await kubectl("patch", "lease", lease, "--type=merge", f"--patch={EMPTIED}")
        await there.eventually(lambda: belongs_to(identity), 20)
        await kubectl("patch", "lease", lease, "--type=merge", f"--patch={TO_A_THIEF}")
        assert await asyncio.to_thread(leader.process.process.wait, 30) == 1
        await creating
        await there.create_pods(MORE, "more")
        await there.all_bound(PODS + MORE, 60)
        await check(there, both, PODS + MORE)
        messages = ("while we held it", "took us out", f"ERROR lost lease default/{lease}: held by thief")
        assert [len(leader.process.lines(line)) for line in messages] == [1, 1, 1]
        assert standby.proxy.arrivals
        about = {"fieldSelector": f"involvedObject.name={lease},type=Warning"}
        events = json.loads(await there.client.request("GET", EVENTS, params=about))["items"]
        assert {line["reason"] for line in events if line["message"].startswith(f"{identity} ")} == RESTORED
