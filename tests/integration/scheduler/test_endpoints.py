"""HTTPS endpoints of a scheduler, compared with those of the real kube-scheduler for the same pods."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import devcluster
from devcluster import Cluster
from devcluster.system.ports import free_port
from scheduler_runtime.component.https.access import REVIEWS_AT_ONCE, REVIEWS_PER_SECOND
from tests.integration.scheduler.support import (
    OPEN,
    ApiView,
    SchedulerProcess,
    api,
    document,
    lease_of,
    scheduler,
)
from tests.support.crowd import crowding, seconds_of
from tests.support.pages import bearer, get_page

pytestmark = pytest.mark.cluster

NOT_HERE = {
    "scheduler_event_handling_duration_seconds",
    "scheduler_queueing_hint_execution_duration_seconds",
    "scheduler_batch_attempts_total",
    "scheduler_batch_cache_flushed_total",
    "scheduler_get_node_hint_duration_seconds",
    "scheduler_store_schedule_results_duration_seconds",
    "scheduler_async_api_call_execution_total",
    "scheduler_async_api_call_execution_duration_seconds",
    "scheduler_pending_async_api_calls",
    "scheduler_resourceclaim_creates_total",
    "rest_client_exec_plugin_certificate_rotation_age",
    "rest_client_exec_plugin_ttl_seconds",
    "rest_client_transport_cache_entries",
    "rest_client_transport_cert_rotation_gc_calls_total",
    "rest_client_transport_create_calls_total",
}
"""Metrics of level ALPHA, each about something that Berth does not have or does not measure: see docs/endpoints.md."""
PODS = 20

OURS = re.compile(r"scheduler_|rest_client_|kubernetes_healthcheck")
"""What else is on kube-scheduler's page is about Go, about serving, or about the process."""


CONTAINER = {
    "name": "c",
    "image": "i",
    "resources": {"requests": {"cpu": "100m", "memory": "8Mi"}, "limits": {"memory": "16Mi", "cpu": "1500m"}},
}


