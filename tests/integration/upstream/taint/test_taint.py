"""upstream: test/integration/scheduler/taint, conditions that become taints, and who tolerates them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pytest

import devcluster
from devcluster import Cluster, Spec
from scheduler_runtime.app.scheduler import Scheduler
from tests.integration.upstream.support import Object, node, pod, world
from tests.integration.upstream.written import taint, tolerates

pytestmark = pytest.mark.cluster

GATE, NODE = "TaintTolerationComparisonOperators", "node-1"


@pytest.fixture(scope="module")
def tainting_server() -> Iterator[Cluster]:
    """An API server beside which one controller runs, the one that makes taints of conditions.

    It lets pods that ask for something tolerate a lack of memory.
    """
    spec = Spec(
        node="none",
        scheduler=False,
        apiserver_args=(
            f"--feature-gates={GATE}=true",
            "--enable-admission-plugins=PodTolerationRestriction",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority,StorageObjectInUseProtection",
        ),
        kcm_args=("--controllers=node-lifecycle-controller", "--node-monitor-grace-period=1h"),
    )
    with devcluster.running(spec) as cluster:
        yield cluster


ROOM = {"cpu": "4000m", "memory": "16Gi", "pods": "110"}
REQUESTS = {"cpu": "100m", "memory": "100Mi"}
BEST_EFFORT, BURSTABLE, GUARANTEED = "besteffort-pod", "burstable-pod", "guarantee-pod"
MEMORY, DISK, PIDS, NETWORK = "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"
NO_MEMORY, NO_DISK, NO_PIDS = "memory-pressure", "disk-pressure", "pid-pressure"
NOT_READY, CORDONED, NO_NETWORK = "not-ready", "unschedulable", "network-unavailable"

Judged = tuple[str, list[Object], bool]
"""A kind of pod, what it tolerates, and whether it fits."""


def asking(kind: str, name: str, tolerations: list[Object]) -> Object:
    new_pod = pod(name, {} if kind == BEST_EFFORT else REQUESTS, tolerations=tolerations)
    if kind == GUARANTEED:
        new_pod["spec"]["containers"][0]["resources"]["limits"] = REQUESTS
    return new_pod


def is_tainted(process: Scheduler, taints: Collection[Object]) -> bool:
    """Whether the scheduler sees exactly these taints on the node."""
    watched = process.nodes.objects.get(NODE)
    expected = {(taint["key"], taint["value"], taint["effect"]) for taint in taints}
    return watched is not None and {(taint.key, taint.value, taint.effect) for taint in watched.spec.taints} == expected


async def judges(
    server: Cluster, gates: dict[str, bool], new_node: Object, taints: list[Object], pods: list[Judged]
) -> None:
    """Give the node time to be tainted, and then one pod after the other."""
    async with world(server) as there, there.scheduling(feature_gates=gates) as process:
        await there.create_nodes(new_node)
        await there.until(lambda: is_tainted(process, taints))
        for number, (kind, tolerations, fits) in enumerate(pods):
            name = f"{kind}-{number}"
            await there.create_pod(asking(kind, name, tolerations))
            await (there.scheduled(name) if fits else there.unschedulable(name))


def of(*conditions: str) -> list[Object]:
    """The taints that are made of conditions."""
    return [taint(f"node.kubernetes.io/{condition}", "") for condition in conditions]


def to(*conditions: str) -> list[Object]:
    """Tolerations of them."""
    return [tolerates(f"node.kubernetes.io/{condition}", "", "Exists") for condition in conditions]


NOBODY: list[Judged] = [(BEST_EFFORT, [], False), (BURSTABLE, [], False), (GUARANTEED, [], False)]
BUSY: list[Judged] = [(BURSTABLE, [], True), (GUARANTEED, [], True)]


@pytest.mark.parametrize("gates", [pytest.param({GATE: on}, id=f"{GATE}-{on}") for on in (True, False)])
@pytest.mark.parametrize(
    ("is_true", "ready", "cordoned", "taints", "pods"),
    [
        pytest.param([], False, False, [NOT_READY], [*NOBODY, (BEST_EFFORT, to(NOT_READY), True)], id="not-ready"),
        pytest.param([], True, True, [CORDONED], [*NOBODY, (BEST_EFFORT, to(CORDONED), True)], id="unschedulable"),
        pytest.param(
            [MEMORY],
            True,
            False,
            [NO_MEMORY],
            [NOBODY[0], (BEST_EFFORT, to(NO_MEMORY), True), (BEST_EFFORT, to(NO_DISK), False), *BUSY],
            id="memory-pressure",
        ),
        pytest.param(
            [DISK],
            True,
            False,
            [NO_DISK],
            [*NOBODY, (BEST_EFFORT, to(NO_DISK), True), (BEST_EFFORT, to(NO_MEMORY), False)],
            id="disk-pressure",
        ),
        pytest.param(
            [NETWORK],
            True,
            False,
            [NO_NETWORK],
            [*NOBODY, (BURSTABLE, to(NO_NETWORK), True)],
            id="no-network-but-ready",
        ),
        pytest.param(
            [NETWORK],
            False,
            False,
            [NO_NETWORK, NOT_READY],
            [*NOBODY, (BURSTABLE, to(NO_NETWORK), False), (BURSTABLE, to(NO_NETWORK, NOT_READY), True)],
            id="no-network-and-not-ready",
        ),
        pytest.param([PIDS], True, False, [NO_PIDS], [*NOBODY, (BEST_EFFORT, to(NO_PIDS), True)], id="pid-pressure"),
        pytest.param([PIDS, MEMORY, DISK], True, False, [NO_DISK, NO_MEMORY, NO_PIDS], [], id="multi-taints"),
    ],
)
async def test_taint_node_by_condition(
    tainting_server: Cluster,
    gates: dict[str, bool],
    is_true: list[str],
    ready: bool,
    cordoned: bool,
    taints: list[str],
    pods: list[Judged],
) -> None:
    new_node = node(NODE, unschedulable=cordoned, allocatable=ROOM, status={"conditions": conditions(is_true, ready)})
    await judges(tainting_server, gates, new_node, of(*taints), pods)


def conditions(is_true: Collection[str], ready: bool) -> list[Object]:
    statuses = {**dict.fromkeys(is_true, True), "Ready": ready}
    return [{"type": kind, "status": str(status)} for kind, status in statuses.items()]


CLASS, RATE, LOAD = "node.example.com/priority-class", "node.example.com/error-rate", "node.example.com/cpu-utilization"
EXECUTE, PREFER = "NoExecute", "PreferNoSchedule"
ABOVE, BELOW = tolerates(CLASS, "900", "Gt"), tolerates(RATE, "10", "Lt")


@pytest.mark.parametrize(
    ("taints", "pods"),
    [
        pytest.param(
            [taint(CLASS, "950")], [(BEST_EFFORT, [], False), (BEST_EFFORT, [ABOVE], True)], id="numeric-taint-Gt"
        ),
        pytest.param([taint(RATE, "5")], [(BURSTABLE, [], False), (BURSTABLE, [BELOW], True)], id="numeric-taint-Lt"),
        pytest.param(
            [taint(CLASS, "950"), taint(RATE, "5")],
            [(GUARANTEED, [], False), (GUARANTEED, [ABOVE], False), (GUARANTEED, [ABOVE, BELOW], True)],
            id="several-numeric-taints",
        ),
        pytest.param(
            [taint(LOAD, "75", EXECUTE)],
            [
                (GUARANTEED, [], False),
                (GUARANTEED, [tolerates(LOAD, "90", "Lt", EXECUTE)], True),
                (GUARANTEED, [tolerates(LOAD, "50", "Gt", EXECUTE)], True),
            ],
            id="NoExecute",
        ),
        pytest.param(
            [taint(CLASS, "950", PREFER)],
            [
                (BEST_EFFORT, [], True),
                (BEST_EFFORT, [tolerates(CLASS, "900", "Gt", PREFER)], True),
                (BEST_EFFORT, [tolerates(RATE, "10", "Lt", PREFER)], True),
            ],
            id="PreferNoSchedule",
        ),
    ],
)
async def test_taint_node_by_condition_with_comparison(
    tainting_server: Cluster, taints: list[Object], pods: list[Judged]
) -> None:
    """The rest of upstream's table, which is gone through with the gate only."""
    new_node = node(NODE, taints=taints, allocatable=ROOM, status={"conditions": conditions([], True)})
    await judges(tainting_server, {GATE: True}, new_node, taints, pods)
