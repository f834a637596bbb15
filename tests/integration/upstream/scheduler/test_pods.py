"""upstream: test/integration/scheduler/scheduler_test.go, pods that are on a node already."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from scheduler_runtime.app.scheduler import Scheduler
from tests.integration.upstream.support import Object, node, pod, world
from tests.integration.upstream.written import on

pytestmark = pytest.mark.cluster

REQUESTS, ROOM = {"cpu": "200m", "memory": "200"}, {"cpu": "500m", "memory": "500"}
OTHERS = ("foo-scheduler", "bar-scheduler")
ELSEWHERE = on("", "metadata.name in (invalid-node)")


def counted_pods(process: Scheduler) -> int:
    """How many pods the scheduler counts on nodes."""
    return sum(process.cache.get(pod.uid) is not None for pod in process.pods.objects.values())


@pytest.mark.parametrize(
    ("existing", "spec"),
    [
        pytest.param(OTHERS, {}, id="node-occupied-by-pods-of-other-schedulers"),
        pytest.param((), {"affinity": ELSEWHERE}, id="affinity-to-a-node-that-does-not-exist"),
    ],
)
async def test_scheduler_informers(server: Cluster, existing: tuple[str, ...], spec: Object) -> None:
    async with world(server) as there:
        await there.create_nodes(node("node-1", allocatable=ROOM))
        async with there.scheduling() as process:
            for number, other in enumerate(existing, 1):
                await there.create_pod(pod(f"pod{number}", REQUESTS, nodeName="node-1", schedulerName=other))
            await there.until(lambda: counted_pods(process) == len(existing))
            await there.create_pod(pod("unschedulable-pod", REQUESTS, **spec))
            await there.unschedulable("unschedulable-pod")


CONTAINER, INIT, SIDECAR = "container", "non-restartable initContainer", "restartable initContainer"


def serving(name: str, by: str, host_port: int) -> Object:
    """A pod of which one container has a port, on its node too unless ``host_port`` is 0."""
    port = {"containerPort": 8001, "protocol": "TCP"} | ({"hostPort": host_port} if host_port else {})
    if by == CONTAINER:
        return pod(name, ports=[port])
    restarts = {"restartPolicy": "Always"} if by == SIDECAR else {}
    return pod(name, initContainers=[{"name": "init", "image": "pause", "ports": [port], **restarts}])


@pytest.mark.parametrize(
    ("first", "second", "ports", "fits"),
    [
        pytest.param(first, second, ports, fits, id=f"{first}-{second}-{kind}")
        for kind, ports in (("same-non-host", (0, 0)), ("same-host", (8001, 8001)), ("different-host", (8001, 8002)))
        for first, second, fits in (
            (CONTAINER, CONTAINER, kind != "same-host"),
            (INIT, CONTAINER, True),
            (SIDECAR, CONTAINER, kind != "same-host"),
            (CONTAINER, INIT, True),
            (CONTAINER, SIDECAR, kind != "same-host"),
        )
    ],
)
async def test_host_ports(server: Cluster, first: str, second: str, ports: tuple[int, int], fits: bool) -> None:
    async with world(server) as there:
        await there.create_nodes(node("conflicting-host-ports-node"))
        async with there.scheduling():
            await there.create_pod(serving("p1", first, ports[0]))
            await there.scheduled("p1")
            await there.create_pod(serving("p2", second, ports[1]))
            await (there.scheduled("p2") if fits else there.unschedulable("p2"))
