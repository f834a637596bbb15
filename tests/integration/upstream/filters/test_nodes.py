"""upstream: test/integration/scheduler/filters, what a node must be or have."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from tests.integration.upstream.support import Object, node, pod, world
from tests.integration.upstream.written import on, taint, tolerates

pytestmark = pytest.mark.cluster


ONE, TWO = ("example.com/taint1", "value1"), ("example.com/taint2", "value2")
LEVEL, RATE, ZONE = "node.example.com/priority-level", "node.example.com/error-rate", "node.example.com/zone"


@pytest.mark.parametrize(
    ("taints", "tolerations", "fit"),
    [
        pytest.param([taint(*ONE)], [tolerates(*ONE)], True, id="tolerates-the-taint"),
        pytest.param([taint(*ONE)], [], False, id="does-not-tolerate"),
        pytest.param([taint(*ONE), taint(*TWO)], [tolerates(*ONE)], False, id="tolerates-some"),
        pytest.param([taint(*ONE), taint(*TWO)], [tolerates(*ONE), tolerates(*TWO)], True, id="tolerates-all"),
        pytest.param([taint(*ONE)], [tolerates(*ONE), tolerates(*TWO)], True, id="tolerates-more"),
        pytest.param([], [tolerates(*ONE)], True, id="no-taint"),
    ],
)
async def test_taint_toleration_filter(
    server: Cluster, taints: list[Object], tolerations: list[Object], fit: bool
) -> None:
    async with world(server) as there:
        await there.create_nodes(node("node-1", taints=taints))
        async with there.scheduling():
            await there.create_pod(pod("p", tolerations=tolerations))
            await (there.scheduled("p") if fit else there.unschedulable("p"))


@pytest.mark.parametrize(
    ("taints", "tolerations", "fit"),
    [
        pytest.param([taint(LEVEL, "999")], [tolerates(LEVEL, "900", "Gt")], True, id="Gt-greater"),
        pytest.param([taint(LEVEL, "850")], [tolerates(LEVEL, "900", "Gt")], False, id="Gt-lesser"),
        pytest.param([taint(RATE, "5")], [tolerates(RATE, "10", "Lt")], True, id="Lt-lesser"),
        pytest.param([taint(RATE, "15")], [tolerates(RATE, "10", "Lt")], False, id="Lt-greater"),
        pytest.param(
            [taint(LEVEL, "950"), taint(ZONE, "west")],
            [tolerates(LEVEL, "900", "Gt"), tolerates(ZONE, "west")],
            True,
            id="mixed-tolerations",
        ),
        pytest.param([taint(LEVEL, "10")], [tolerates(LEVEL, "-20", "Gt")], True, id="Gt-negative"),
        pytest.param([taint(RATE, "0")], [tolerates(RATE, "5", "Lt")], True, id="Lt-zero"),
        pytest.param(
            [taint(LEVEL, "999", "PreferNoSchedule")], [tolerates(LEVEL, "900", "Gt", "")], True, id="Gt-any-effect"
        ),
        pytest.param([taint(RATE, "999999999")], [tolerates(RATE, "1000000000", "Lt")], True, id="Lt-large"),
    ],
)
async def test_taint_toleration_filter_with_comparison(
    other_server: Cluster,
    other_gates: dict[str, bool],
    taints: list[Object],
    tolerations: list[Object],
    fit: bool,
) -> None:
    """The rest of upstream's table: these operators are behind a gate of the API server."""
    async with world(other_server) as there:
        await there.create_nodes(node("node-1", taints=taints))
        async with there.scheduling(feature_gates=other_gates):
            await there.create_pod(pod("p", tolerations=tolerations))
            await (there.scheduled("p") if fit else there.unschedulable("p"))


def port(number: int) -> Object:
    return {"hostIP": "127.0.0.1", "hostPort": number, "containerPort": number, "protocol": "TCP"}


@pytest.mark.parametrize(
    ("number", "fit"), [pytest.param(8081, False, id="port-conflict"), pytest.param(8080, True, id="no-port-conflict")]
)
async def test_node_ports_filter(server: Cluster, number: int, fit: bool) -> None:
    async with world(server) as there:
        await there.create_nodes(node("node-0"))
        async with there.scheduling():
            await there.create_pod(pod("test-1", ports=[port(8081), port(8082)]))
            await there.scheduled("test-1")
            await there.create_pod(pod("test-2", ports=[port(number)]))
            await (there.scheduled("test-2") if fit else there.unschedulable("test-2"))


