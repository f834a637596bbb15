"""upstream: test/integration/scheduler/filters, a pod that fits nowhere and then does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from devcluster import Cluster
from tests.integration.upstream.support import NODES, Object, World, node, pod, world
from tests.integration.upstream.written import near, requirements, term

pytestmark = pytest.mark.cluster

Act = Callable[[World], Awaitable[object]]
YES = {"pod-with-affinity": "true"}
NEAR_IT = {"affinity": near(term("region", YES))}


async def nothing(there: World) -> None:
    """Begin with an empty cluster."""


async def a_node_is_added(there: World) -> None:
    await there.create_nodes(node("node-added"))


async def a_tainted_node(there: World) -> None:
    taint = {"key": "test", "value": "test", "effect": "NoSchedule"}
    await there.create_nodes(node("node-tainted", taints=[taint]))


async def its_taint_is_removed(there: World) -> None:
    await there.patch(f"{NODES}/node-tainted", {"spec": {"taints": None}})


async def a_node_full_of_one_pod(there: World) -> None:
    await there.create_nodes(node("node", allocatable={"pods": "1"}))
    await there.create_pod(pod("pod-to-be-deleted", nodeName="node"))


async def that_pod_is_deleted(there: World) -> None:
    await there.delete(there.path("pod-to-be-deleted"))


async def a_node_in_a_region(there: World) -> None:
    await there.create_nodes(node("node-1", {"region": "test"}))


async def a_pod_to_be_near_to(there: World) -> None:
    await there.create_pod(pod("pod-with-affinity", labels=YES))


async def a_node_in_a_region_with_a_pod(there: World) -> None:
    await a_node_in_a_region(there)
    await there.create_pod(pod("pod-to-be-updated", nodeName="node-1"))


async def that_pod_gets_the_label(there: World) -> None:
    await there.patch(there.path("pod-to-be-updated"), {"metadata": {"labels": YES}})


@pytest.mark.parametrize(
    ("before", "spec", "change"),
    [
        pytest.param(nothing, {}, a_node_is_added, id="node-gets-added"),
        pytest.param(a_tainted_node, {}, its_taint_is_removed, id="node-gets-taint-removed"),
        pytest.param(a_node_full_of_one_pod, {}, that_pod_is_deleted, id="other-pod-gets-deleted"),
        pytest.param(a_node_in_a_region, NEAR_IT, a_pod_to_be_near_to, id="pod-with-pod-affinity-gets-added"),
        pytest.param(
            a_node_in_a_region_with_a_pod, NEAR_IT, that_pod_gets_the_label, id="pod-gets-updated-to-match-affinity"
        ),
    ],
)
async def test_unschedulable_pod_becomes_schedulable(server: Cluster, before: Act, spec: Object, change: Act) -> None:
    async with world(server) as there:
        await before(there)
        async with there.scheduling() as process:
            await there.create_pod(pod("pod-1", **spec))
            await there.unschedulable("pod-1")
            await change(there)
            await there.scheduled("pod-1")
            await there.until(lambda: not len(process.queue))


async def test_pod_affinity_match_label_key_enablement(server: Cluster) -> None:
    """The API server puts the keys into the selector, which is all that we look at."""
    async with world(server) as there:
        affinity = near(term("node", "foo", matchLabelKeys=["bar"]))
        created = await there.create_pod(pod("p", labels={"foo": "", "bar": "a"}, affinity=affinity))
        (stored_term,) = created["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert stored_term["labelSelector"] == {"matchExpressions": requirements("foo, bar in (a)")}
