"""The bench itself runs to its end, through everyone, on a real control plane."""

from __future__ import annotations

import pytest

from bench import workloads
from bench.side_by_side import run as running
from bench.side_by_side.schedulers import CONTENDERS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]


NOT_OURS = pytest.mark.nightly(reason="what others do matters to make bench only; ours goes the same way")


@pytest.mark.parametrize(
    "contender", [pytest.param(name, marks=() if name == "berth" else NOT_OURS) for name in CONTENDERS]
)
def test_every_measured_pod_is_bound_and_has_an_event(contender: str) -> None:
    (workload,) = workloads.select(workloads.load(), label="smoke", cases=["SchedulingBasic"], nodes=[])
    run = running.run(workload, CONTENDERS[contender], 1, "1.36")
    assert run.faults == []
    assert run.events == run.pods == 150
    assert run.seconds <= run.quiet_seconds
    assert run.cpu.keys() == {"scheduler", "kube-apiserver", "etcd", "bench"}
    assert all(micros > 10 for micros in run.cpu.values())
    assert run.peak_megabytes > 10
