"""upstream: test/integration/scheduler/filters, pods that must be spread."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster import Cluster
from tests.integration.upstream.support import Object, World, node, pod, world
from tests.integration.upstream.written import on, spread

pytestmark = pytest.mark.cluster

IGNORE: Object = {"nodeAffinityPolicy": "Ignore"}
HONOR_TAINTS: Object = {"nodeTaintsPolicy": "Honor"}
CORDONED = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
FOO, FOO_BAR = {"foo": ""}, {"foo": "", "bar": ""}
NOT_NODE_0 = {"affinity": on("node notin (node-0)")}
"""So that three nodes are left."""


def zoned(number: int, zone: int, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    return node(f"node-{number}", {"node": f"node-{number}", "zone": f"zone-{zone}", **(labels or {})}, **spec)


FOUR = [zoned(0, 0), zoned(1, 0), zoned(2, 1), zoned(3, 1)]
AFFINE = [zoned(1, 1, FOO), zoned(2, 1, FOO), zoned(3, 2), zoned(4, 2, FOO)]
TAINTED = [zoned(1, 1, FOO), zoned(2, 1, FOO), zoned(3, 2, taints=CORDONED), zoned(4, 2, FOO)]
AFFINE_TAINTED = [zoned(1, 1, FOO), zoned(2, 1, FOO, taints=CORDONED), zoned(3, 2), zoned(4, 2, FOO)]


def wanting(*constraints: Object, labels: dict[str, str] = FOO, **spec: Any) -> Object:
    return pod("p", labels=labels, topologySpreadConstraints=list(constraints), **spec)


def on_nodes(*numbers: int) -> list[Object]:
    """A pod with the label ``foo`` on each of the nodes with these numbers, which may repeat."""
    spec = {"labels": FOO, "terminationGracePeriodSeconds": 0}
    return [pod(f"p{number}-{n}", **spec, nodeName=f"node-{number}") for n, number in enumerate(numbers)]


def with_bar_on_the_last(*numbers: int) -> list[Object]:
    *others, last = on_nodes(*numbers)
    return [*others, {**last, "metadata": {**last["metadata"], "labels": FOO_BAR}}]


ONE_A_ZONE, ONE_A_NODE = spread(1, "zone"), spread(1, "node")


@pytest.mark.parametrize(
    ("pod_", "others", "nodes", "candidates"),
    [
        pytest.param(wanting(ONE_A_NODE), on_nodes(0, 1, 3), FOUR, "2", id="1/1/0/1-max-skew-1"),
        pytest.param(wanting(spread(2, "node")), on_nodes(0, 0, 3), FOUR, "123", id="2/0/0/1-max-skew-2"),
        pytest.param(
            wanting(ONE_A_NODE, affinity=on("zone in (zone-0)")), on_nodes(0, 3), FOUR, "1", id="required-on-zone0"
        ),
        pytest.param(wanting(ONE_A_ZONE, ONE_A_NODE), on_nodes(0, 1, 3, 3), FOUR, "2", id="two-constraints"),
        pytest.param(
            wanting(ONE_A_ZONE, ONE_A_NODE, **NOT_NODE_0), on_nodes(1, 1, 2, 2, 3), FOUR, "", id="no-node-fits"
        ),
        pytest.param(
            wanting(ONE_A_ZONE, ONE_A_NODE, **NOT_NODE_0, priority=100),
            on_nodes(1, 1, 2, 2, 3),
            FOUR,
            "123",
            id="high-priority-pod-can-preempt",
        ),
        pytest.param(
            wanting(spread(2, "node", minDomains=4), **NOT_NODE_0),
            on_nodes(1, 1, 2, 2, 3),
            FOUR,
            "3",
            id="nodes-2/2/1-fewer-than-minDomains",
        ),
        pytest.param(
            wanting(spread(2, "node", minDomains=2), **NOT_NODE_0),
            on_nodes(1, 1, 2, 2, 3),
            FOUR,
            "123",
            id="nodes-2/2/1-more-than-minDomains",
        ),
        pytest.param(
            wanting(spread(2, "zone", minDomains=3)),
            on_nodes(0, 1, 2),
            FOUR,
            "23",
            id="zones-2/1-fewer-than-minDomains",
        ),
        pytest.param(
            wanting(spread(2, "zone", minDomains=1)),
            on_nodes(1, 2, 3),
            FOUR,
            "0123",
            id="zones-2/1-more-than-minDomains",
        ),
        pytest.param(
            wanting(ONE_A_ZONE, nodeSelector=FOO), on_nodes(1, 2, 3, 4), AFFINE, "4", id="NodeAffinityPolicy-honored"
        ),
        pytest.param(
            wanting(spread(1, "zone", **IGNORE), affinity=on("foo in ()")),
            on_nodes(1, 3, 4),
            AFFINE,
            "12",
            id="NodeAffinityPolicy-ignored",
        ),
        pytest.param(
            wanting(spread(1, "zone", **HONOR_TAINTS)),
            on_nodes(1, 2, 3, 4),
            TAINTED,
            "4",
            id="NodeTaintsPolicy-honored",
        ),
        pytest.param(wanting(ONE_A_ZONE), on_nodes(1, 2, 3, 4), TAINTED, "124", id="NodeTaintsPolicy-ignored"),
        pytest.param(
            wanting(ONE_A_ZONE, ONE_A_NODE, nodeSelector=FOO),
            on_nodes(1, 2, 3, 4),
            AFFINE_TAINTED,
            "4",
            id="two-inclusion-constraints-honor/ignore",
        ),
        pytest.param(
            wanting(spread(1, "zone", **IGNORE), spread(1, "node", **HONOR_TAINTS), nodeSelector=FOO),
            on_nodes(1, 2, 3, 4),
            AFFINE_TAINTED,
            "14",
            id="two-inclusion-constraints-ignore/honor",
        ),
        pytest.param(
            wanting(spread(1, "zone", matchLabelKeys=["bar"]), labels=FOO_BAR),
            with_bar_on_the_last(0, 1, 2),
            FOUR,
            "01",
            id="matchLabelKeys-with-a-selector",
        ),
        pytest.param(
            wanting(spread(1, "zone", "", matchLabelKeys=["foo"])),
            on_nodes(0, 1, 2),
            FOUR,
            "23",
            id="matchLabelKeys-without-a-selector",
        ),
    ],
)
async def test_pod_topology_spread_filter(
    server: Cluster, pod_: Object, others: list[Object], nodes: list[Object], candidates: str
) -> None:
    async with world(server) as there:
        await decides(there, pod_, others, nodes, candidates)


@pytest.mark.parametrize("candidates", [pytest.param("23", id="matchLabelKeys-ignored-without-its-gate")])
async def test_pod_topology_spread_filter_without_a_gate(
    other_server: Cluster, other_gates: dict[str, bool], candidates: str
) -> None:
    """One more row of upstream's table."""
    spreading_pod = wanting(spread(1, "zone", matchLabelKeys=["bar"]), labels=FOO_BAR)
    async with world(other_server) as there:
        await decides(there, spreading_pod, with_bar_on_the_last(0, 1, 2), FOUR, candidates, feature_gates=other_gates)


async def decides(
    there: World, pod_: Object, others: list[Object], nodes: list[Object], candidates: str, **how: Any
) -> None:
    await there.create_nodes(*nodes)
    await there.create_pods(*others)
    async with there.scheduling(**how):
        await there.create_pod(pod_)
        if candidates:
            assert await there.scheduled("p") in {f"node-{number}" for number in candidates}
        else:
            await there.unschedulable("p")
