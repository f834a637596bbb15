"""upstream: TestCoreResourceEnqueue of test/integration/scheduler/queueing, pods that nodes keep away."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster import Cluster
from scheduler_runtime.plugins.nodedeclaredfeatures import NodeDeclaredFeatures
from tests.integration.upstream.queueing.waking import (
    Change,
    Row,
    comes_back,
    node_comes,
    node_declares,
    node_is_cordoned,
    node_is_relabelled,
    node_is_tainted,
    node_offers,
    pod_goes,
    pod_is_relabelled,
    pod_tolerates,
    pod_uses,
    rows,
)
from tests.integration.upstream.support import Object, node, pod
from tests.integration.upstream.written import on

pytestmark = pytest.mark.cluster


def taint(key: str) -> Object:
    return {"key": key, "effect": "NoSchedule"}


def tolerating(name: str, *keys: str, cpu: str = "") -> Object:
    requests = {"cpu": cpu} if cpu else {}
    return pod(name, requests, tolerations=[{"key": key, "operator": "Exists"} for key in keys])


NOT_READY = taint("node.kubernetes.io/not-ready")
NOT_READY_NODE = node("fake-node", taints=[NOT_READY])


@rows(
    "TaintToleration",
    {
        "not-without-a-required-toleration": Row(
            plugins="TaintToleration NodeResourcesFit",
            nodes=[node("fake-node", allocatable={"cpu": "2"}, taints=[NOT_READY])],
            pods=[pod("pod1", {"cpu": "4"}), tolerating("pod2", NOT_READY["key"], cpu="4")],
            changes=[node_offers("fake-node", {"cpu": "4"})],
            woken="pod2",
        ),
        "pod-updated-with-toleration": Row(
            nodes=[node("fake-node", taints=[taint("taint-key")])],
            pods=[pod("pod1"), pod("pod2")],
            changes=[pod_tolerates("pod1", "taint-key")],
            woken="pod1",
        ),
        "taint-is-updated": Row(
            nodes=[NOT_READY_NODE],
            pods=[tolerating("pod1", "taint-key"), tolerating("pod2", "taint-key2"), pod("pod3")],
            changes=[node_is_tainted("fake-node", taint("taint-key"))],
            woken="pod1",
        ),
        "node-with-a-tolerated-taint-is-added": Row(
            nodes=[NOT_READY_NODE],
            pods=[tolerating("pod1", "taint-key"), pod("pod2")],
            changes=[node_comes(node("fake-node2", taints=[taint("taint-key")]))],
            woken="pod1",
        ),
        "not-when-the-label-of-a-pod-is-updated": Row(
            nodes=[NOT_READY_NODE],
            pods=[pod("pod1")],
            changes=[pod_is_relabelled("pod1", key="val")],
        ),
    },
)
async def test_core_resource_enqueue_by_taint_toleration(server: Cluster, row: Row) -> None:
    await comes_back(server, row)


WANTS_A, WANTS_B, WANTS_C = (on(f"group in ({group})") for group in "abc")
OF_B_OR_C = [pod("pod1", affinity=WANTS_B), pod("pod2", affinity=WANTS_C)]


@rows(
    "NodeAffinity NodeResourcesFit",
    {
        "label-is-updated": Row(
            plugins="NodeAffinity",
            nodes=[node("fake-node1", {"group": "a"})],
            pods=OF_B_OR_C,
            changes=[node_is_relabelled("fake-node1", group="b")],
            woken="pod1",
        ),
        "not-when-an-updated-node-matched-already": Row(
            nodes=[node("node1", {"group": "a"}, allocatable={"cpu": "2"}), node("node2", {"group": "b"})],
            pods=[pod("pod1", {"cpu": "4"}, affinity=WANTS_A)],
            changes=[node_is_relabelled("node1", node="fake-node")],
        ),
        "node-is-added": Row(
            plugins="NodeAffinity",
            nodes=[node("fake-node1", {"group": "a"})],
            pods=OF_B_OR_C,
            changes=[node_comes(node("fake-node2", {"group": "b"}))],
            woken="pod1",
        ),
        "rejected-by-pre-filter-and-filter": Row(
            nodes=[
                node("fake-node", {"node": "fake-node"}, allocatable={"cpu": "2"}),
                node("fake-node2", {"node": "fake-node2", "zone": "zone1"}, allocatable={"cpu": "2"}),
            ],
            pods=[pod("pod1", {"cpu": "4"}, affinity=on("", "metadata.name in (fake-node)"))],
            changes=[node_offers("fake-node", {"cpu": "4"})],
            woken="pod1",
        ),
    },
)
async def test_core_resource_enqueue_by_node_affinity(server: Cluster, row: Row) -> None:
    await comes_back(server, row)


CORDONED = node("fake-node", unschedulable=True)


@pytest.mark.parametrize(
    ("change", "woken"),
    [
        pytest.param(node_is_cordoned("fake-node", on=False), "pod1", id="node-is-turned-to-ready"),
        pytest.param(node_comes(node("fake-node2")), "pod1", id="node-is-created"),
        pytest.param(node_comes(node("fake-node2", unschedulable=True)), "", id="not-when-an-unschedulable-one-is"),
    ],
)
async def test_core_resource_enqueue_by_node_unschedulable(server: Cluster, change: Change, woken: str) -> None:
    row = Row(plugins="NodeUnschedulable", nodes=[CORDONED], pods=[pod("pod1")], changes=[change], woken=woken)
    await comes_back(server, row)


def binding(name: str, port: int, **spec: Any) -> Object:
    return pod(name, ports=[{"containerPort": 8080, "hostPort": port}], **spec)


@rows(
    "NodePorts",
    {
        "pod-with-the-port-is-deleted": Row(
            nodes=[node("fake-node")],
            placed=[binding("pod1", 8080, nodeName="fake-node"), binding("pod2", 8081, nodeName="fake-node")],
            pods=[binding("pod3", 8080), binding("pod4", 8081)],
            changes=[pod_goes("pod1")],
            woken="pod3",
        ),
        "node-is-created": Row(
            nodes=[node("fake-node")],
            placed=[binding("pod1", 8080, nodeName="fake-node")],
            pods=[binding("pod2", 8080)],
            changes=[node_comes(node("fake-node2"))],
            woken="pod2",
        ),
    },
)
async def test_core_resource_enqueue_by_node_ports(server: Cluster, row: Row) -> None:
    await comes_back(server, row)


class WithFeatureA(NodeDeclaredFeatures):
    """Sees that pods need FeatureA by their image: of the real features none is needed no more after an update."""

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.needs = [("FeatureA", lambda spec: spec.containers[0].image == "feature-a")]


@pytest.mark.parametrize(
    ("change", "woken"),
    [
        pytest.param(node_declares("node-1", "FeatureA"), "pod1", id="node-declares-it"),
        pytest.param(node_is_relabelled("node-1", foo="bar"), "", id="not-when-the-features-stay-the-same"),
        pytest.param(pod_uses("pod1", "pause"), "pod1", id="pod-does-without"),
        pytest.param(pod_is_relabelled("pod1", foo="bar"), "", id="not-when-the-pod-needs-it-still"),
    ],
)
async def test_core_resource_enqueue_by_node_declared_features(server: Cluster, change: Change, woken: str) -> None:
    needing = pod("pod1")
    needing["spec"]["containers"][0]["image"] = "feature-a"
    row = Row(plugins="NodeDeclaredFeatures", nodes=[node("node-1")], pods=[needing], changes=[change], woken=woken)
    await comes_back(server, row, WithFeatureA)
