"""The CPU time of one decision, without an API server: ``python -m bench.micro [FAMILY ...] [--nodes N ...]``.

Prints microseconds of CPU per decision, by kind of pod and size of cluster, with everything from taking a pod
off the queue to the event that confirms the binding: deciding, assuming, and confirming.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bench.micro.families import FAMILIES, Family, node
from scheduler_runtime import testing
from scheduler_runtime.framework import Framework, Placed
from scheduler_runtime.state import objects
from scheduler_runtime.state.cache import Cache

BATCH = 50


@dataclass(frozen=True, slots=True)
class DecisionCost:
    """Microseconds of CPU per pod, and the share of decisions that used a cached answer for the pod's class."""

    best: float
    median: float
    hit_share: float


class PlacementScene:
    """A cluster, a framework, and pods to place."""

    def __init__(self, family: Family, nodes: int) -> None:
        self.family = family
        self.cache = Cache()
        for number in range(nodes):
            self.cache.set_node(node(number))
        for number in range(family.before):
            pod = family.pod(f"before-{number}", number)
            self.cache.add(replace(pod, spec=replace(pod.spec, node_name=f"node-{number % nodes}")))
        self.framework: Framework = testing.framework(objects=testing.Objects(*family.objects))

    def batches(self, count: int) -> Iterator[list[objects.Pod]]:
        """Pods, a batch at a time."""
        for start in range(0, count, BATCH):
            yield [self.family.pod(f"pod-{number}", number) for number in range(start, start + BATCH)]

    def nanoseconds(self, pods: Sequence[objects.Pod]) -> int:
        """Place ``pods`` and confirm them; the CPU time of that."""
        started = time.process_time_ns()
        outcomes = [self.framework.schedule(pod, self.cache) for pod in pods]
        spent = time.process_time_ns() - started
        confirmed = [
            replace(outcome.pod, spec=replace(outcome.pod.spec, node_name=outcome.node))
            for outcome in outcomes
            if isinstance(outcome, Placed)
        ]
        started = time.process_time_ns()
        for pod in confirmed:
            self.cache.add(pod)
        return spent + time.process_time_ns() - started


def measure(family: Family, nodes: int, count: int) -> DecisionCost:
    """Place ``count`` pods on a cluster of ``nodes``."""
    scene = PlacementScene(family, nodes)
    gc.collect()
    gc.freeze()  # the scene outlives the measurement: collections must not walk it
    times = sorted(scene.nanoseconds(pods) / BATCH / 1000 for pods in scene.batches(count))
    classes = scene.framework.answer_cache
    return DecisionCost(times[0], times[len(times) // 2], classes.hits / max(classes.hits + classes.misses, 1))


def profile(family: Family, nodes: int, count: int) -> None:
    """Print the ten functions in which the time goes."""
    scene = PlacementScene(family, nodes)
    batches = list(scene.batches(count))
    profiler = cProfile.Profile()
    profiler.enable()
    for pods in batches:
        scene.nanoseconds(pods)
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(10)


def main() -> None:
    """Measure the families of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.micro", description=__doc__.partition("\n")[0])
    parser.add_argument("family", nargs="*", help=f"any of {', '.join(FAMILIES)}; all by default")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 5000, 15000])
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--profile", action="store_true", help="print where the time goes instead")
    options = parser.parse_args()
    for name in options.family or FAMILIES:
        if name not in FAMILIES:
            parser.error(f"{name} is none of the families {', '.join(FAMILIES)}")
        for nodes in options.nodes:
            if options.profile:
                profile(FAMILIES[name], nodes, options.pods)
                continue
            result = measure(FAMILIES[name], nodes, options.pods)
            print(
                f"{name:>14} {nodes:>6} nodes {result.best:>8.1f} µs best {result.median:>8.1f} µs median"
                f" {result.hit_share:>6.0%} cached  {FAMILIES[name].title}",
                flush=True,
            )


if __name__ == "__main__":
    main()
