"""The memory that a large cluster takes, and the time until the first bind: ``python -m bench.size``.

The nodes and pods are real ones in a real API server: nodes with the images that a kubelet reports, and pods created
with their node already set, and reported to run as by a kubelet. They are created once, and each contender starts on
them in turn. (A simulated server would have to speak protobuf to be fair to kube-scheduler, and its pages and its pace
would still be its own.) Memory is the most that was ever resident, start-up included.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import uvloop
import yaml

import devcluster
from bench.cluster.api import BulkClient, nodes, pods
from bench.cluster.client import Server
from bench.cluster.prefilled_nodes import NAMESPACE, residents, statuses, with_images
from bench.cluster.process_stats import peak_megabytes
from bench.side_by_side import schedulers
from bench.side_by_side.pauses import LEAST_SECONDS, Pauses
from bench.side_by_side.run import build, control_plane, quiet
from bench.side_by_side.schedulers import BERTH, KUBE_SCHEDULER, WATCHED, Contender
from bench.workloads import CASES, NODE_TEMPLATE, Object
from devcluster import Cluster, DevclusterError
from devcluster.system.processes import Process

POD_TEMPLATE = "templates/pod-default.yaml"
COLD_SECONDS = 600.0
END_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Size:
    """The result of one start."""

    contender: str
    first_bind_seconds: float
    """From the start of the process until a pod that was waiting had a node."""
    peak_megabytes: float


@dataclass(frozen=True, slots=True)
class Longest:
    """The longest pauses of our loop, in milliseconds, and of them the collector's."""

    starting: tuple[float, float]
    scheduling: tuple[float, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = parse_options(arguments)
    try:
        build(options.kubernetes)
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 2
    with devcluster.running(control_plane(options.kubernetes)) as cluster:
        sizes, longest = uvloop.run(_Measurement(cluster, options).run())
    print("\n".join(lines(options, sizes, longest)))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_bytes(msgspec.json.encode({"sizes": sizes, "longest": longest}))
    return 0


def lines(options: argparse.Namespace, sizes: Sequence[Size], longest: Longest) -> Iterator[str]:
    """The results as lines for people."""
    yield f"{options.nodes} nodes, {options.pods} pods, Kubernetes {options.kubernetes}"
    for name in dict.fromkeys(size.contender for size in sizes):
        mine = [size for size in sizes if size.contender == name]
        memory = max(size.peak_megabytes for size in mine)
        first = statistics.median(size.first_bind_seconds for size in mine)
        yield f"  {name:15} peak {memory:6.0f} MB   first bind after {first:5.1f} s"
    for what, (loop, collector) in (("starting", longest.starting), ("scheduling", longest.scheduling)):
        yield f"  longest pause of our loop while {what}: {in_words(loop)} (of the collector: {in_words(collector)})"


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    flags = argparse.ArgumentParser(prog="python -m bench.size", description=__doc__)
    flags.add_argument("--nodes", type=int, default=5000)
    flags.add_argument("--pods", type=int, default=30000)
    flags.add_argument("--burst", type=int, default=2000, help="pods to schedule while pauses are measured")
    flags.add_argument("--repetitions", type=int, default=3)
    flags.add_argument("--kubernetes", default="1.36")
    flags.add_argument("--json", type=Path, default=Path("dist") / "bench-size.json")
    return flags.parse_args(arguments)


@dataclass(slots=True)
class _Measurement:
    cluster: Cluster
    options: argparse.Namespace

    async def run(self) -> tuple[list[Size], Longest]:
        server = Server.of(self.cluster.kubeconfig)
        async with asyncio.TaskGroup() as group, BulkClient(server, group) as api:
            await api.create(with_images(nodes(template(NODE_TEMPLATE), self.options.nodes, None)))
            await api.need_namespace(NAMESPACE)
            pod, how_many = template(POD_TEMPLATE), (self.options.pods, self.options.nodes)
            await api.create(residents(pod, *how_many))
            await api.patch(statuses(pod, *how_many))
            both = (KUBE_SCHEDULER, BERTH)
            turns = [
                contender
                for number in range(self.options.repetitions)
                for contender in both[:: -1 if number % 2 else 1]
            ]
            sizes = []
            for contender in turns:
                process, seconds = await self._first_bind(api, contender)
                await quiet(process.pid)
                sizes.append(Size(contender.name, seconds, peak_megabytes(process.pid)))
                schedulers.stop(contender, self.cluster)
            return sizes, await self._longest(api)

    async def _longest(self, api: BulkClient) -> Longest:
        """Pauses of ours: until its first bind, and while it then schedules a burst."""
        process, _ = await self._first_bind(api, WATCHED)
        bound_first = time.time()
        bound = await api.follow("burst")
        await api.create(pods(template(POD_TEMPLATE), self.options.burst, "burst"))
        await bound.reach(self.options.burst, COLD_SECONDS)
        process.send(signal.SIGTERM)
        if not await asyncio.to_thread(process.ended, END_SECONDS):
            raise TimeoutError(f"the scheduler did not end within {END_SECONDS:.0f} s of SIGTERM")
        pauses = msgspec.json.decode(schedulers.pauses_file(self.cluster).read_bytes(), type=Pauses)
        return Longest(
            starting=milliseconds(pauses.longest(until=bound_first)),
            scheduling=milliseconds(pauses.longest(since=bound_first)),
        )

    async def _first_bind(self, api: BulkClient, contender: Contender) -> tuple[Process, float]:
        """Start the contender while a pod waits; return the seconds until that pod has a node."""
        namespace = f"first-{time.time_ns():x}"
        bound = await api.follow(namespace)
        await api.create(pods(template(POD_TEMPLATE), 1, namespace))
        began = time.monotonic()
        process = schedulers.start(contender, self.cluster, self.options.kubernetes, is_ready=False)
        await bound.reach(1, COLD_SECONDS)
        return process, time.monotonic() - began


def template(path: str) -> Object:
    """One of the workloads' templates."""
    document: Object = yaml.safe_load((CASES.parent / path).read_text())
    return document


def in_words(pause: float) -> str:
    """A pause in words; the shortest ones were not recorded."""
    return f"{pause:.0f} ms" if pause else f"under {LEAST_SECONDS * 1000:.0f} ms"


def milliseconds(seconds: tuple[float, float]) -> tuple[float, float]:
    loop, collector = seconds
    return loop * 1000, collector * 1000


if __name__ == "__main__":
    sys.exit(main())
