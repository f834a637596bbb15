"""upstream: TestCoreResourceEnqueue of test/integration/scheduler/queueing, pods that no node has room for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from devcluster import Cluster
from tests.integration.upstream.queueing.waking import (
    Change,
    Row,
    comes_back,
    node_comes,
    node_offers,
    pod_goes,
    pod_is_scaled_down,
    rows,
)
from tests.integration.upstream.support import Object, node, pod
from tests.integration.upstream.written import on

pytestmark = pytest.mark.cluster


def with_cpu(name: str, cpu: str) -> Object:
    return node(name, allocatable={"cpu": cpu})


TWO_CPUS = with_cpu("fake-node", "2")
OF_FOUR_OR_FIVE = [pod("pod1", {"cpu": "4"}), pod("pod2", {"cpu": "5"})]


@rows(
    "NodeResourcesFit",
    {
        "pod-is-scaled-down": Row(
            nodes=[TWO_CPUS],
            pods=[pod("pod1", {"cpu": "4"})],
            changes=[pod_is_scaled_down("pod1", cpu="2")],
            woken="pod1",
        ),
        "pod-is-deleted": Row(
            nodes=[TWO_CPUS],
            placed=[pod("pod1", {"cpu": "2"}, nodeName="fake-node")],
            pods=[pod("pod2", {"cpu": "2"})],
            changes=[pod_goes("pod1")],
            woken="pod2",
        ),
        "node-is-created": Row(
            nodes=[TWO_CPUS],
            pods=OF_FOUR_OR_FIVE,
            changes=[node_comes(with_cpu("fake-node2", "4"))],
            woken="pod1",
        ),
        "node-is-updated": Row(
            nodes=[TWO_CPUS],
            pods=OF_FOUR_OR_FIVE,
            changes=[node_offers("fake-node", {"cpu": "4"})],
            woken="pod1",
        ),
    },
)
async def test_core_resource_enqueue_by_resources(server: Cluster, row: Row) -> None:
    await comes_back(server, row)


GPU = "example.com/gpu"
NO_GPU_ANY_MORE = node_offers("fake-node1", {"memory": "4000", GPU: None})
MORE_MEMORY = node_offers("fake-node1", {"memory": "4000"})


def with_limits(requests: Mapping[str, str]) -> Object:
    new_pod = pod("pod1", requests)
    new_pod["spec"]["containers"][0]["resources"]["limits"] = dict(requests)
    return new_pod


@pytest.mark.parametrize(
    ("offered", "requests", "change", "gate"),
    [
        pytest.param({GPU: "1"}, {"cpu": "5", GPU: "1"}, NO_GPU_ANY_MORE, False, id="not-with-a-node-that-has-it"),
        pytest.param(
            {GPU: "1"}, {"cpu": "5", GPU: "1"}, NO_GPU_ANY_MORE, True, id="not-with-a-node-that-has-it-and-the-gate"
        ),
        pytest.param({}, {GPU: "1"}, MORE_MEMORY, False, id="not-with-a-node-that-does-not-have-it"),
    ],
)
async def test_core_resource_enqueue_by_an_extended_resource(
    server: Cluster, offered: dict[str, str], requests: dict[str, str], change: Change, gate: bool
) -> None:
    row = Row(
        plugins="NodeResourcesFit DynamicResources",
        rejecting="NodeResourcesFit",
        nodes=[node("fake-node1", allocatable={"cpu": "4", **offered})],
        pods=[with_limits(requests)],
        changes=[change],
        gates={"DRAExtendedResource": gate},
    )
    await comes_back(server, row)


ANOTHER_GROUP = [with_cpu("fake-node1", "4"), node("fake-node2", {"group": "b"}, allocatable={"cpu": "2"})]
WANTS_B = {"affinity": on("group in (b)")}
FEW_PODS = [
    node("fake-node1", allocatable={"pods": "2"}),
    node("fake-node2", {"group": "b"}, allocatable={"pods": "1"}),
]


@rows(
    "NodeResourcesFit NodeAffinity",
    {
        "not-without-increase-in-the-requested-resources": Row(
            nodes=ANOTHER_GROUP,
            pods=[pod("pod1", {"cpu": "4"}, **WANTS_B)],
            changes=[node_offers("fake-node1", {"memory": "4000"})],
        ),
        "increase-in-the-requested-resources": Row(
            nodes=ANOTHER_GROUP,
            pods=[pod("pod1", {"cpu": "4"}, **WANTS_B)],
            changes=[node_offers("fake-node1", {"cpu": "5"})],
            woken="pod1",
        ),
        "increase-in-the-allowed-pods-number": Row(
            nodes=FEW_PODS,
            placed=[pod("pod1", nodeName="fake-node2", **WANTS_B)],
            pods=[pod("pod2", **WANTS_B)],
            changes=[node_offers("fake-node1", {"pods": "3"})],
            woken="pod2",
        ),
    },
)
async def test_core_resource_enqueue_by_resources_of_another_node(server: Cluster, row: Row) -> None:
    await comes_back(server, row)
