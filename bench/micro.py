"""How long one decision takes, without an API server: ``python bench/micro.py [nodes ...]``.

Prints microseconds of CPU per decision, the assuming included, by kind of pod and size of cluster.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

from scheduler_runtime import testing, wire
from scheduler_runtime.framework import Placed


def node(number: int) -> wire.Node:
    return testing.node(f"node-{number}", labels={"topology.kubernetes.io/zone": f"zone-{number % 3}"})


def plain_pod(number: int) -> wire.Pod:
    """Every pod like the one before."""
    return testing.pod(f"pod-{number}", {"cpu": "100m", "memory": "500Mi"})


def unique_pod(number: int) -> wire.Pod:
    """No pod like any other, so that nothing can be kept."""
    return testing.pod(f"pod-{number}", {"cpu": f"{100 + number % 50}m", "memory": f"{500_000 + number}Ki"})


def microseconds_per_decision(nodes: int, pods: Iterable[wire.Pod]) -> float:
    """Place ``pods`` one after another on a cluster of equal nodes; the quickest tenth part speaks for all."""
    cluster = testing.Cluster(*(node(number) for number in range(nodes)))
    decides = testing.framework()
    made = list(pods)
    share = len(made) // 10
    times = []
    for start in range(0, len(made), share):
        started = time.process_time()
        for pod in made[start : start + share]:
            outcome = decides.schedule(pod, cluster)
            if not isinstance(outcome, Placed):
                raise SystemExit(outcome.message)
        times.append((time.process_time() - started) / share * 1e6)
    return min(times)


def main(sizes: list[int]) -> None:
    families = {"plain": plain_pod, "unique": unique_pod}
    print(f"{'nodes':>8}" + "".join(f"{f'{name}, µs':>14}" for name in families))
    for size in sizes:
        micros = (microseconds_per_decision(size, map(make, range(2000))) for make in families.values())
        print(f"{size:>8}" + "".join(f"{each:>14.1f}" for each in micros))


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [100, 1000, 5000, 15000])
