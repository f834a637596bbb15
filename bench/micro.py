"""How long one decision takes, without an API server: ``python bench/micro.py [nodes ...]``.

Prints microseconds of CPU per decision, the assuming included, for identical plain pods on clusters of several sizes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

from scheduler_runtime import config, wire
from scheduler_runtime.catalog import Version
from scheduler_runtime.framework import Framework, Placed, Services
from scheduler_runtime.table import Table

DOCUMENT = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Cluster:
    """A cache with nothing but a table."""

    def __init__(self) -> None:
        self.table = Table()
        self.where: dict[str, str] = {}

    def assume(self, pod: wire.Pod, node_name: str) -> None:
        self.where[pod.uid] = node_name
        self.table.add_pod(pod, node_name)

    def forget(self, pod: wire.Pod) -> None:
        self.table.remove_pod(pod, self.where.pop(pod.uid))


class Nowhere:
    """A binder that is never asked."""

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        raise AssertionError(f"{namespace}/{name} is not to be bound")


def node(number: int) -> wire.Node:
    return wire.Node(
        metadata=wire.ObjectMeta(
            name=f"node-{number}",
            labels={"kubernetes.io/hostname": f"node-{number}", "topology.kubernetes.io/zone": f"zone-{number % 3}"},
        ),
        status=wire.NodeStatus(allocatable={"cpu": "4", "memory": "32Gi", "pods": "110"}),
    )


def plain_pod(number: int) -> wire.Pod:
    requests: dict[str, str | int | float] = {"cpu": "100m", "memory": "500Mi"}
    return wire.Pod(
        metadata=wire.ObjectMeta(name=f"pod-{number}", namespace="default", uid=f"uid-{number}"),
        spec=wire.PodSpec(containers=(wire.Container(resources=wire.ResourceRequirements(requests=requests)),)),
    )


def framework(version: Version) -> Framework:
    document = config.load(DOCUMENT)
    if isinstance(document, config.Problems):
        raise SystemExit(str(document))
    profile = config.effective(document.profiles[0], version)
    if isinstance(profile, config.Problems):
        raise SystemExit(str(profile))
    return Framework(profile, Services(Nowhere(), lambda *_: None, lambda _: None), version, seed=1)


def microseconds_per_decision(nodes: int, pods: Iterable[wire.Pod]) -> float:
    """Place ``pods`` one after another on a cluster of equal nodes."""
    cluster, decides = Cluster(), framework(Version(1, 36, 4))
    for number in range(nodes):
        cluster.table.set_node(node(number))
    made = list(pods)
    started = time.process_time()
    for pod in made:
        outcome = decides.schedule(pod, cluster)
        if not isinstance(outcome, Placed):
            raise SystemExit(outcome.message)
    return (time.process_time() - started) / len(made) * 1e6


def main(sizes: list[int]) -> None:
    print(f"{'nodes':>8}  {'µs/decision':>12}")
    for size in sizes:
        micros = microseconds_per_decision(size, (plain_pod(number) for number in range(2000)))
        print(f"{size:>8}  {micros:>12.1f}")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [100, 1000, 5000, 15000])
