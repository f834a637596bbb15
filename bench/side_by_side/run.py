"""One run: a fresh etcd and API server, one contender, one workload."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import uvloop

import devcluster
from bench.cluster import bind_counter
from bench.cluster.api import BulkClient
from bench.cluster.client import Server
from bench.cluster.process_stats import Cpu, cpu_seconds, peak_megabytes
from bench.side_by_side import placement_check, schedulers
from bench.side_by_side.operations import Operations, namespace
from bench.side_by_side.schedulers import Contender
from bench.workloads import CreatePods, Workload
from devcluster import Cluster, Spec
from devcluster.build.progress import progress_on

ADMISSION = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority"
QUIET_SHARE = 0.05
QUIET_SECONDS = 0.5
UNQUIET_SECONDS = 30.0
FEW_SAMPLES = 3
BENCH = "bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The figures and faults of one run."""

    workload: str
    contender: str
    repetition: int
    nodes: int
    pods: int
    seconds: float
    """From the first measured pod's creation until the last one had a node."""
    quiet_seconds: float
    """From the first measured pod's creation until the contender had nothing to do any more, events included."""
    rates: list[float]
    """Pods per second, each over about a second."""
    cpu: Mapping[str, float]
    """Microseconds per measured pod, until quiet."""
    peak_megabytes: float
    events: int
    faults: list[str] = field(default_factory=list)

    @property
    def wall_rate(self) -> float:
        return self.pods / self.seconds

    @property
    def rate(self) -> float:
        """The average of the samples; over the whole time where that was too short for a few of them."""
        return sum(self.rates) / len(self.rates) if len(self.rates) >= FEW_SAMPLES else self.wall_rate


def control_plane(kubernetes: str) -> Spec:
    """An API server and its etcd, alone."""
    return Spec(
        kubernetes=kubernetes, node="none", scheduler=False, controller_manager=False, apiserver_args=(ADMISSION,)
    )


def build(kubernetes: str) -> None:
    """Build the missing binaries, with an estimate of the time. Raises DevclusterError."""
    needed = (*control_plane(kubernetes).binaries, "kube-scheduler")
    devcluster.binaries(*needed, kubernetes=kubernetes, progress=progress_on(sys.stderr))


def run(workload: Workload, contender: Contender, repetition: int, kubernetes: str) -> Run:
    """Run the workload through the contender, on a control plane of its own.

    Raises TimeoutError when pods do not get their nodes, RuntimeError when the contender ended, OSError and others.
    """
    with devcluster.running(control_plane(kubernetes)) as cluster:
        process = schedulers.start(contender, cluster, kubernetes)
        pids = {"scheduler": process.pid, **cluster.pids(), BENCH: os.getpid()}
        pids.pop(contender.name)  # the guard lists the contender as a component too: it must not count twice
        result: Run = uvloop.run(_Attempt(workload, contender, repetition, cluster, pids).run())
        if not process.is_alive:
            raise RuntimeError(f"{contender.name} ended during {workload.name}")
    return result


async def quiet(pid: int) -> float:
    """Wait until the process uses next to no CPU, twice in a row; return the moment from which on it did not.

    Each contender writes its events some time after the binds: their cost must be counted too.
    """
    until = time.monotonic() + UNQUIET_SECONDS
    since, used, is_quiet = time.monotonic(), cpu_seconds(pid), False
    while (now := time.monotonic()) < until:
        await asyncio.sleep(QUIET_SECONDS)
        before, used, was_quiet = used, cpu_seconds(pid), is_quiet
        is_quiet = used - before <= QUIET_SHARE * QUIET_SECONDS
        if was_quiet and is_quiet:
            break
        if not is_quiet:
            since = now + QUIET_SECONDS
    return since


async def settled(api: BulkClient, pid: int, where: str) -> tuple[int, float]:
    """Wait until a contender is quiet and writes no more events in a namespace; return their number, and since when."""
    path = f"/apis/events.k8s.io/v1/namespaces/{where}/events"
    events, since = -1, 0.0
    while (counted := await api.number(path)) != events:
        events, since = counted, await quiet(pid)
    return events, since


@dataclass(frozen=True, slots=True)
class _Measured:
    """The figures of the measured step."""

    seconds: float
    quiet_seconds: float
    rates: list[float]
    used: Cpu
    events: int


@dataclass(slots=True)
class _Attempt:
    workload: Workload
    contender: Contender
    repetition: int
    cluster: Cluster
    pids: Mapping[str, int]

    async def run(self) -> Run:
        async with asyncio.TaskGroup() as group, BulkClient(Server.of(self.cluster.kubeconfig), group) as api:
            operations = Operations(api, self.workload)
            *before, last_step = enumerate(self.workload.steps)
            for number, step in before:
                await operations.perform(number, step)
            number, step = last_step
            if not isinstance(step, CreatePods):
                raise TypeError(f"{self.workload.name}: the last step creates no pods, so nothing is measured")
            where = namespace(number, step)
            figures = await self._measure(api, operations, step, where)
            faults: list[str] = []
            if self.contender.decides:
                all_nodes = await api.items("/api/v1/nodes?resourceVersion=0")
                faults = placement_check.faults(all_nodes, await api.items("/api/v1/pods"))
            count = self.workload.count(step)
            return Run(
                workload=self.workload.name,
                contender=self.contender.name,
                repetition=self.repetition,
                nodes=self.workload.nodes,
                pods=count,
                seconds=figures.seconds,
                quiet_seconds=figures.quiet_seconds,
                rates=figures.rates,
                cpu={name: spent / count * 1e6 for name, spent in figures.used.seconds.items()},
                peak_megabytes=peak_megabytes(self.pids["scheduler"]),
                events=figures.events,
                faults=faults,
            )

    async def _measure(self, api: BulkClient, operations: Operations, step: CreatePods, where: str) -> _Measured:
        bound = await api.follow(where)
        await quiet(self.pids["scheduler"])
        already, samples = bound.count, list[bind_counter.Sample]()
        api.begin(bind_counter.sample(lambda: bound.count - already, samples))
        before, began = Cpu.of(self.pids), time.monotonic()
        await operations.create_pods(step, where)
        await operations.wait(where)
        seconds = time.monotonic() - began
        api.end()
        events, settled_at = await settled(api, self.pids["scheduler"], where)
        used = Cpu.of(self.pids).since(before)
        return _Measured(seconds, settled_at - began, bind_counter.rates(samples), used, events)
