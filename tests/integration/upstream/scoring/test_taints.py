"""upstream: test/integration/scheduler/scoring, taints that a pod would rather avoid."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from tests.integration.upstream.support import Object, World, node, pod, profile_scoring_by, world

pytestmark = pytest.mark.cluster

PREFER = "PreferNoSchedule"
EXAMPLE = {"key": "example-key", "value": "example-value", "effect": PREFER}
OTHER = {"key": "other-key", "value": "other-value", "effect": PREFER}
CLASS = "node.example.com/priority-class"


@pytest.mark.parametrize(
    ("tolerations", "taints", "expected"),
    [
        pytest.param([], [], {"node-1", "node-2"}, id="no-taints-or-tolerations"),
        pytest.param([EXAMPLE], [EXAMPLE], {"node-1", "node-2"}, id="toleration-for-the-taint"),
        pytest.param([OTHER], [EXAMPLE], {"node-2"}, id="no-toleration-for-the-taint"),
    ],
)
async def test_taint_toleration_scoring(
    server: Cluster, tolerations: list[Object], taints: list[Object], expected: set[str]
) -> None:
    async with world(server) as there:
        await there.create_nodes(node("node-1", taints=taints), node("node-2"))
        await scores(there, tolerations, expected, {})


@pytest.mark.parametrize("operator", [pytest.param("Gt", id="Gt-toleration-prefers-matching-numeric-taints")])
async def test_taint_toleration_scoring_with_comparison(
    other_server: Cluster, other_gates: dict[str, bool], operator: str
) -> None:
    """One more row of upstream's table: the operator is behind a gate of the API server."""
    low, high = (
        {"key": CLASS, "value": "800", "effect": "NoSchedule"},
        {"key": CLASS, "value": "999", "effect": PREFER},
    )
    async with world(other_server) as there:
        await there.create_nodes(node("node-gt-low", taints=[low]), node("node-gt-high", taints=[high]))
        toleration = {"key": CLASS, "operator": operator, "value": "900", "effect": PREFER}
        await scores(there, [toleration], {"node-gt-high"}, other_gates)


async def scores(there: World, tolerations: list[Object], expected: set[str], gates: dict[str, bool]) -> None:
    profile = profile_scoring_by("TaintToleration", "TaintToleration")
    async with there.scheduling(profiles=[profile], feature_gates=gates):
        await there.create_pod(pod("p", tolerations=tolerations))
        assert await there.scheduled("p") in expected
