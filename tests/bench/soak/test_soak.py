"""A short soak comes to its end, finds nothing wrong, and can be ended before."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.soak.__main__ import run_soak
from bench.soak.cluster_setup import SCHEDULERS, soak_cluster
from bench.soak.plan import Plan
from bench.soak.report import table, verdict

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
SMOKE = Plan(nodes=100, minutes=0.5, round_seconds=15, lease_seconds=12, per_second=10, pods_per_node=4)
"""A leader that a slow machine hinders renews in time, and one that was killed is not missed for too long."""


@pytest.mark.nightly(reason="churn and kills are tested in tests/integration/scheduler/faults, in a third of the time")
def test_under_churn_and_kills_every_pod_is_bound_once_and_every_number_is_true() -> None:
    with soak_cluster(SMOKE) as (cluster, audit):
        soak = asyncio.run(run_soak(SMOKE, cluster, audit))
    report = "\n".join(table(soak))
    assert verdict(soak) == [], report
    assert [one.ended.split(" was ")[1] for one in soak.rounds] == ["killed", "told to end"]
    assert all(one.missed_seconds is not None for one in soak.rounds)
    assert all(soak.audit.bound[name] > 0 for name in SCHEDULERS), report
    assert sum(soak.audit.bound.values()) >= 400
    assert {"nodes removed", "pods deleted"} <= set(soak.done)


def test_an_interrupted_soak_reports_its_faults_and_removes_its_files() -> None:
    command = [sys.executable, "-m", "bench.soak", "--nodes", "5", "--lease-seconds", "6"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130, rest
    assert "0 of 30 rounds on 5 nodes" in rest
    assert "Traceback" not in rest
    assert not Path(first.split()[-1]).exists()
