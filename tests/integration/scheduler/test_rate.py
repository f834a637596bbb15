"""Rate at which pods are bound on this machine. Printed, not asserted: it depends on what else runs here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import devcluster
from devcluster import Cluster, Spec
from tests.integration.scheduler.support import SchedulerProcess, api, document, scheduler

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.rate,
    pytest.mark.timeout(300),
    pytest.mark.nightly(reason="it prints a rate, for which make bench-micro runs it, and asserts nothing new"),
]

NODES, PODS = 1000, 5000
ELECTION = {"resourceNamespace": "default"}


@pytest.fixture
def large_cluster() -> Iterator[Cluster]:
    with devcluster.running(Spec(node="none", fake_nodes=NODES, scheduler=False)) as cluster:
        yield cluster


def cpu_seconds(process: SchedulerProcess) -> float:
    return process.metric("process_cpu_seconds_total")


async def test_five_thousand_pods_on_a_thousand_nodes(large_cluster: Cluster, tmp_path: Path) -> None:
    async with api(large_cluster, tidy=False) as there:
        await there.create_pods(PODS, cpu="100m", memory="100Mi")
        with scheduler(tmp_path, large_cluster.kubeconfig, document(leaderElection=ELECTION)) as process:

            async def scheduled() -> float:
                return process.metric("scheduler_schedule_attempts_total", result="scheduled")

            async def is_scheduling() -> bool:
                return bool(process.lines(" scheduling ")) and await scheduled() > 0

            await there.eventually(is_scheduling, 30)
            began, cpu, done = time.monotonic(), cpu_seconds(process), await scheduled()
            while (now := await scheduled()) < PODS:
                assert time.monotonic() - began < 120, f"{now:.0f} of {PODS} after two minutes"
                time.sleep(0.05)  # noqa: ASYNC251  nothing of ours may take the processor from what is measured
            seconds, cpu = time.monotonic() - began, cpu_seconds(process) - cpu
            memory = process.metric("process_resident_memory_bytes") / 2**20
        assert not await there.overcommitted()
    pods = PODS - done
    print(f"\n{pods / seconds:.0f} pods/s; {cpu / pods * 1e6:.0f} µs CPU per pod; {memory:.0f} MiB")  # noqa: T201
