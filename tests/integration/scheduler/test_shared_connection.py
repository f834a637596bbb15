"""Bindings and their like share one HTTP/2 connection with a real API server, which ends now and then."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import devcluster
from devcluster import Cluster, Spec
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.client import Client
from tests.integration.scheduler.support import api, document, lease_of, pod, scheduler
from tests.support.audit import BINDINGS, AuditLog
from tests.support.forwarder import Line, forwarded, if_busy

pytestmark = pytest.mark.cluster

PODS = 300
OFTEN = "--goaway-chance=0.02"
"""The API server asks to be connected to anew at one request in fifty, which is as often as it can be told to."""


@dataclass
class Audited:
    """A cluster, and what its API server wrote down."""

    cluster: Cluster
    log: AuditLog


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    log = AuditLog.of(tmp_path_factory.mktemp("audit"), BINDINGS)
    spec = Spec(node="none", fake_nodes=20, scheduler=False, apiserver_args=(*log.apiserver_args, OFTEN))
    with devcluster.running(spec) as cluster:
        yield Audited(cluster, log)


def rarely_renewing(lease: str) -> dict[str, Any]:
    """A document with a short time-out for bindings, and so few words about the Lease that its line is never busy."""
    times = {"leaseDuration": "13s", "renewDeadline": "10s", "retryPeriod": "8s"}
    return document(leaderElection={"resourceNamespace": "default", "resourceName": lease, **times})


def bind(client: Client, name: str) -> asyncio.Task[bytes]:
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-0"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    return asyncio.create_task(client.request("POST", f"/api/v1/namespaces/default/pods/{name}/binding", body=body))


async def test_a_request_during_which_the_api_server_closes_the_connection_is_done_once(
    audited: Audited, tmp_path: Path
) -> None:
    async with api(audited.cluster) as there, forwarded(audited.cluster, tmp_path) as between:
        async with Client(credentials.load(str(tmp_path / "kubeconfig")), "tests") as client:
            path, pods = "/api/v1/namespaces/default/pods", [pod(f"once-{number}") for number in range(PODS)]
            await asyncio.gather(*(client.request("POST", path, body=pod) for pod in pods))
            names = [pod["metadata"]["name"] for pod in pods]
            await asyncio.gather(*(bind(client, name) for name in names))
            assert client._shared is not None  # nobody found out that the server does not speak HTTP/2
        assert len(between.lines) > 2
        await there.until(lambda: audited.log.bindings() == Counter(names), 30)


async def test_pods_are_bound_once_while_connections_are_cut_and_fall_silent(audited: Audited, tmp_path: Path) -> None:
    async with api(audited.cluster) as there, forwarded(audited.cluster, tmp_path) as between:
        with scheduler(tmp_path, tmp_path / "kubeconfig", rarely_renewing(lease_of(tmp_path))) as process:
            await there.until(lambda: process.is_scheduling, 30)
            for act in (Line.cut, Line.swallow):
                between.when_carried(40_000, if_busy(act))
            await there.create_pods(PODS, "through", cpu="100m", memory="100Mi")
            await there.all_bound(PODS, 90)
            assert between.is_done
            assert "Traceback" not in process.log
        assert set(audited.log.bindings().values()) == {1}
        assert await there.overcommitted() == []
