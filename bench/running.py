"""One run: a fresh etcd and API server, one contender, one workload."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import uvloop

import devcluster
from bench import contenders, throughput
from bench.client import Server
from bench.contenders import Contender
from bench.operations import Operations
from bench.placements import faults
from bench.processes import Cpu, cpu_seconds, peak_megabytes
from bench.workloads import CreatePods, Workload
from devcluster import Cluster, Spec

ADMISSION = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority"
QUIET_SHARE = 0.05
QUIET_SECONDS = 0.5
UNQUIET_SECONDS = 30.0
BENCH = "bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run showed."""

    workload: str
    contender: str
    repetition: int
    nodes: int
    pods: int
    seconds: float
    """From the first measured pod's creation until the last one had a node."""
    quiet_seconds: float
    """From the first measured pod's creation until the contender had nothing left to do, events included."""
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
        """The average of the samples; over the whole time where that was too short for any."""
        return sum(self.rates) / len(self.rates) if self.rates else self.wall_rate


def run(workload: Workload, contender: Contender, repetition: int, kubernetes: str) -> Run:
    """Run the workload through the contender, on a control plane of its own.

    Raises TimeoutError when pods do not get their nodes, and whatever ended the run otherwise.
    """
    spec = Spec(
        kubernetes=kubernetes, node="none", scheduler=False, controller_manager=False, apiserver_args=(ADMISSION,)
    )
    with devcluster.running(spec) as cluster:
        process = contenders.start(contender, cluster, kubernetes)
        pids = {"scheduler": process.pid, **cluster.pids(), BENCH: os.getpid()}
        pids.pop(contender.name)
        found: Run = uvloop.run(_Attempt(workload, contender, repetition, cluster, pids).run())
        if not process.is_alive:
            raise RuntimeError(f"{contender.name} ended during {workload.name}")
    return found


@dataclass(slots=True)
class _Attempt:
    workload: Workload
    contender: Contender
    repetition: int
    cluster: Cluster
    pids: Mapping[str, int]

    async def run(self) -> Run:
        server = Server.of(self.cluster.kubeconfig)
        async with asyncio.TaskGroup() as group, Operations(server, self.workload, group) as operations:
            for number, step in enumerate(self.workload.steps):
                if isinstance(step, CreatePods) and step.collect_metrics:
                    return await self._measure(operations, step, operations.namespace(number, step), group)
                await operations.perform(number, step)
        raise AssertionError("a workload has a measured step")

    async def _measure(self, operations: Operations, step: CreatePods, namespace: str, group: asyncio.TaskGroup) -> Run:
        bound = await operations.follow(namespace)
        await self._quiet()
        already, samples = bound.count, list[throughput.Sample]()
        sampler = group.create_task(throughput.sample(lambda: bound.count - already, samples))
        before, began = Cpu.of(self.pids), time.monotonic()
        await operations.create_pods(step, namespace)
        await operations.wait(namespace)
        seconds = time.monotonic() - began
        sampler.cancel()
        operations.end()
        quiet_seconds = await self._quiet() - began
        count = self.workload.count(step)
        used = Cpu.of(self.pids).since(before)
        return Run(
            workload=self.workload.name,
            contender=self.contender.name,
            repetition=self.repetition,
            nodes=self.workload.nodes,
            pods=count,
            seconds=seconds,
            quiet_seconds=quiet_seconds,
            rates=throughput.rates(samples),
            cpu={name: spent / count * 1e6 for name, spent in used.seconds.items()},
            peak_megabytes=peak_megabytes(self.pids["scheduler"]),
            events=await operations.number(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"),
            faults=await self._faults(operations) if self.contender.decides else [],
        )

    async def _quiet(self) -> float:
        """Wait until the contender uses next to no CPU, twice in a row; return since when.

        Events come after binds, by as much as a contender likes: what they cost must be counted all the same.
        """
        pid, until = self.pids["scheduler"], time.monotonic() + UNQUIET_SECONDS
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

    async def _faults(self, operations: Operations) -> list[str]:
        nodes = await operations.items("/api/v1/nodes?resourceVersion=0")
        return faults(nodes, await operations.items("/api/v1/pods"))
