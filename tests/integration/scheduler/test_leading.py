"""One scheduler that leads, with and without an election; what becomes of several is in ``faults``."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import devcluster
from devcluster import Cluster
from tests.integration.scheduler.support import ApiView, api, document, lease_of, quick, scheduler

pytestmark = pytest.mark.cluster

THIEF = '{"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 60}}'
OF_ITS_OWN = {"metadata", "firstTimestamp", "lastTimestamp"}


async def test_without_leader_election_there_is_no_lease(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document(leaderElection={"leaderElect": False})) as process:
            await there.until(lambda: process.is_scheduling, 30)
            await there.create_pods(10)
            await there.all_bound(10)
            assert not process.lines("lease")
            assert process.end() == 0


@contextlib.contextmanager
def kube_scheduler(directory: Path, cluster: Cluster, lease: str) -> Iterator[subprocess.Popen[bytes]]:
    """The real one, with the document that ours gets, but for the Lease."""
    file = directory / "kube-scheduler.yaml"
    file.write_text(yaml.safe_dump(quick(lease, clientConnection={"kubeconfig": str(cluster.kubeconfig)})))
    whole = [f"--{kind}-kubeconfig={cluster.kubeconfig}" for kind in ("authentication", "authorization")]
    command = [
        str(devcluster.binaries("kube-scheduler")["kube-scheduler"]),
        f"--config={file}",
        *whole,
        "--secure-port=0",
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


async def events_about(there: ApiView, lease: str) -> list[dict[str, Any]]:
    """The events about a Lease, without names and times."""
    only = {"fieldSelector": f"involvedObject.kind=Lease,involvedObject.name={lease}"}
    events = json.loads(await there.client.request("GET", "/api/v1/namespaces/default/events", params=only))["items"]
    notes = []
    for event in sorted(events, key=lambda item: str(item["metadata"]["name"])):
        assert re.fullmatch(rf"{lease}\.[0-9a-f]{{16}}", event["metadata"]["name"])
        who, _, what = event["message"].partition(" ")
        assert who
        regarding = {**event["involvedObject"], "name": "", "uid": "", "resourceVersion": ""}
        notes.append(
            {key: event[key] for key in event.keys() - OF_ITS_OWN} | {"message": what, "involvedObject": regarding}
        )
    return notes


async def test_who_leads_is_reported_as_by_kube_scheduler(cluster: Cluster, tmp_path: Path) -> None:
    """Both win a Lease of their own, and lose it to a thief."""
    ours, theirs = lease_of(tmp_path), f"{lease_of(tmp_path)}-theirs"
    async with api(cluster) as there:

        async def both_have(count: int) -> bool:
            return len(await events_about(there, ours)) == len(await events_about(there, theirs)) == count

        with (
            scheduler(tmp_path, cluster.kubeconfig, quick(ours)) as process,
            kube_scheduler(tmp_path, cluster, theirs) as other,
        ):
            await there.eventually(lambda: both_have(1), 30)
            for lease in (ours, theirs):
                await asyncio.to_thread(cluster.kubectl, "patch", "lease", lease, "--type=merge", f"--patch={THIEF}")
            ended = [asyncio.to_thread(one.wait, 30) for one in (process.process, other)]
            assert await asyncio.gather(*ended) == [1, 1]
        both = zip(await events_about(there, ours), await events_about(there, theirs), strict=False)
        expected = ["became leader", "stopped leading"]  # the last word of either may be lost: neither waits for long
        for (one, other_one), what in zip(both, expected, strict=False):
            assert (one, one["message"]) == (other_one, what)
