"""upstream: TestCoreResourceEnqueue of test/integration/scheduler/queueing, pods that other pods keep away."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster import Cluster
from tests.integration.upstream.queueing.waking import (
    Row,
    comes_back,
    node_comes,
    node_goes,
    node_is_relabelled,
    node_is_tainted,
    pod_goes,
    pod_is_relabelled,
    pod_is_scheduled,
    rows,
)
from tests.integration.upstream.support import Object, node, pod
from tests.integration.upstream.written import apart, near, on, spread, term

pytestmark = pytest.mark.cluster

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
ONE = node("fake-node", {"node": "fake-node"})


def labelled(name: str, *keys: str, **spec: Any) -> Object:
    return pod(name, labels=dict.fromkeys(keys, "val"), **spec)


def avoiding(name: str, key: str, *labels: str, topology_key: str = "node", **spec: Any) -> Object:
    """A pod that stays away from pods with the label ``key``."""
    return labelled(name, *labels, affinity=apart(term(topology_key, key)), **spec)


def seeking(name: str, key: str, *labels: str, topology_key: str = "node", **affinity: Any) -> Object:
    """A pod that wants to be near to pods with the label ``key``."""
    return labelled(name, *labels, affinity={**near(term(topology_key, key)), **affinity})


@rows(
    "InterPodAffinity",
    {
        "node-is-created-and-turned-to-ready": Row(
            nodes=[ONE],
            placed=[avoiding("pod1", "anti", "anti", nodeName="fake-node")],
            pods=[avoiding("pod2", "anti", "anti")],
            changes=[
                node_comes(node("fake-node2", {"node": "fake-node2"}, taints=[NOT_READY])),
                node_is_tainted("fake-node2"),
            ],
            woken="pod2",
        ),
        "label-that-anti-affinity-matches-is-removed": Row(
            nodes=[ONE],
            placed=[labelled("pod1", "anti1", "anti2", nodeName="fake-node")],
            pods=[avoiding("pod2", "anti1", "anti1"), avoiding("pod3", "anti2", "anti2")],
            changes=[pod_is_relabelled("pod1", anti1=None)],
            woken="pod2",
        ),
        "pod-that-anti-affinity-matches-is-deleted": Row(
            nodes=[ONE],
            placed=[labelled(f"pod{n}", f"anti{n}", nodeName="fake-node") for n in (1, 2)],
            pods=[avoiding("pod3", "anti1", "anti1"), avoiding("pod4", "anti2", "anti2")],
            changes=[pod_goes("pod1")],
            woken="pod3",
        ),
        "pod-whose-anti-affinity-matches-is-deleted": Row(
            nodes=[ONE],
            placed=[avoiding(f"pod{n}", f"anti{n}", nodeName="fake-node") for n in (1, 2)],
            pods=[labelled("pod3", "anti1"), labelled("pod4", "anti2")],
            changes=[pod_goes("pod1")],
            woken="pod3",
        ),
        "label-that-affinity-matches-is-added": Row(
            nodes=[ONE],
            placed=[pod("pod1", nodeName="fake-node")],
            pods=[seeking("pod2", "aaa"), seeking("pod3", "bbb")],
            changes=[pod_is_relabelled("pod1", aaa="bbb")],
            woken="pod2",
        ),
        "node-with-the-topology-key-of-affinity-is-created": Row(
            nodes=[node("fake-node1", {"aaa": "fake-node"})],
            pods=[seeking("pod1", "bbb", topology_key="zone"), seeking("pod2", "ccc", topology_key="region")],
            changes=[node_comes(node("fake-node2", {"zone": "zone1"}))],
            woken="pod1",
        ),
        "topology-key-of-affinity-is-updated": Row(
            plugins="InterPodAffinity NodeAffinity",
            nodes=[
                node("fake-node", {"region": "region-1"}),
                node("fake-node2", {"region": "region-2", "group": "b"}),
            ],
            placed=[labelled("pod1", "affinity1", nodeName="fake-node")],
            pods=[
                seeking("pod2", "affinity1", "affinity1"),
                seeking("pod3", "affinity1", "affinity1", topology_key="other"),
                seeking("pod4", "affinity1", topology_key="region", **on("group in (b)")),
            ],
            changes=[node_is_relabelled("fake-node", node="fake-node", region="region-2")],
            woken="pod2 pod4",
        ),
        "topology-key-of-anti-affinity-is-updated": Row(
            nodes=[node("fake-node", {"node": "fake-node", "service": "service-a", "other": "fake-node"})],
            placed=[labelled("pod1", "anti1", nodeName="fake-node")],
            pods=[
                avoiding("pod2", "anti1", "anti1"),
                avoiding("pod3", "anti1", "anti1", topology_key="service"),
                avoiding("pod4", "anti1", "anti1", topology_key="other"),
            ],
            changes=[node_is_relabelled("fake-node", node=None, service="service-b", region="fake-node")],
            woken="pod2 pod3",
        ),
        "node-with-the-topology-key-of-anti-affinity-is-created": Row(
            nodes=[node("fake-node1", {"zone": "fake-node", "node": "fake-node"})],
            placed=[labelled("pod1", "anti1", nodeName="fake-node1")],
            pods=[avoiding("pod2", "anti1", topology_key="zone"), avoiding("pod3", "anti1")],
            changes=[node_comes(node("fake-node2", {"zone": "fake-node"}))],
            woken="pod2 pod3",
        ),
    },
)
async def test_core_resource_enqueue_by_inter_pod_affinity(server: Cluster, row: Row) -> None:
    await comes_back(server, row)


def evenly(name: str, topology_key: str, domains: int = 3, key: str = "key1", **spec: Any) -> Object:
    constraint = spread(1, topology_key, key, minDomains=domains)
    return labelled(name, key, topologySpreadConstraints=[constraint], **spec)


def spread_on(name: str, topology_key: str, where: str) -> Object:
    """A pod with a constraint of its own that has its node."""
    return labelled(name, "key1", topologySpreadConstraints=[spread(1, topology_key, "key1")], nodeName=where)


BY_NODE_AND_BY_ZONE = [node("fake-node1", {"node": "fake-node"}), node("fake-node2", {"zone": "fake-node"})]
ONE_PER_KEY = [labelled(f"pod{n}", f"key{n}", nodeName="fake-node") for n in (1, 2)]
OF_THREE = [evenly("pod3", "node"), evenly("pod4", "node", key="key2")]


@rows(
    "PodTopologySpread",
    {
        "pod-with-matching-label-is-scheduled": Row(
            nodes=[ONE],
            placed=ONE_PER_KEY,
            pods=OF_THREE,
            changes=[pod_is_scheduled(labelled("pod5", "key1", nodeName="fake-node"))],
            woken="pod3",
        ),
        "label-of-a-scheduled-pod-is-updated": Row(
            nodes=[ONE],
            placed=ONE_PER_KEY,
            pods=OF_THREE,
            changes=[pod_is_relabelled("pod1", key1=None, key3="val")],
            woken="pod3",
        ),
        "scheduled-pod-with-matching-label-is-deleted": Row(
            nodes=[ONE],
            placed=ONE_PER_KEY,
            pods=[evenly("pod3", "node", 2), evenly("pod4", "node", key="key2")],
            changes=[pod_goes("pod1")],
            woken="pod3",
        ),
        "node-with-topology-label-is-created": Row(
            nodes=BY_NODE_AND_BY_ZONE,
            placed=[labelled(f"pod{n}", "key1", nodeName=f"fake-node{n}") for n in (1, 2)],
            pods=[evenly("pod3", "node", 2), evenly("pod4", "zone", 2)],
            changes=[node_comes(node("fake-node3", {"node": "fake-node"}))],
            woken="pod3",
        ),
        "node-is-updated-to-have-the-topology-label": Row(
            nodes=[
                node(f"fake-node{n}", {"node": "fake-node", "region": "fake-node", "service": "service-a"})
                for n in (1, 2)
            ],
            placed=[
                spread_on("pod1", "node", "fake-node1"),
                spread_on("pod2", "zone", "fake-node2"),
                spread_on("pod3", "region", "fake-node2"),
                spread_on("pod4", "service", "fake-node2"),
            ],
            pods=[
                evenly(f"pod{n}", key) for n, key in enumerate(("node", "zone", "region", "other", "service"), start=5)
            ],
            changes=[node_is_relabelled("fake-node2", node=None, zone="fake-node", service="service-b")],
            woken="pod5 pod6 pod9",
        ),
        "node-with-a-topology-label-is-deleted": Row(
            nodes=BY_NODE_AND_BY_ZONE,
            placed=[spread_on("pod1", "node", "fake-node1"), spread_on("pod2", "zone", "fake-node2")],
            pods=[evenly("pod3", "node"), evenly("pod4", "zone")],
            changes=[node_goes("fake-node2")],
            woken="pod4",
        ),
        "taint-of-a-node-with-a-topology-label-is-updated": Row(
            nodes=[*BY_NODE_AND_BY_ZONE, node("fake-node3", {"zone": "fake-node"}, taints=[NOT_READY])],
            placed=[spread_on("pod1", "node", "fake-node1"), spread_on("pod2", "node", "fake-node2")],
            pods=[
                evenly("pod3", "node"),
                evenly("pod4", "zone", tolerations=[{"key": "aaa", "operator": "Exists"}]),
            ],
            changes=[node_is_tainted("fake-node3", {"key": "aaa", "value": "bbb", "effect": "NoSchedule"})],
            woken="pod4",
        ),
    },
)
async def test_core_resource_enqueue_by_pod_topology_spread(server: Cluster, row: Row) -> None:
    await comes_back(server, row)
