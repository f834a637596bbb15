"""upstream: test/integration/scheduler/scoring, pods that would rather be spread."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from devcluster import Cluster
from tests.integration.upstream.support import Object, World, node, pod, profile_scoring_by, world
from tests.integration.upstream.written import spread

pytestmark = pytest.mark.cluster

FOO, FOO_BAR = {"foo": ""}, {"foo": "", "bar": ""}
TAINTED: Object = {"taints": [{"key": "k1", "value": "v1", "effect": "NoSchedule"}]}
AVOIDED: Object = {"taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "PreferNoSchedule"}]}
IGNORE: Object = {"nodeAffinityPolicy": "Ignore"}
HONOR_TAINTS: Object = {"nodeTaintsPolicy": "Honor"}


def zoned(number: int, zone: int, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    return node(f"node-{number}", {"node": f"node-{number}", "zone": f"zone-{zone}", **(labels or {})}, **spec)


FOUR = [zoned(0, 0, **TAINTED), zoned(1, 0), zoned(2, 1), zoned(3, 1)]
SELECTED = [zoned(1, 1, FOO), zoned(2, 1, FOO, **AVOIDED), zoned(3, 2, FOO), zoned(4, 2)]


def soft(max_skew: int, key: str, selector: str = "foo", **more: Any) -> Object:
    return spread(max_skew, key, selector, hard=False, **more)


def wanting(*constraints: Object, labels: dict[str, str] = FOO, **spec: Any) -> Object:
    return pod("p", labels=labels, topologySpreadConstraints=list(constraints), **spec)


def on_nodes(*numbers: int) -> list[Object]:
    """A pod with the label ``foo`` on each node of these numbers, and with ``bar`` too where the number is negative."""
    labels = {True: FOO_BAR, False: FOO}
    return [
        pod(f"p{abs(number)}-{n}", labels=labels[number < 0], nodeName=f"node-{abs(number)}")
        for n, number in enumerate(numbers)
    ]


ONE_TWO_THREE = on_nodes(1, 2, 2, 3, 3, 3)
WITH_BAR = on_nodes(-1, 2, 2, -3, -3, 3)
INCLUSION = on_nodes(1, 2, 2, 4)


@pytest.mark.parametrize(
    ("pod_", "others", "nodes", "expected"),
    [
        pytest.param(wanting(soft(1, "node")), ONE_TWO_THREE, FOUR, "node-1", id="~0~/1/2/3-max-skew-1"),
        pytest.param(
            wanting(soft(1, "node"), spread(1, "zone")),
            on_nodes(0, 0, 0, 0, 2, 3, 3),
            FOUR,
            "node-2",
            id="combined-with-a-hard-constraint",
        ),
        pytest.param(
            wanting(soft(1, "zone"), soft(1, "node"), nodeSelector=FOO),
            INCLUSION,
            SELECTED,
            "node-3",
            id="two-inclusion-constraints-honor/ignore",
        ),
        pytest.param(
            wanting(soft(1, "zone", **IGNORE), soft(1, "node", **HONOR_TAINTS), nodeSelector=FOO),
            INCLUSION,
            SELECTED,
            "node-3",
            id="two-inclusion-constraints-ignore/honor",
        ),
        pytest.param(
            wanting(soft(1, "node", matchLabelKeys=["bar"]), labels=FOO_BAR),
            WITH_BAR,
            FOUR,
            "node-2",
            id="matchLabelKeys-with-a-selector",
        ),
        pytest.param(
            wanting(soft(1, "node", "", matchLabelKeys=["foo"])),
            ONE_TWO_THREE,
            FOUR,
            "node-1",
            id="matchLabelKeys-without-a-selector",
        ),
    ],
)
async def test_pod_topology_spread_scoring(
    server: Cluster, pod_: Object, others: list[Object], nodes: list[Object], expected: str
) -> None:
    async with world(server) as there:
        assert await scheduled_node(there, pod_, others, nodes) == expected


@pytest.mark.parametrize("expected", [pytest.param("node-1", id="matchLabelKeys-ignored-without-its-gate")])
async def test_pod_topology_spread_scoring_without_a_gate(
    other_server: Cluster, other_gates: dict[str, bool], expected: str
) -> None:
    """One more row of upstream's table."""
    spreading_pod = wanting(soft(1, "node", matchLabelKeys=["bar"]), labels=FOO_BAR)
    async with world(other_server) as there:
        assert await scheduled_node(there, spreading_pod, WITH_BAR, FOUR, feature_gates=other_gates) == expected


async def scheduled_node(there: World, pod_: Object, others: list[Object], nodes: list[Object], **how: Any) -> str:
    await there.create_nodes(*nodes)
    await there.create_pods(*others)
    profile = profile_scoring_by("PodTopologySpread", "PodTopologySpread")
    async with there.scheduling(profiles=[profile], **how):
        await there.create_pod(pod_)
        return await there.scheduled("p")


@pytest.mark.parametrize("count", [pytest.param(count, id=f"{count}-pods") for count in (3, 12, 27)])
async def test_default_pod_topology_spread_scoring(server: Cluster, count: int) -> None:
    async with world(server) as there:
        zones = {f"node-{number}": f"zone-{number % 3}" for number in range(300)}
        await there.create_nodes(*(node(name, hosted(name, zone)) for name, zone in zones.items()))
        selector = {"service": "test-service"}
        service = {"metadata": {"name": "test-service"}, "spec": {"selector": selector, "ports": [{"port": 80}]}}
        await there.create(f"/api/v1/namespaces/{there.namespace}/services", service)
        async with there.scheduling(profiles=[profile_scoring_by("PodTopologySpread", "PodTopologySpread")]):
            await there.create_pods(*(pod(f"p-{number}", labels=selector) for number in range(count)))
            pods_by_zone = Counter([zones[await there.scheduled(f"p-{number}")] for number in range(count)])
        assert set(pods_by_zone.values()) == {count // 3}


def hosted(name: str, zone: str) -> dict[str, str]:
    return {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