@pytest.mark.parametrize(
    ("amount", "fit"), [pytest.param("2", False, id="insufficient"), pytest.param("1", True, id="sufficient")]
)
async def test_node_resources_filter(server: Cluster, amount: str, fit: bool) -> None:
    requests = {"cpu": amount, "memory": f"{amount}G"}
    async with world(server) as there:
        await there.create_nodes(node("node", allocatable={"cpu": "3", "memory": "3G"}))
        async with there.scheduling():
            await there.create_pod(pod("existing-pod", requests))
            await there.scheduled("existing-pod")
            await there.create_pod(pod("incoming-pod", requests))
            await (there.scheduled("incoming-pod") if fit else there.unschedulable("incoming-pod"))


SSD, HDD = {"disktype": "ssd"}, {"disktype": "hdd"}


@pytest.mark.parametrize(
    ("first", "second", "affinity", "expected"),
    [
        pytest.param(SSD, HDD, on("disktype in (ssd)"), "node-1", id="In-matches"),
        pytest.param(SSD, SSD, on("disktype in (hdd)"), "", id="In-does-not-match"),
        pytest.param(HDD, HDD, on("disktype notin (hdd)"), "", id="NotIn-does-not-match"),
        pytest.param(SSD, {}, on("disktype"), "node-1", id="Exists-matches"),
        pytest.param(SSD, SSD, on("!disktype"), "", id="DoesNotExist-does-not-match"),
        pytest.param(SSD, {}, on("disktype in (ssd)", "metadata.name in (node-1)"), "node-1", id="label-and-name"),
    ],
)
async def test_node_affinity_filter(
    server: Cluster, first: dict[str, str], second: dict[str, str], affinity: Object, expected: str
) -> None:
    async with world(server) as there:
        await there.create_nodes(node("node-1", first), node("node-2", second))
        async with there.scheduling():
            await there.create_pod(pod("p", affinity=affinity))
            if expected:
                assert await there.scheduled("p") == expected
            else:
                await there.unschedulable("p")


FEATURE_A, FEATURE_B = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
"""Upstream's cases make features up; these are real ones, of which the pod needs the first."""


def restarting_all() -> Object:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    new_pod = pod("p", restartPolicy="Never")
    new_pod["spec"]["containers"][0].update(restartPolicy="Never", restartPolicyRules=[rule])
    return new_pod


def declaring(name: str, *features: str) -> Object:
    return node(name, status={"declaredFeatures": list(features)})


@pytest.mark.parametrize(
    ("needs", "nodes", "expected"),
    [
        pytest.param(False, [declaring("without")], "without", id="no-requirement-node-without-features"),
        pytest.param(False, [declaring("with-a", FEATURE_A)], "with-a", id="no-requirement-node-with-features"),
        pytest.param(True, [declaring("with-a", FEATURE_A), declaring("with-b", FEATURE_B)], "with-a", id="with-it"),
        pytest.param(True, [declaring("with-b", FEATURE_B)], "", id="not-on-a-node-without"),
        pytest.param(
            True, [declaring("with-both", FEATURE_A, FEATURE_B), declaring("without")], "with-both", id="with-multiple"
        ),
    ],
)
async def test_node_declared_features_filter(server: Cluster, needs: bool, nodes: list[Object], expected: str) -> None:
    async with world(server) as there:
        await there.create_nodes(*nodes)
        async with there.scheduling():
            await there.create_pod(restarting_all() if needs else pod("p"))
            if expected:
                assert await there.scheduled("p") == expected
            else:
                await there.unschedulable("p")


GATES = (
    "NodeDeclaredFeatures",
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
)
"""The gate, and those that need it."""


@pytest.mark.parametrize("gates", [pytest.param(GATES, id="feature-gate-disabled")])
async def test_node_declared_features_filter_without_its_gate(server: Cluster, gates: tuple[str, ...]) -> None:
    """One more row of upstream's table: the gate is the scheduler's."""
    async with world(server) as there:
        await there.create_nodes(declaring("without"))
        async with there.scheduling(feature_gates=dict.fromkeys(gates, False)):
            await there.create_pod(restarting_all())
            assert await there.scheduled("p") == "without"
