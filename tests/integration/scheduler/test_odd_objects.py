"""Pods and nodes that once ended or stopped every scheduler: the others are scheduled, these as by kube-scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from devcluster import Cluster
from tests.integration.scheduler.support import ApiView, api, document, lease_of, pod, scheduler

pytestmark = pytest.mark.cluster

LEVELS = 9_993
"""As deep as the API server stores managedFields."""


@contextmanager
def deep_pod(cluster: Cluster, directory: Path, name: str) -> Iterator[None]:
    """A pod whose managedFields are as deep as can be, which no JSON library writes; deleted by a program in Go."""
    manager = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": "DEEP"}
    made = pod(name)
    made["metadata"]["managedFields"] = [manager]
    file = directory / f"{name}.json"
    file.write_text(json.dumps(made).replace('"DEEP"', '{"f:a":' * LEVELS + "{}" + "}" * LEVELS))
    cluster.kubectl("create", "--raw", "/api/v1/namespaces/default/pods", "-f", str(file))
    try:
        yield
    finally:
        cluster.kubectl("delete", "pod", name, "--grace-period=0", "--force")


def nodes_of_pods(cluster: Cluster) -> dict[str, str]:
    """The node of each pod, read by a program that does not mind the depth of anything."""
    columns = "custom-columns=N:.metadata.name,T:.spec.nodeName"
    lines = cluster.kubectl("get", "pods", "-o", columns, "--no-headers").stdout.splitlines()
    return {name: node for name, node in map(str.split, lines) if node != "<none>"}


async def test_pods_with_deep_managed_fields_are_scheduled_with_the_others(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        # One is there before the scheduler is, and comes in its first list; the other comes in its watch.
        with (
            deep_pod(cluster, tmp_path, "deep-first"),
            scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path))) as process,
        ):
            await there.create_pods(2, "before")
            await there.until(lambda: len(nodes_of_pods(cluster)) == 3, 60)
            with deep_pod(cluster, tmp_path, "deep-second"):
                await there.create_pods(2, "after")
                await there.until(lambda: len(nodes_of_pods(cluster)) == 6, 30)
                assert process.metric("berth_objects_set_aside") == 0
            assert process.process.poll() is None


async def set_allocatable(there: ApiView, **allocatable: str) -> None:
    body = {"status": {"allocatable": allocatable}}
    await there.client.request(
        "PATCH", "/api/v1/nodes/odd/status", body=body, content_type="application/merge-patch+json"
    )


async def test_a_node_with_amounts_beyond_64_bits_offers_what_go_reads_and_harms_nobody(
    cluster: Cluster, tmp_path: Path
) -> None:
    """As kube-scheduler beside it said: it too has no place among 1e25, and takes the node once it offers 5."""
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "odd", "labels": {"odd": "yes"}}}
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path))) as process:
            await there.until(lambda: process.is_scheduling, 30)
            try:
                await there.client.request("POST", "/api/v1/nodes", body=node)
                await set_allocatable(there, pods="1e25", cpu="4", memory="9E")
                await there.create_pods(1, "there", nodeSelector={"odd": "yes"}, tolerations=[{"operator": "Exists"}])
                await there.create_pods(3, "elsewhere")
                await there.all_bound(3)
                condition = await there.eventually(lambda: there.condition("there-0"), 30)
                assert "1 Too many pods" in condition["message"]
                await set_allocatable(there, pods="5")
                await there.all_bound(4)
                assert process.process.poll() is None
                assert process.metric("berth_objects_set_aside") == 0
            finally:
                await there.client.request("DELETE", "/api/v1/nodes/odd")


def spread(number: int) -> dict[str, Any]:
    """A pod's spec with so many constraints that say nothing."""
    constraint = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    return {"topologySpreadConstraints": [{**constraint, "topologyKey": f"l{index}"} for index in range(number)]}


def near(number: int) -> dict[str, Any]:
    """A pod's spec with so many required terms by labels that no node has."""
    terms = [
        {"topologyKey": f"l{index}", "labelSelector": {"matchLabels": {"app": f"a{index}"}}} for index in range(number)
    ]
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def starting(containers: int, resources: int) -> dict[str, Any]:
    """A pod's spec with a sidecar that has so many resources, and as many containers that start beside it."""
    amounts = {f"example.com/r{index}": "1" for index in range(resources)}
    sidecar = {"name": "sidecar", "image": "none", "restartPolicy": "Always", "resources": {"limits": amounts}}
    return {"initContainers": [sidecar, *({"name": f"c{index}", "image": "none"} for index in range(containers))]}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(spread(8000), id="8,000 spread constraints"),
        pytest.param(near(4000), id="4,000 affinity terms"),
        pytest.param(starting(5000, 8000), id="5,000 containers beside 8,000 resources"),
    ],
)
async def test_a_pod_with_lists_of_thousands_delays_no_other(
    cluster: Cluster, tmp_path: Path, spec: dict[str, Any]
) -> None:
    """Each of them stopped a scheduler for 13 seconds to minutes, which ended with its restart."""
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path))) as process:
            await there.create_pods(1, "before")
            await there.all_bound(1)
            cpu, memory = process.metric("process_cpu_seconds_total"), process.metric("process_resident_memory_bytes")
            await there.create_pods(1, "long", **spec)
            await there.bind_others(5, 30)

            async def was_tried() -> bool:
                return await there.is_bound("long-0") or bool(await there.condition("long-0"))

            await there.eventually(was_tried, 30)
            assert process.metric("process_cpu_seconds_total") - cpu < 5
            assert process.metric("process_resident_memory_bytes") - memory < 150 * 2**20
            assert process.metric("berth_objects_set_aside") == 0
