"""upstream: test/integration/scheduler/preemption/misc, whom budgets protect."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from tests.integration.upstream.preemption.victims import (
    EITHER_WAY,
    HIGH,
    LOW,
    MEDIUM,
    are_preempted,
    asking,
    small,
    small_node,
)
from tests.integration.upstream.support import Object, world

pytestmark = pytest.mark.cluster


def budget(name: str, labels: dict[str, str], allowed: int) -> Object:
    """A budget of two pods at least, as the disruption controller would leave it."""
    metadata = {"name": name}
    return {
        "metadata": metadata,
        "spec": {"minAvailable": 2, "selector": {"matchLabels": labels}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": allowed + 2,
            "desiredHealthy": 2,
            "expectedPods": allowed + 2,
            "observedGeneration": 1,
        },
    }


FOO, FOO1, FOO2 = {"foo": "bar"}, {"foo1": "bar"}, {"foo2": "bar"}


@pytest.mark.parametrize("gates", EITHER_WAY)
@pytest.mark.parametrize(
    ("budgets", "others", "preemptor", "preempted"),
    [
        pytest.param(
            [budget("pdb-1", FOO, 0)],
            [
                small("low-pod1", LOW, nodeName="node-1", labels=FOO),
                small("low-pod2", LOW, nodeName="node-1", labels=FOO),
                small("mid-pod3", MEDIUM, nodeName="node-1"),
            ],
            asking("preemptor-pod", "300m", "200", HIGH),
            ["mid-pod3"],
            id="non-violating-pod-despite-its-higher-priority",
        ),
        pytest.param(
            [budget("pdb-1", FOO, 0)],
            [
                small("low-pod1", LOW, nodeName="node-1", labels=FOO),
                small("mid-pod2", MEDIUM, nodeName="node-2"),
            ],
            asking("preemptor-pod", "500m", "200", HIGH),
            ["mid-pod2"],
            id="node-without-violations-is-preferred",
        ),
        pytest.param(
            [budget("pdb-1", FOO1, 0), budget("pdb-2", FOO2, 3)],
            [
                small("low-pod1", LOW, nodeName="node-1", labels=FOO1),
                small("mid-pod1", MEDIUM, nodeName="node-1"),
                small("low-pod2", LOW, nodeName="node-2", labels=FOO2),
                small("mid-pod2", MEDIUM, nodeName="node-2", labels=FOO2),
                small("low-pod4", LOW, nodeName="node-3", labels=FOO2),
                small("low-pod5", LOW, nodeName="node-3", labels=FOO2),
                small("low-pod6", LOW, nodeName="node-3", labels=FOO2),
            ],
            asking("preemptor-pod", "500m", "400", HIGH),
            ["low-pod4", "low-pod5", "low-pod6"],
            id="node-with-fewer-violations-is-preferred",
        ),
    ],
)
async def test_pdb_in_preemption(
    server: Cluster,
    gates: dict[str, bool],
    budgets: list[Object],
    others: list[Object],
    preemptor: Object,
    preempted: list[str],
) -> None:
    async with world(server) as there:
        await there.create_nodes(*(small_node(name) for name in {other["spec"]["nodeName"] for other in others}))
        await there.create_pods(*others)
        where = f"/apis/policy/v1/namespaces/{there.namespace}/poddisruptionbudgets"
        for budget in budgets:
            await there.create(where, budget)
            await there.patch(f"{where}/{budget['metadata']['name']}/status", {"status": budget["status"]})
        async with there.scheduling(feature_gates=gates):
            await there.create_pod(preemptor)
            await are_preempted(there, *preempted)
            await there.until(lambda: there.nominated("preemptor-pod"))
            remaining = {other["metadata"]["name"] for other in others} - set(preempted)
            assert not any(there.is_leaving(name) for name in remaining)
