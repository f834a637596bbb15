"""upstream: test/integration/scheduler/nominated_node_name."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar

import pytest

from devcluster import Cluster
from scheduler_runtime.api import QueueEntry
from tests.integration.upstream.plugins import fakes
from tests.integration.upstream.preemption.stage import (
    SCHEDULED,
    UNSCHEDULABLE,
    Stage,
    Step,
    blockable_in_tree,
    creates,
    creates_node,
    decides,
    lets_preempt,
)
from tests.integration.upstream.preemption.victims import with_cpu
from tests.integration.upstream.support import CasePlugin, Object, World, node, nodes, pod, world

pytestmark = pytest.mark.cluster

EXPECTATION = "NominatedNodeNameForExpectation"
EITHER_WAY = [pytest.param({EXPECTATION: on}, id=f"expectation-{'on' if on else 'off'}") for on in (True, False)]


class TakesLong(CasePlugin):
    """Prepares a binding until the case lets it go on."""

    name = "RunForeverPreBindPlugin"
    door: ClassVar[asyncio.Event]

    async def pre_bind(self, pod: Any, node: str, state: Any) -> None:
        self.calls.add(pod.name)
        await self.door.wait()


class Notes(CasePlugin):
    """What the pods that are bound were nominated to."""

    name = "NoNNNPostBindPlugin"

    def post_bind(self, pod: Any, node: str, state: Any) -> None:
        self.calls.add(pod.status.nominated_node_name)


async def nominated(there: World, name: str) -> str:
    """What the API server says now."""
    stored = json.loads(await there.client.request("GET", there.path(name)))
    return str(stored["status"].get("nominatedNodeName", ""))


@pytest.mark.parametrize("gates", EITHER_WAY)
@pytest.mark.parametrize(
    ("kind", "settings", "takes_long"),
    [
        pytest.param(TakesLong, {}, True, id="put-if-pre-bind-will-run"),
        pytest.param(fakes.Permit, {"seconds": fakes.LONG}, True, id="put-if-permit-will-wait"),
        pytest.param(fakes.Permit, {}, False, id="not-if-permit-will-not-wait"),
        pytest.param(None, {}, False, id="not-without-such-plugins"),
    ],
)
async def test_nominated_node_name_is_set_before_pre_bind_and_wait_on_permit(
    server: Cluster, gates: dict[str, bool], kind: type[CasePlugin] | None, settings: dict[str, Any], takes_long: bool
) -> None:
    async with world(server) as there:
        door = asyncio.Event()
        notes, slow = there.plugin(Notes), there.plugin(kind, door=door, **settings) if kind else None
        await there.create_nodes(*nodes(10))
        async with there.scheduling(notes, *([slow] if slow else []), feature_gates=gates) as process:
            await there.create_pod(pod("test-pod"))
            if takes_long and slow:
                await there.until(lambda: slow.calls.log)
                await there.create_pod(pod("later"))
                await there.until(lambda: len(slow.calls.log) == 2)
                await process.outbox.drain()
                expected = next(pod.node for pod in process.cache.snapshot() if pod.pod.name == "test-pod")
                assert await nominated(there, "test-pod") == (expected if gates[EXPECTATION] else "")
            else:
                await there.scheduled("test-pod")
                await there.until(lambda: notes.calls.log)
                assert notes.calls.log == [""]
            door.set()


def creates_nominated(preemptor: Object, to: str) -> Step:
    """A pod whose status says from outside that it is nominated, before the scheduler looks at it."""

    async def step(stage: Stage) -> None:
        await stage.there.create_pod(preemptor)
        name = preemptor["metadata"]["name"]
        await stage.there.patch(f"{stage.there.path(name)}/status", {"status": {"nominatedNodeName": to}})
        await stage.there.until(lambda: name in {pod.name for pod in stage.process.nominations.nominated_to(to)})
        await stage.there.until(lambda: stage.there.nominated(name) == to)

    return step


def is_nominated(name: str, to: str) -> Step:
    async def step(stage: Stage) -> None:
        await stage.there.until(lambda: stage.there.nominated(name) == to)

    return step


def gets(name: str, where: str) -> list[Step]:
    """The pod gets this node, and is not said to be nominated any more."""

    async def step(stage: Stage) -> None:
        assert stage.there.node_of(name) == where

    return [decides(name, SCHEDULED), step, is_nominated(name, "")]


def is_passed_over(name: str) -> list[Step]:
    """No node is found for the pod, and what it was nominated to is forgotten."""
    return [decides(name), is_nominated(name, "")]


AT_ONCE: Object = {"terminationGracePeriodSeconds": 0}


@pytest.mark.parametrize("gates", EITHER_WAY)
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            [
                creates(with_cpu("victim", "4", 1, nodeName="node", **AT_ONCE)),
                creates(with_cpu("preemptor", "2", 100)),
                decides("preemptor", UNSCHEDULABLE),
                is_nominated("preemptor", "node"),
                lets_preempt("preemptor"),
                *gets("preemptor", "node"),
            ],
            id="basic-preemption-sets-it",
        ),
        pytest.param(
            [
                creates_node("node2"),
                creates(*(with_cpu(f"victim-{n}", "2", 1, nodeName="node", **AT_ONCE) for n in (1, 2))),
                creates(with_cpu("victim-3", "3", 1, nodeName="node2", **AT_ONCE)),
                creates_nominated(with_cpu("preemptor", "4", 100), "node"),
                decides("preemptor", UNSCHEDULABLE),
                is_nominated("preemptor", "node2"),
                lets_preempt("preemptor"),
                *gets("preemptor", "node2"),
            ],
            id="preemption-overwrites-it",
        ),
        pytest.param(
            [
                creates_nominated(with_cpu("pod-exceeds-capacity", "5", 1, **AT_ONCE), "node"),
                creates(with_cpu("pod-fits", "3", 1, **AT_ONCE)),
                *is_passed_over("pod-exceeds-capacity"),
                *gets("pod-fits", "node"),
            ],
            id="ignored-on-a-pod-that-cannot-fit",
        ),
        pytest.param(
            [
                creates_nominated(with_cpu("low-priority", "4", 1, **AT_ONCE), "node"),
                creates(with_cpu("high-priority", "4", 100, **AT_ONCE)),
                *gets("high-priority", "node"),
                *is_passed_over("low-priority"),
            ],
            id="ignored-on-a-pod-of-lower-priority",
        ),
        pytest.param(
            [creates_nominated(with_cpu("pod", "4", 1, **AT_ONCE), "node"), *gets("pod", "node")],
            id="cleared-after-binding-without-preemption",
        ),
    ],
)
async def test_preemption_and_nominated_node_name_scenarios(
    server: Cluster, gates: dict[str, bool], steps: list[Step]
) -> None:
    async with world(server) as there:
        doors: dict[str, asyncio.Event] = {}
        await there.create_nodes(node("node", allocatable={"cpu": "4"}))
        in_tree = blockable_in_tree(doors, blocked="no such pod")
        async with there.stepping(*in_tree, feature_gates=gates, profiles=[{}]) as process:
            stage = Stage(there, process, doors)
            for step in steps:
                await step(stage)
            for door in doors.values():
                door.set()


class LastNameFirst(CasePlugin):
    name = "mockQueueSortPlugin"

    def sort_key(self, entry: QueueEntry) -> Any:
        return [-ord(letter) for letter in entry.pod.name]


class WaitsForNomination(CasePlugin):
    """Prepares a binding until the pod's status says which node it is to have."""

    name = "mockPreBindPlugin"

    async def pre_bind(self, pod: Any, node: str, state: Any) -> None:
        await self.world.until(lambda: self.world.nominated(pod.name) == node)


class NeverBinds(CasePlugin):
    name = "mockBindPlugin"

    async def bind(self, pod: Any, node: str, state: Any) -> None:
        self.calls.add(pod.name)
        await asyncio.Event().wait()


async def test_scheduler_restart_with_nominated_node(server: Cluster) -> None:
    """Whoever schedules after one that stopped in the middle of a binding keeps the pod its room."""
    async with world(server) as there:
        order, waits, never = (there.plugin(kind) for kind in (LastNameFirst, WaitsForNomination, NeverBinds))
        dispreferred = {"key": "foo", "effect": "PreferNoSchedule"}
        await there.create_nodes(
            node("node-preferred", allocatable={"pods": "1"}), node("node-other", taints=[dispreferred])
        )
        await there.create_pod(pod("pod-a"))
        async with there.scheduling(order, waits, never) as process:
            await there.until(lambda: never.calls.log)
            process.election.lost.set()
            await there.until(lambda: not len(process.underway))
        assert (there.nominated("pod-a"), there.node_of("pod-a")) == ("node-preferred", "")
        await there.create_pod(pod("pod-b"))
        async with there.scheduling(order, waits):
            assert await there.scheduled("pod-b") == "node-other"
            assert await there.scheduled("pod-a") == "node-preferred"