class Family:
    """A metric in Prometheus's text: its type, the names of its labels and the bounds of its buckets."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.labels: set[str] = set()
        self.bounds: list[str] = []

    def __repr__(self) -> str:
        return f"{self.kind} by {sorted(self.labels)} {self.bounds}"


def families(text: str) -> dict[str, Family]:
    """What a page of metrics has."""
    families_by_name = {name: Family(kind) for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)}
    for sample, labels in re.findall(r"^([a-z_0-9]+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
        family = families_by_name.get(sample) or families_by_name[re.sub(r"_(bucket|sum|count)$", "", sample)]
        names = re.findall(r'([a-z_]+)="', labels)
        family.labels |= set(names)
        for bound in re.findall(r'\ble="([^"]+)"', labels):
            if bound not in family.bounds:
                family.bounds.append(bound)
    return families_by_name


@contextlib.contextmanager
def kube_scheduler(cluster: Cluster, directory: Path, name: str) -> Iterator[SchedulerProcess]:
    """The real one, for pods that name it ``name``."""
    binary = devcluster.binaries("kube-scheduler", kubernetes="1.36")["kube-scheduler"]
    config, log, port = directory / "theirs.yaml", directory / "theirs.log", free_port()
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                "clientConnection": {"kubeconfig": str(cluster.kubeconfig)},
                "profiles": [{"schedulerName": name}],
            }
        )
    )
    kubeconfigs = [f"--{kind}-kubeconfig={cluster.kubeconfig}" for kind in ("authentication", "authorization")]
    command = [
        str(binary),
        f"--config={config}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        *kubeconfigs,
        OPEN,
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stderr=output, stdout=output)
    try:
        yield SchedulerProcess(process, log, port)
    finally:
        process.kill()
        process.wait()


async def attempts(there: ApiView, process: SchedulerProcess) -> None:
    """Return when the scheduler has placed its pods and rejected one."""

    async def done() -> bool:
        with contextlib.suppress(OSError):
            placed = process.metric("scheduler_schedule_attempts_total", result="scheduled")
            rejected = process.metric("scheduler_schedule_attempts_total", result="unschedulable")
            return placed == PODS and rejected >= 1
        return False

    await there.eventually(done, 30)


async def test_metrics_are_those_of_kube_scheduler(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        with (
            scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path))) as ours,
            kube_scheduler(cluster, tmp_path, "upstream") as theirs,
        ):
            for who in ("berth", "upstream"):
                await there.create_pods(PODS, who, schedulerName=who, containers=[CONTAINER])
                await there.create_pods(1, f"{who}-nowhere", schedulerName=who, nodeSelector={"there": "is-none"})
                await there.create_pods(
                    1, f"{who}-gated", schedulerName=who, schedulingGates=[{"name": "example.com/g"}]
                )
            for process in (ours, theirs):
                await attempts(there, process)
            actual, expected = families(ours.get("/metrics")), families(theirs.get("/metrics"))
    required = {name for name in expected if OURS.match(name)}
    assert required - actual.keys() - NOT_HERE == set()
    for name in required & actual.keys():
        assert repr(actual[name]) == repr(expected[name]), name


def samples(text: str) -> set[tuple[str, frozenset[str], str]]:
    """The numbers of a page of metrics, in whatever order its labels are."""
    lines = re.findall(r"^([a-z_]+)\{(.*)\} (\S+)$", text, re.MULTILINE)
    return {(name, frozenset(labels.split(",")), number) for name, labels, number in lines}


async def test_what_pods_ask_for_is_measured_as_by_kube_scheduler(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        with (
            scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path))) as ours,
            kube_scheduler(cluster, tmp_path, "upstream") as theirs,
        ):
            await there.until(lambda: ours.is_scheduling, 30)
            sidecar = {**CONTAINER, "name": "s", "restartPolicy": "Always"}
            await there.create_pods(2, "placed", containers=[CONTAINER], initContainers=[sidecar])
            await there.create_pods(1, "gated", containers=[CONTAINER], schedulingGates=[{"name": "example.com/g"}])
            await there.all_bound(2)

            async def alike() -> bool:
                with contextlib.suppress(OSError):
                    actual, expected = (samples(process.get("/metrics/resources")) for process in (ours, theirs))
                    return len(expected) == 12 and actual == expected
                return False

            await there.eventually(alike, 20)


def status(process: SchedulerProcess, path: str, token: str = "") -> int:
    return get_page(process.port, path, bearer(token)).status


def token_of_reader(cluster: Cluster) -> str:
    """A token that may read /metrics."""
    cluster.kubectl("create", "serviceaccount", "reader", check=False)
    cluster.kubectl("create", "clusterrole", "reads-metrics", "--verb=get", "--non-resource-url=/metrics", check=False)
    binding = ["reads-metrics", "--clusterrole=reads-metrics", "--serviceaccount=default:reader"]
    cluster.kubectl("create", "clusterrolebinding", *binding, check=False)
    return cluster.kubectl("create", "token", "reader").stdout.strip()


async def test_only_who_may_sees_more_than_health(cluster: Cluster, tmp_path: Path) -> None:
    token = token_of_reader(cluster)
    closed = "--authorization-always-allow-paths=/healthz,/readyz,/livez"
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path)), closed) as process:
            await there.until(lambda: process.is_scheduling, 30)
            statuses = {
                path: (status(process, path), status(process, path, token))
                for path in ("/livez", "/metrics", "/configz")
            }
            assert statuses == {"/livez": (200, 200), "/metrics": (403, 200), "/configz": (403, 403)}
            assert status(process, "/livez", "nobody's") == 401
            # Who asks for ever more causes no more reviews at the API server, and keeps nobody from health.
            before, start = reviews(cluster), time.monotonic()
            unknown = [status(process, f"/unknown/{number}") for number in range(200)]
            allowed = REVIEWS_AT_ONCE + REVIEWS_PER_SECOND * (time.monotonic() - start)
            assert set(unknown) <= {403, 429}
            assert unknown.count(403) <= min(allowed, reviews(cluster) - before)
            assert reviews(cluster) - before <= allowed + 50  # components of the cluster ask, too
            assert status(process, "/livez") == 200


def reviews(cluster: Cluster) -> float:
    """How many SubjectAccessReviews the API server was sent."""
    lines = cluster.kubectl("get", "--raw", "/metrics").stdout.splitlines()
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith("apiserver_request_total{") and 'resource="subjectaccessreviews"' in line
    )


async def test_what_it_believes_can_be_looked_at_and_compared(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path)), "-v", "2") as process:
            await there.create_pods(2, "placed")
            await there.create_pods(1, "nowhere", nodeSelector={"there": "is-none"})
            await there.all_bound(2)

            async def parked() -> list[str]:
                waiting = json.loads(process.get("/debug/pending")).get("unschedulable", [])
                return [f"{one['name']} {one['rejectedBy']}" for one in waiting]

            assert await there.eventually(parked, 20) == ["default/nowhere-0 ['NodeAffinity']"]
            cached = json.loads(process.get("/debug/cache"))["nodes"]
            assert sorted(pod["name"] for node in cached for pod in node["pods"]) == [
                "default/placed-0",
                "default/placed-1",
            ]

            async def agrees() -> bool:
                differences = json.loads(process.get("/debug/cache?compare"))
                return len(differences) == 6 and not any(differences.values())

            await there.eventually(agrees, 30)
            process.process.send_signal(signal.SIGUSR2)
            await there.until(lambda: bool(process.lines("waiting pod")), 30)
            (waiting,) = process.lines("waiting pod")
            assert "place=unschedulable pod=default/nowhere-0" in waiting
            assert len(process.lines(" cached node ")) == len(cached)
            assert len(process.lines(" bound pod=")) == 2
            assert len(process.lines(" unschedulable pod=")) == 1


@pytest.mark.alone
async def test_a_thousand_idle_and_slow_connections_leave_health_as_quick_as_kube_schedulers(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with api(cluster) as there:
        with (
            scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path))) as ours,
            kube_scheduler(cluster, tmp_path, "upstream") as theirs,
        ):

            def is_ready(process: SchedulerProcess) -> bool:
                with contextlib.suppress(OSError):
                    return process.get("/readyz") == "ok"
                return False

            await there.until(lambda: is_ready(ours) and is_ready(theirs), 30)
            seconds: dict[str, list[float]] = {"Berth": [], "kube-scheduler": []}
            with crowding(ours.port, 1000), crowding(theirs.port, 1000):
                # Longer than a connection may take for its first request, so that all of them were cut off once.
                end = time.monotonic() + 12
                while time.monotonic() < end:
                    # In turn, so that a machine that is slow for a while is slow for both.
                    for name, process in (("Berth", ours), ("kube-scheduler", theirs)):
                        seconds[name].append(await asyncio.to_thread(seconds_of, process.port))
                    await asyncio.sleep(0.1)
            figures = {name: [round(1000 * quantile) for quantile in statistics.quantiles(of, n=10)]
                       for name, of in seconds.items()}  # fmt: skip
            print("ms until /livez, by tenths:", figures)  # noqa: T201 - the figures are what is looked at
            # A thread of Python waits up to 5 ms for another one. The last tenth is when all come again at once.
            for tenth, factor in ((4, 2), (-1, 4)):
                assert figures["Berth"][tenth] <= factor * max(5, figures["kube-scheduler"][tenth]), figures
            assert ours.process.poll() is None
            assert not ours.lines("endpoints cannot")
