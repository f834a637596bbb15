"""upstream: test/integration/scheduler/rescheduling_test.go, a pod that a plugin sent back after it had a node."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import pytest

from devcluster import Cluster
from scheduler_runtime.api import ALLOW, Action, Answer, ClusterEvent, Reject
from tests.integration.upstream.support import CasePlugin, World, node, nodes, pod, world

pytestmark = pytest.mark.cluster

NODE_ADDED = (ClusterEvent("Node", Action.ADD),)


class Refusing(CasePlugin):
    """Sends the first pod back once, or fails whenever it is asked."""

    events: ClassVar[tuple[ClusterEvent, ...]] = NODE_ADDED

    def verdict(self, pod: Any) -> Reject | None:
        is_first = not self.calls.log
        self.calls.add(pod.name)
        self.fail_if_configured(pod.name)
        return Reject.pod("reject it once") if is_first else None


class Permit(Refusing):
    name = "permit"

    def permit(self, pod: Any, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject:
        return self.verdict(pod) or ALLOW


class Reserve(Refusing):
    name = "reserve"

    def reserve(self, pod: Any, node: str, state: Any) -> Reject | None:
        return self.verdict(pod)

    def unreserve(self, pod: Any, node: str, state: Any) -> None:
        """Nothing was taken."""


async def comes_back(there: World, plugin: type[Refusing]) -> None:
    await there.unschedulable("test-pod")
    await there.create_nodes(node("fake-node"))
    await there.scheduled("test-pod")


async def stays_where_it_is(there: World, plugin: type[Refusing]) -> None:
    """That another pod comes and is bound is nothing that the plugin waits for."""
    await there.unschedulable("test-pod")
    await there.create_pod(pod("test-pod-2"))
    await there.scheduled("test-pod-2")
    assert plugin.calls.log == ["test-pod", "test-pod-2"]
    await there.unschedulable("test-pod")


async def fails_again(there: World, plugin: type[Refusing]) -> None:
    await there.failed("test-pod")
    await there.create_nodes(node("fake-node"))
    await there.until(lambda: len(plugin.calls) > 1)
    await there.failed("test-pod")


@pytest.mark.parametrize(
    ("kind", "fail", "goes_on"),
    [
        pytest.param(Permit, False, comes_back, id="rejected-by-permit"),
        pytest.param(Permit, False, stays_where_it_is, id="rejected-by-permit-with-unrelated-event"),
        pytest.param(Permit, True, fails_again, id="failed-by-permit"),
        pytest.param(Reserve, False, comes_back, id="rejected-by-reserve"),
        pytest.param(Reserve, False, stays_where_it_is, id="rejected-by-reserve-with-unrelated-event"),
        pytest.param(Reserve, True, fails_again, id="failed-by-reserve"),
    ],
)
async def test_re_scheduling(server: Cluster, kind: type[Refusing], fail: bool, goes_on: Any) -> None:
    async with world(server) as there:
        plugin = there.plugin(kind, fail=fail)
        await there.create_nodes(*nodes(2))
        async with there.scheduling(plugin):
            await there.create_pod(pod("test-pod"))
            await goes_on(there, plugin)
