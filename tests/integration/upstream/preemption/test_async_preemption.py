"""upstream: test/integration/scheduler/preemption, what happens while victims are on their way out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, ClassVar

import pytest

from devcluster import Cluster
from scheduler_runtime.api import SKIP, Action, Answer, ClusterEvent, Event, Reject
from tests.integration.upstream.preemption.stage import (
    SCHEDULED,
    UNSCHEDULABLE,
    Stage,
    Step,
    blockable_in_tree,
    creates,
    creates_node,
    decides,
    decides_until_scheduled,
    disappear,
    flushes,
    is_gated,
    lets_bind,
    lets_preempt,
    stays,
)
from tests.integration.upstream.preemption.victims import with_cpu
from tests.integration.upstream.support import CasePlugin, Object, node, pod, profile_with, world

pytestmark = pytest.mark.cluster

BLOCKED, RESERVING, BLOCKING = "pod-blocked-in-binding", "reserving-pod", "blocking-pod"
DELETED = (ClusterEvent("Pod", Action.DELETE),)


class Reserving(CasePlugin):
    """While a pod of a certain name holds what this reserves, no pod fits anywhere."""

    name = "reservingPlugin"
    events: ClassVar[tuple[ClusterEvent, ...]] = DELETED
    reserved = False

    def pre_filter(self, pod: Any, nodes: Any, cycle: Any) -> list[bool]:
        return [self.reserved]

    def filter(self, pod: Any, nodes: Any, state: list[bool]) -> Iterable[Reject]:
        if state[0]:
            yield Reject(True, "resources are reserved")

    def add_pod(self, pod: Any, nodes: Any, state: list[bool], other: Any, row: int) -> list[bool]:
        return [True] if RESERVING in other.name else state

    def remove_pod(self, pod: Any, nodes: Any, state: list[bool], other: Any, row: int) -> list[bool]:
        return [False] if RESERVING in other.name else state

    def reserve(self, pod: Any, node: str, state: Any) -> Reject | None:
        self.reserved = self.reserved or RESERVING in pod.name
        return None

    def unreserve(self, pod: Any, node: str, state: Any) -> None:
        self.reserved = self.reserved and RESERVING not in pod.name


class NeverWakes(CasePlugin):
    """Keeps pods from nodes with a pod of a certain name, and does not want them back when that leaves."""

    name = "queueSkipFilterPlugin"
    events: ClassVar[tuple[ClusterEvent, ...]] = DELETED

    def filter(self, pod: Any, nodes: Any, state: Any) -> Iterable[Reject]:
        if any(BLOCKING in node for node in self.on_nodes(nodes)):
            yield Reject(True, "node has a blocking pod")

    def filter_row(self, pod: Any, nodes: Any, state: Any, row: int) -> Iterable[Reject]:
        return self.filter(pod, nodes, state)

    def on_nodes(self, nodes: Any) -> Iterable[str]:
        return (pod.name for row in range(len(nodes)) for pod in nodes.pods(row))

    def hint(self, event: Event, pod: Any) -> Answer:
        return SKIP


AT_ONCE: Object = {"terminationGracePeriodSeconds": 0}
SLOWLY: Object = {"terminationGracePeriodSeconds": 1000}


def victims(count: int, cpu: str, node: str = "node") -> list[Object]:
    return [with_cpu(f"victim-{node}-{number}", cpu, 1, nodeName=node, **AT_ONCE) for number in range(count)]


def stuck(name: str, cpu: str = "2", **spec: Any) -> list[Step]:
    """A victim that does not come to the end of its binding."""
    return [creates(with_cpu(name, cpu, 1, **spec)), decides(name)]


def preempts(name: str, cpu: str, priority: int) -> list[Step]:
    return [creates(with_cpu(name, cpu, priority)), decides(name, UNSCHEDULABLE)]


def begins(name: str, cpu: str, priority: int) -> list[Step]:
    return [*preempts(name, cpu, priority), is_gated(name)]


HIGH, MID, SUPER = "preemptor-high-priority", "preemptor-mid-priority", "preemptor-super-high-priority"
BASIC = begins("preemptor", "4", 100)
DONE = [lets_preempt("preemptor"), decides("preemptor", SCHEDULED)]
STILL_RESERVED = [
    *preempts("preemptor", "4", 100),
    lets_preempt("preemptor"),
    decides("preemptor", UNSCHEDULABLE),
    lets_bind(),
    decides_until_scheduled("preemptor"),
]


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([creates(*victims(2, "2")), *BASIC, *DONE], id="basic"),
        pytest.param(
            [creates(*victims(1, "1")), *BASIC, *DONE], id="one-victim-preemptor-gated-until-the-api-call-ends"
        ),
        pytest.param(
            [
                creates(*victims(2, "2")),
                *begins(HIGH, "4", 100),
                *preempts("pod-mid-priority", "4", 50),
                lets_preempt(HIGH),
                decides(HIGH, SCHEDULED),
                decides("pod-mid-priority", UNSCHEDULABLE),
            ],
            id="lower-priority-pod-does-not-take-the-place",
        ),
        pytest.param(
            [
                creates(*victims(4, "1")),
                *begins(HIGH, "4", 100),
                *begins(SUPER, "4", 200),
                lets_preempt(SUPER),
                lets_preempt(HIGH),
                decides(SUPER, SCHEDULED),
                decides(HIGH, UNSCHEDULABLE),
            ],
            id="higher-priority-pod-takes-the-place",
        ),
        pytest.param(
            [
                creates(*victims(4, "1")),
                *begins(HIGH, "2", 100),
                *begins(MID, "2", 50),
                lets_preempt(MID),
                lets_preempt(HIGH),
                decides(HIGH, SCHEDULED),
                decides(MID, SCHEDULED),
            ],
            id="lower-priority-pod-selects-the-same-place-if-big-enough",
        ),
        pytest.param(
            [*stuck(BLOCKED, **AT_ONCE), *preempts("preemptor", "4", 100), *DONE, lets_bind()],
            id="victim-in-binding-is-deleted",
        ),
        pytest.param(
            [*stuck(BLOCKED, **SLOWLY), *preempts("preemptor", "4", 100), *DONE],
            id="victim-in-binding-terminates-gracefully",
        ),
        pytest.param(
            [*stuck(BLOCKED, **SLOWLY), *preempts("preemptor", "4", 100), *DONE, lets_bind()],
            id="victim-in-binding-terminates-gracefully-and-goes-on-binding",
        ),
        pytest.param(
            [*stuck(BLOCKED + RESERVING, **AT_ONCE), *STILL_RESERVED], id="victim-in-binding-is-deleted-and-unreserved"
        ),
        pytest.param(
            [
                creates(*(pod(f"victim-{BLOCKING}-{n}", priority=1, nodeName="node", **AT_ONCE) for n in range(2))),
                creates(pod("preemptor", priority=100)),
                decides("preemptor", UNSCHEDULABLE),
                is_gated("preemptor"),
                lets_preempt("preemptor"),
                disappear(f"victim-{BLOCKING}-0", f"victim-{BLOCKING}-1"),
                stays("preemptor"),
                flushes(),
                decides("preemptor", SCHEDULED),
            ],
            id="gated-preemptor-is-scheduled-without-hints",
        ),
        pytest.param(
            [*stuck(BLOCKED + RESERVING, **SLOWLY), *STILL_RESERVED],
            id="victim-in-binding-terminates-gracefully-and-unreserves",
        ),
        pytest.param(
            [
                creates(*victims(3, "1")),
                *stuck(BLOCKED, "1", **AT_ONCE),
                creates(with_cpu(MID, "4", 50)),
                decides(MID),
                is_gated(MID),
                lets_preempt(MID),
                creates_node("node2"),
                creates(*victims(4, "1", "node2")),
                disappear(*(f"victim-node-{n}" for n in range(3)), BLOCKED),
                creates(with_cpu(HIGH, "2", 100)),
                decides(HIGH, SCHEDULED),
                lets_bind(),
                decides(MID, UNSCHEDULABLE),
                lets_preempt(MID),
                decides(MID, SCHEDULED),
            ],
            id="higher-priority-pod-takes-the-place-while-preemption-waits",
        ),
    ],
)
async def test_async_preemption(server: Cluster, steps: list[Step]) -> None:
    async with world(server) as there:
        doors = {"bind": asyncio.Event()}
        own = [there.plugin(Reserving), there.plugin(NeverWakes)]
        in_tree = blockable_in_tree(doors, BLOCKED)
        await there.create_nodes(node("node", allocatable={"cpu": "4"}))
        async with there.stepping(*own, *in_tree, profiles=[profile_with(*own)]) as process:
            stage = Stage(there, process, doors)
            for step in steps:
                await step(stage)
            for door in doors.values():
                door.set()
