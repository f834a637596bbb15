"""upstream: test/integration/scheduler/plugins, how pods wait."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster import Cluster
from scheduler_runtime.api import Action, ClusterEvent, Reject, Watch
from tests.integration.upstream.plugins import fakes
from tests.integration.upstream.support import CasePlugin, node, nodes, pod, profile_with, world

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    ("by_priority", "order"),
    [
        pytest.param(False, ["pod-1", "pod-2", "pod-3"], id="timestamp-sort-order"),
        pytest.param(True, ["pod-3", "pod-2", "pod-1"], id="priority-sort-order"),
    ],
)
async def test_queue_sort_plugin(server: Cluster, by_priority: bool, order: list[str]) -> None:
    """The queue is full before the scheduler takes the first pod out of it."""
    async with world(server) as there:
        sort, pre_filter = there.plugin(fakes.QueueSort, by_priority=by_priority), there.plugin(fakes.PreFilter)
        await there.create_nodes(*nodes(2))
        await there.create_pods(*(pod(f"pod-{number}", priority=number) for number in (1, 2, 3)))
        async with there.scheduling(sort, pre_filter):
            await there.until(lambda: len(pre_filter.calls) == 3)
        assert pre_filter.calls.log == order


@pytest.mark.parametrize(
    "admit", [pytest.param(True, id="pod-is-admitted"), pytest.param(False, id="pod-is-not-admitted")]
)
async def test_pre_enqueue_plugin(server: Cluster, admit: bool) -> None:
    async with world(server) as there:
        gate, pre_filter = there.plugin(fakes.PreEnqueue, reject=not admit), there.plugin(fakes.PreFilter)
        await there.create_nodes(*nodes(1))
        async with there.scheduling(gate, pre_filter):
            await there.create_pod(pod("p") if admit else pod("p", schedulingGates=[{"name": "foo"}]))
            if admit:
                await there.scheduled("p")
                assert gate.calls.log
            else:
                await there.gated("p")
                await there.create_pod(pod("later", schedulingGates=[{"name": "foo"}]))
                await there.gated("later")
        assert pre_filter.calls.log == (["p"] if admit else [])


class Job(CasePlugin):
    """Executors wait for their driver, which wakes them when it has its node."""

    name = "job-plugin"
    pods = Watch("v1", "Pod")
    watches = (pods,)

    def pre_filter(self, pod: Any, nodes: Any, cycle: Any) -> Reject | None:
        if "executor" in (pod.metadata.labels or {}):
            self.waiting[pod.name] = pod
        if any("driver" in other.labels for other in self.handle.list(self.pods) if other.namespace == pod.namespace):
            return None
        return Reject.pod("unable to find driver pod")

    def post_bind(self, pod: Any, node: str, state: Any) -> None:
        if "driver" in (pod.metadata.labels or {}):
            self.handle.activate(self.waiting.values())
            self.calls.add("activated")

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.waiting: dict[str, Any] = {}


async def test_activate_pods(server: Cluster) -> None:
    async with world(server) as there:
        job = there.plugin(Job)
        await there.create_nodes(node("test-node-0"))
        async with there.scheduling(job):
            executors = [pod(f"executor-{number}", labels={"executor": ""}) for number in (1, 2)]
            await there.create_pods(*executors)
            for name in ("executor-1", "executor-2"):
                await there.unschedulable(name)
            await there.create_pod(pod("driver", labels={"driver": ""}))
            for name in ("executor-1", "executor-2", "driver"):
                await there.scheduled(name)
        assert job.calls.log == ["activated"]


class GateWithoutEvents(CasePlugin):
    name = "scheduling-gates-without-events"

    def pre_enqueue(self, pod: Any) -> Reject | None:
        self.calls.add(pod.name)
        return Reject.pod("waiting for scheduling gates") if pod.spec.scheduling_gates else None


class GateWithEvents(GateWithoutEvents):
    name = "scheduling-gates-with-events"
    events = (ClusterEvent("Pod", Action.UPDATE),)


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        pytest.param(GateWithoutEvents, ["p", "pause-pod"], id="without-event-registered"),
        pytest.param(GateWithEvents, ["p", "pause-pod", "p"], id="with-event-registered"),
    ],
)
async def test_pre_enqueue_plugin_events_to_register(
    server: Cluster, kind: type[GateWithoutEvents], calls: list[str]
) -> None:
    async with world(server) as there:
        gate = there.plugin(kind)
        profile = profile_with(gate)
        profile["plugins"]["preEnqueue"]["disabled"] = [{"name": "*"}]
        await there.create_nodes(*nodes(2))
        async with there.scheduling(gate, profiles=[profile]) as process:
            await there.create_pod(pod("p", schedulingGates=[{"name": "foo"}]))
            await there.until(lambda: gate.calls.log == ["p"])
            await there.create_pod(pod("pause-pod"))
            await there.scheduled("pause-pod")
            await there.patch(there.path("pause-pod"), {"metadata": {"annotations": {"foo": "bar"}}})
            await there.until(lambda: gate.calls.log[2:] or kind is GateWithoutEvents)
            assert gate.calls.log == calls
            await there.patch(there.path("p"), {"spec": {"schedulingGates": None}})
            if kind is GateWithEvents:
                await there.scheduled("p")
            else:
                await there.create_pod(pod("later"))
                await there.scheduled("later")  # what came before it was looked at
                assert process.queue.counts()
                assert there.node_of("p") == ""
