"""upstream: test/integration/scheduler/scoring, what a node has."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from tests.integration.upstream.support import Object, node, nodes, pod, profile_scoring_by, world
from tests.integration.upstream.written import PREFERRED, requirements

pytestmark = pytest.mark.cluster

GPU = "example.com/gpu"
ROOM = {"cpu": "8", "memory": "16G", GPU: "4"}
REQUESTS = {"cpu": "2", "memory": "4G", GPU: "1"}
RESOURCES = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}, {"name": GPU, "weight": 2}]


def asking(name: str, **spec: object) -> Object:
    """A pod whose requests are its limits, as extended resources need it."""
    new_pod = pod(name, REQUESTS, **spec)
    new_pod["spec"]["containers"][0]["resources"]["limits"] = REQUESTS
    return new_pod


def sidecar() -> Object:
    resources = {"requests": {"cpu": "2", "memory": "2G"}}
    return {"name": "sidecar", "image": "pause", "restartPolicy": "Always", "resources": resources}


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param("LeastAllocated", "node-2", id="least-allocated-with-sidecars"),
        pytest.param("MostAllocated", "node-1", id="most-allocated-with-sidecars"),
    ],
)
async def test_node_resources_scoring(server: Cluster, strategy: str, expected: str) -> None:
    async with world(server) as there:
        await there.create_nodes(*(node(name, allocatable=ROOM) for name in ("node-1", "node-2")))
        await there.create_pod(asking("existing-pod-1", nodeName="node-1", initContainers=[sidecar()]))
        await there.create_pod(asking("existing-pod-2", nodeName="node-2"))
        args = {"scoringStrategy": {"type": strategy, "resources": RESOURCES}}
        profile = {"schedulerName": "default-scheduler", "pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}
        async with there.scheduling(profiles=[profile]):
            await there.create_pod(asking("pod"))
            assert await there.scheduled("pod") == expected


async def test_node_affinity_scoring(server: Cluster) -> None:
    async with world(server) as there:
        labels = {"kubernetes.io/node-topologyKey": "topologyvalue"}
        await there.create_nodes(*nodes(4, "testnode"), node("testnode-4", labels))
        preference = {"matchExpressions": requirements("kubernetes.io/node-topologyKey in (topologyvalue)")}
        affinity = {"nodeAffinity": {PREFERRED: [{"weight": 20, "preference": preference}]}}
        async with there.scheduling(profiles=[profile_scoring_by("NodeAffinity", "NodeAffinity")]):
            await there.create_pod(pod("pod-with-node-affinity", affinity=affinity))
            assert await there.scheduled("pod-with-node-affinity") == "testnode-4"


async def test_image_locality_scoring(server: Cluster) -> None:
    async with world(server) as there:
        image = {"names": ["fake-large-image:v1"], "sizeBytes": 3000 * 1024 * 1024}
        await there.create_nodes(*nodes(10, "testnode"), node("testnode-large-image", status={"images": [image]}))
        using = pod("pod-using-large-image")
        using["spec"]["containers"][0]["image"] = "fake-large-image:v1"
        async with there.scheduling(profiles=[profile_scoring_by("ImageLocality")]):
            await there.create_pod(using)
            assert await there.scheduled("pod-using-large-image") == "testnode-large-image"
