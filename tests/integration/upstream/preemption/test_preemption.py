"""upstream: test/integration/scheduler/preemption, who has to leave."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import pytest

from devcluster import Cluster
from scheduler_runtime.api import ALLOW, Action, ClusterEvent, Reject, Wait
from tests.integration.upstream.preemption.victims import (
    EITHER_WAY,
    HIGH,
    LOW,
    MEDIUM,
    PREEMPTOR,
    VICTIM,
    are_preempted,
    asking,
    small,
    small_node,
)
from tests.integration.upstream.support import CasePlugin, Object, World, node, world
from tests.integration.upstream.written import apart, term

pytestmark = pytest.mark.cluster


class Tokens(CasePlugin):
    """Lets as many pods through as it has tokens; a pod that is taken off a node gives one back."""

    name = "filter-plugin"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent("*", Action.ALL),)
    tokens = 1000
    in_pre_filter = False
    resolvable = True

    def pre_filter(self, pod: Any, nodes: Any, cycle: Any) -> Reject | None:
        missing = self.in_pre_filter and self.remaining <= 0
        return Reject.pod("no tokens", resolvable=True) if missing else None

    def filter(self, pod: Any, nodes: Any, state: Any) -> Iterable[Reject]:
        if self.remaining > 0:
            self.add(-1)
        else:
            yield Reject(True, f"can't fit {pod.name}", resolvable=self.resolvable)

    def add_pod(self, pod: Any, nodes: Any, state: Any, other: Any, row: int) -> Any:
        self.add(-1)
        return state

    def remove_pod(self, pod: Any, nodes: Any, state: Any, other: Any, row: int) -> Any:
        self.add(1)
        return state

    @property
    def remaining(self) -> int:
        return type(self).tokens

    def add(self, count: int) -> None:
        type(self).tokens += count


def apart_from(value: str) -> Object:
    return apart(term("node", f"pod in ({value})"))


FITS_TOO, ALSO_FITS = asking("victim-pod", "200m", "200", LOW), asking("preemptor-pod", "200m", "200", HIGH)
ALONE = small("preemptor-pod", HIGH, labels={"pod": "preemptor"}, affinity=apart_from("p0"))
NEIGHBOUR = small("pod-0", MEDIUM, labels={"pod": "p0"})


def unwilling(priority: int) -> Object:
    return small("pod-1", priority, labels={"pod": "p1"}, affinity=apart_from("preemptor"))


@pytest.mark.parametrize("gates", EITHER_WAY)
@pytest.mark.parametrize(
    ("others", "preemptor", "settings", "preempted"),
    [
        pytest.param([VICTIM], PREEMPTOR, {}, ["victim-pod"], id="basic"),
        pytest.param([FITS_TOO], ALSO_FITS, {"tokens": 1}, ["victim-pod"], id="with-filter"),
        pytest.param([FITS_TOO], ALSO_FITS, {"tokens": 1, "in_pre_filter": True}, ["victim-pod"], id="with-prefilter"),
        pytest.param([FITS_TOO], ALSO_FITS, {"tokens": 1, "resolvable": False}, [], id="with-unresolvable-filter"),
        pytest.param([NEIGHBOUR, unwilling(LOW)], ALONE, {}, ["pod-0", "pod-1"], id="to-satisfy-anti-affinity"),
        pytest.param([NEIGHBOUR, unwilling(HIGH)], ALONE, {}, [], id="not-when-anti-affinity-is-not-satisfied"),
    ],
)
async def test_preemption(
    server: Cluster,
    gates: dict[str, bool],
    others: list[Object],
    preemptor: Object,
    settings: Object,
    preempted: list[str],
) -> None:
    async with world(server) as there:
        plugin = there.plugin(Tokens, **settings)
        await there.create_nodes(small_node(node="node1"))
        async with there.scheduling(plugin, feature_gates=gates):
            for other in others:
                await there.create_pod(other)
                await there.scheduled(other["metadata"]["name"])
            await there.create_pod(preemptor)
            await there.unschedulable("preemptor-pod")
            await are_preempted(there, *preempted)
            await there.until(lambda: there.nominated("preemptor-pod") == ("node1" if preempted else ""))
            remaining = {other["metadata"]["name"] for other in others} - set(preempted)
            assert not any(there.is_leaving(name) for name in remaining)


class HoldsOnce(CasePlugin):
    """Holds a pod the first time it comes."""

    name = "blocking-permit-plugin"
    pod_to_hold = "victim"

    def permit(self, pod: Any, node: str, state: Any) -> Any:
        self.calls.add(pod.name)
        return Wait(60) if self.calls.log.count(self.pod_to_hold) == 1 and pod.name == self.pod_to_hold else ALLOW


class PreparesForLong(CasePlugin):
    """Does not come to an end with a pod the first time."""

    name = "blocking-prebind-plugin"

    async def pre_bind(self, pod: Any, node: str, state: Any) -> Reject | None:
        self.calls.add(pod.name)
        if pod.name == "victim" and self.calls.log.count("victim") == 1:
            await self.world.until(lambda: False, 60)
        return None


async def moves_to_a_smaller_node(there: World, plugin: type[CasePlugin]) -> None:
    """A pod that is on its way to a big node makes room there, is not deleted, and goes to a small one instead."""
    await there.create_nodes(node("big-node", allocatable={"cpu": "2", "memory": "2Gi"}))
    async with there.scheduling(plugin):
        await there.create_pod(asking("victim", "1", "1Gi", LOW))
        await there.until(lambda: "victim" in plugin.calls.log)
        await there.create_nodes(node("small-node", allocatable={"cpu": "1", "memory": "1Gi"}))
        uid = (there.pod("victim") or {})["metadata"]["uid"]
        await there.create_pod(asking("preemptor", "1.5", "1.5Gi", HIGH))
        assert await there.scheduled("preemptor") == "big-node"
        assert await there.scheduled("victim") == "small-node"
        assert (there.pod("victim") or {})["metadata"]["uid"] == uid
        assert not there.is_leaving("victim")


async def test_preemption_respects_waiting_pod(server: Cluster) -> None:
    async with world(server) as there:
        await moves_to_a_smaller_node(there, there.plugin(HoldsOnce))


async def test_preemption_respects_binding_pod(server: Cluster) -> None:
    async with world(server) as there:
        await moves_to_a_smaller_node(there, there.plugin(PreparesForLong))
