"""An API server that forgets: etcd is put back to what it was before many pods were bound."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import devcluster
from devcluster import Cluster, Spec
from tests.integration.scheduler.support import api, document, lease_of, scheduler
from tests.support.audit import BINDINGS, AuditLog

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

PODS = 60
SERVERS = ("kube-apiserver", "etcd")


@pytest.fixture
def audit_log(tmp_path: Path) -> AuditLog:
    """What the API server told of bindings, which is not in the backup."""
    return AuditLog.of(tmp_path, BINDINGS)


@pytest.fixture
def mortal(audit_log: AuditLog) -> Iterator[Cluster]:
    """A cluster of this test's own, without those who would be confused by what happens to it."""
    spec = Spec(node="none", fake_nodes=5, scheduler=False, apiserver_args=audit_log.apiserver_args)
    with devcluster.running(spec) as cluster:
        yield cluster


def stop(cluster: Cluster) -> None:
    for server in SERVERS:
        cluster.stop(server)


def start(cluster: Cluster) -> None:
    for server in reversed(SERVERS):
        cluster.start(server)


def back_up(cluster: Cluster, into: Path) -> None:
    stop(cluster)
    shutil.copytree(cluster.directory / "etcd", into)
    start(cluster)


def restore(cluster: Cluster, backup: Path) -> None:
    stop(cluster)
    shutil.rmtree(cluster.directory / "etcd")
    shutil.copytree(backup, cluster.directory / "etcd")
    start(cluster)


async def test_pods_whose_bindings_were_forgotten_are_bound_again(
    mortal: Cluster, audit_log: AuditLog, tmp_path: Path
) -> None:
    """Pods that wait in the backup, that are not in it, and that are in it and were deleted since.

    Those in it are bound twice, once before what is forgotten and once after, and all others once.
    """
    async with api(mortal, tidy=False) as there:
        waiting = await there.create_pods(PODS, "waiting", cpu="2")
        await asyncio.to_thread(back_up, mortal, tmp_path / "backup")
        with scheduler(tmp_path, mortal.kubeconfig, document(lease_of(tmp_path))) as process:
            await there.all_bound(PODS)
            await there.delete_pods()
            others = await there.create_pods(PODS + 10, "forgotten", cpu="2")
            await there.all_bound(PODS + 10)
            await there.until(lambda: audit_log.bindings() == Counter([*waiting, *others]), 30)
            await asyncio.to_thread(restore, mortal, tmp_path / "backup")
            await there.all_bound(PODS)
            others += await there.create_pods(10, "afterwards", cpu="2")
            await there.all_bound(PODS + 10)
            await there.until(lambda: audit_log.bindings() == Counter([*waiting, *waiting, *others]), 30)
            assert await there.overcommitted() == []
            assert process.process.poll() is None
            assert len(process.lines("WARNING API server")) <= 6
            assert len(process.lines("older data than before")) == 1
            path, only = "/api/v1/namespaces/default/events", {"fieldSelector": "reason=OlderData"}
            assert len(json.loads(await there.client.request("GET", path, params=only))["items"]) == 1
            assert len([line for line in process.lines("WARNING") if "interrupted" in line]) <= 1
            assert "Traceback" not in process.log
