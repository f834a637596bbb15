"""The CPU time of choosing the pods to preempt: ``python -m bench.micro.preemption [--nodes N ...] [--profile]``.

In the shape of upstream's PreemptionBasic: four pods of 900m on each node of four cores, and pods of 3000m that fit
nowhere. Prints milliseconds of CPU for a whole decision, that the pod fits nowhere included.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import time
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from bench.micro.families import Shape, node
from scheduler_runtime import testing
from scheduler_runtime.framework import Unschedulable
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.objects.interning import SharedSpecs
from scheduler_runtime.state.objects.pod_requests import BY_CONTAINER

PODS_PER_NODE = 4
LOW, HIGH = {"priority": 0}, {"priority": 10}


@dataclass(frozen=True, slots=True)
class NodePods:
    """The pods on each node."""

    title: str
    there: tuple[Shape, ...]
    nominated: int = 0
    """The number of pods that wait for room on other nodes."""


INCOMING = Shape(cpu="3000m", spec=HIGH)
VICTIMS = (Shape(cpu="900m", spec=LOW),) * PODS_PER_NODE
KINDS = {
    "victims": NodePods("all pods are of lower priority", VICTIMS),
    "in-line": NodePods("all pods are of lower priority, and 200 others wait for nodes of theirs", VICTIMS, 200),
    "nobody": NodePods("all pods are as important", (Shape(cpu="900m", spec=HIGH),) * PODS_PER_NODE),
    "in-vain": NodePods(
        "one pod is of lower priority, which is not enough",
        (Shape(cpu="900m", spec=LOW), *(Shape(cpu="900m", spec=HIGH),) * (PODS_PER_NODE - 1)),
    ),
}


class PreemptionScene:
    """Full nodes, and pods that fit on none."""

    def __init__(self, pods: NodePods, nodes: int) -> None:
        self.cache = Cache()
        self.framework = testing.framework()
        self.shapes = SharedSpecs()
        for row in range(nodes):
            self.cache.set_node(node(row))
            for number, shape in enumerate(pods.there):
                pod = self.shapes.share(shape.pod(f"there-{row}-{number}"), BY_CONTAINER)
                self.cache.add(replace(pod, spec=replace(pod.spec, node_name=f"node-{row}")))
        for number in range(pods.nominated):
            self.framework.nominations.nominate(INCOMING.pod(f"nominated-{number}"), f"node-{number}")

    def milliseconds(self, count: int) -> Iterator[float]:
        """Decide about ``count`` pods; the CPU time of each decision."""
        for number in range(count):
            pod = INCOMING.pod(f"incoming-{number}")
            started = time.process_time_ns()
            outcome = self.framework.schedule(pod, self.cache)
            yield (time.process_time_ns() - started) / 1e6
            if not isinstance(outcome, Unschedulable):
                raise TypeError(f"{pod.name} was placed: something else is measured")
            if outcome.nomination and outcome.nomination.work:
                outcome.nomination.work.close()
            self.framework.nominations.forget(pod.uid)


def measure(pods: NodePods, nodes: int, count: int = 20) -> tuple[float, float]:
    """The least and the median milliseconds of a decision on a cluster of ``nodes``."""
    scene = PreemptionScene(pods, nodes)
    list(scene.milliseconds(1))
    gc.collect()
    gc.freeze()  # the scene outlives the measurement: collections must not walk it
    times = sorted(scene.milliseconds(count))
    return times[0], times[len(times) // 2]


def profile(pods: NodePods, nodes: int, count: int = 20) -> None:
    """Print the ten functions in which the time goes."""
    scene = PreemptionScene(pods, nodes)
    with cProfile.Profile() as profiler:
        list(scene.milliseconds(count))
    pstats.Stats(profiler).sort_stats("tottime").print_stats(10)


def main() -> None:
    """Measure all kinds with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.micro.preemption", description=__doc__.partition(":")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--profile", action="store_true", help="print where the time goes instead")
    options = parser.parse_args()
    for name, kind in KINDS.items():
        for nodes in options.nodes:
            if options.profile:
                profile(kind, nodes)
                continue
            best, median = measure(kind, nodes)
            print(
                f"{name:>14} {nodes:>6} nodes {best:>8.2f} ms best {median:>8.2f} ms median  {kind.title}", flush=True
            )


if __name__ == "__main__":
    main()
