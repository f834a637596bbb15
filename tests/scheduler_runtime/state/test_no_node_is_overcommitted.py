"""However late a scheduler is told what happened, no node gets more than it has by what the scheduler decided.

Everything from the watch to the request of a binding is the real thing: reflectors, cache, queue, loop, bindings. The
API server is a miniature of one. What is varied:

* Pods and nodes are watched apart from each other: each kind is shown in the order in which it happened, as late as it
  may be, and how the two interleave is open.
* A stream may say the lines that come together twice or backwards, and say any line again that it has said since the
  last list, also that of a deletion, or of an older state than the one that is known.
* A watch may expire, and each kind may be listed anew at any time.
* Bindings are under way meanwhile, succeed, are refused, are lost, or only their answer is.

Not varied: a list is never older than what was shown before it was asked for, and a watch shows nothing from before the
list that it follows. The API server promises both, and we ask for no list from its cache.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scheduler_runtime import testing
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.framework import PluginServices, Progress
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.scheduling.binding_cycle import BindingCycle
from scheduler_runtime.scheduling.binding_sender import BindingSender
from scheduler_runtime.scheduling.cluster_updates import ClusterUpdates
from scheduler_runtime.scheduling.failed_attempts import FailedAttempts
from scheduler_runtime.scheduling.loop import SchedulingLoop
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.pending import BackingOff, QueuePlace, SchedulingQueue
from scheduler_runtime.scheduling.pods_underway import BindingSlots, PodsUnderway
from scheduler_runtime.scheduling.preemption import Preemption
from scheduler_runtime.scheduling.recent_failures import RecentFailures
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.scheduling.reporting.pod_reporter import PodConditions, PodReporter
from scheduler_runtime.scheduling.watched_objects import WatchRevisions
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.objects import ResizeRules
from scheduler_runtime.state.objects.kinds import NODES as NODE_KIND
from scheduler_runtime.state.objects.kinds import pods as pod_kind
from tests.support.miniature import NODES, PODS, Binding, Happened, Miniature

NAMES = ("one", "two")
TARGET = Target(Version.parse("v1.36.4"), {})
THEIRS = "two"
"""The node on which another scheduler puts pods without asking."""
CORES = 4000
TURNS = 40
"""More than anything here needs to go on as far as it can."""
ONLY_ROOM = {
    "plugins": {
        "multiPoint": {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": name} for name in ("PrioritySort", "NodeResourcesFit", "DefaultBinder")],
        }
    }
}
PICK = st.integers(0, 99)
MOSTLY = st.sampled_from([True, True, True, False])
POD_NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
KINDS = st.sampled_from([PODS, NODES])
Order = Callable[[list[Happened]], list[Happened]]
ORDERS: dict[str, Order] = {
    "as-it-happened": lambda lines: lines,
    "twice": lambda lines: [*lines, *lines],
    "backwards": lambda lines: lines[::-1],
}


def after(happened: list[Happened], version: int) -> list[Happened]:
    """What a watch that is to resume after a version shows."""
    return [one for one in happened if one.version > version]


class Still(asyncio.SelectorEventLoop):
    """An event loop whose time passes when a test says so."""

    now = 0.0

    def time(self) -> float:
        return self.now


def cores_of(pod: dict[str, Any]) -> int:
    """As thousandths."""
    return 1000 * int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


class Scheduler:
    """All of one but its leadership, and what it tells of pods, which nobody sends. Nothing backs off."""

    def __init__(self, server: Any, clock: Callable[[], float]) -> None:
        binds = BindingSender(server, lambda: float("inf"), 5.0)
        services = PluginServices(binds, lambda *_: None, lambda _: None, testing.Objects())
        frameworks = {"ours": testing.framework(ONLY_ROOM, services=services)}
        outbox = Outbox()
        conditions = PodConditions(server, outbox, services.nominations)
        self.cache = Cache()
        events, metrics = PodEvents(server, outbox, "host"), Metrics()
        reporter = PodReporter(events, conditions)
        slots = BindingSlots()
        self.underway = PodsUnderway(slots, Progress())
        self.queue = SchedulingQueue(frameworks, backing_off=BackingOff(0, 0))
        recent = RecentFailures()
        failed = FailedAttempts(self.queue, reporter, metrics, recent, clock)
        binding = BindingCycle(
            frameworks, self.cache, self.queue, slots, self.underway, failed, reporter, metrics, recent
        )
        preemption = Preemption(
            server, binds.check_fence, self.underway, events, services.nominations, self.cache, metrics, TARGET.version
        )
        self.loop = SchedulingLoop(
            self.queue, frameworks, self.cache, slots, binding, preemption, failed, reporter, metrics, clock
        )
        updates = ClusterUpdates(
            self.cache,
            self.queue,
            services.nominations,
            frameworks,
            self.underway,
            conditions,
            WatchRevisions(),
            clock,
        )
        kind = pod_kind(ResizeRules.of(TARGET))
        at_once = Backoff(0, 0)
        self.copies: dict[str, Reflector[Any]] = {
            PODS: Reflector(kind, server, updates.pod, at_once),
            NODES: Reflector(NODE_KIND, server, updates.node, at_once),
        }

    def assumed(self) -> dict[str, str]:
        """The nodes of pods of which only we say so, by their uids."""
        return {placed.pod.uid: placed.node for placed in self.cache.snapshot() if placed.assumed}

    def requested(self, node: str) -> int:
        """What is taken of a node, as decisions see it; 0 of one that is not known."""
        row = self.cache.table.row(node)
        return 0 if row is None else int(self.cache.table.requested("cpu")[row])


class Overcommitting(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.time = Still()
        self.server = Miniature()
        self.ours = Scheduler(self.server, self.time.time)
        for name in NAMES:
            self.node_comes_or_goes(name, 1)
        for path in (NODES, PODS):
            self.run(self.ours.copies[path]._follow())

    def run(self, work: Coroutine[Any, Any, object]) -> None:
        """Do the work and what comes of it, as far as no time has to pass and no binding to be answered."""

        async def on() -> None:
            task = asyncio.create_task(work)
            for _ in range(TURNS):
                await asyncio.sleep(0)
            if task.done():
                task.result()
            task.cancel()

        self.time.run_until_complete(on())

    # The cluster

    @rule(name=POD_NAMES, cores=st.integers(1, 3))
    def pod_is_created(self, name: str, cores: int) -> None:
        if name not in self.server.pods:
            self.create(name, cores, schedulerName="ours")

    def create(self, name: str, cores: int, **spec: str) -> None:
        container = {"name": "main", "resources": {"requests": {"cpu": str(cores)}}}
        self.server.create(PODS, name, spec={"containers": [container], **spec})

    @rule(cores=st.lists(st.integers(2, 3), min_size=2, max_size=4))
    def pods_are_created_and_decided_about(self, cores: list[int]) -> None:
        for name, cpu in zip("abcd", cores, strict=False):
            self.pod_is_created(name, cpu)
        self.catch_up(PODS)
        for _ in cores:
            self.decide()

    @precondition(lambda self: self.server.pods)
    @rule(pick=PICK)
    def pod_is_deleted(self, pick: int) -> None:
        self.server.delete(PODS, self.some_pod(pick))

    @precondition(lambda self: self.server.pods)
    @rule(pick=PICK)
    def pod_begins_to_end(self, pick: int) -> None:
        self.server.change(PODS, self.some_pod(pick), "metadata", deletionTimestamp="2026-01-01T00:00:00Z")

    @rule()
    def another_scheduler_places_a_pod(self) -> None:
        if "foreign" not in self.server.pods:
            self.create("foreign", 1, schedulerName="theirs", nodeName=THEIRS)

    @precondition(lambda self: self.server.pods)
    @rule(pick=PICK)
    def another_scheduler_takes_our_pod(self, pick: int) -> None:
        name = self.some_pod(pick)
        self.server.bind(name, self.server.pods[name]["metadata"]["uid"], THEIRS)

    @precondition(lambda self: self.server.pods and self.is_caught_up(PODS))
    @rule(pick=PICK)
    def the_server_forgets_a_binding(self, pick: int) -> None:
        name = self.some_pod(pick)
        one = self.server.pods[name]
        if one["spec"].get("nodeName") and one["metadata"]["uid"] not in self.ours.underway:
            self.server.change(PODS, name, "spec", nodeName="")
            self.server.bound_by_us.discard(one["metadata"]["uid"])

    @rule(name=st.sampled_from(NAMES), times=st.integers(1, 3))
    def node_comes_or_goes(self, name: str, times: int) -> None:
        for _ in range(times):
            if name in self.server.objects[NODES]:
                self.server.delete(NODES, name)
            else:
                self.server.create(NODES, name, status={"allocatable": {"cpu": "4", "pods": "110"}})

    @rule(name=st.sampled_from(NAMES), pick=PICK)
    def node_changes(self, name: str, pick: int) -> None:
        if name in self.server.objects[NODES]:
            self.server.change(NODES, name, "metadata", labels={"changed": str(pick)})

    # The watches

    def is_caught_up(self, path: str) -> bool:
        version = self.ours.copies[path].resource_version
        return bool(version) and int(version) >= self.server.latest(path)

    @rule(path=KINDS, count=st.integers(1, 4), order=st.sampled_from(sorted(ORDERS)))
    def watch_shows(self, path: str, count: int, order: str) -> None:
        if not self.is_caught_up(path):
            self.follow(path, lambda happened, since: ORDERS[order](after(happened, since)[:count]))

    @rule(path=KINDS, picks=st.lists(PICK, min_size=1, max_size=3))
    def watch_repeats(self, path: str, picks: list[int]) -> None:
        version, listed_at = self.ours.copies[path].resource_version, self.server.listed_at[path]
        reported = [one for one in self.server.happened_to(path) if version and listed_at < one.version <= int(version)]
        if reported:
            self.follow(path, lambda *_: [reported[-1 - pick % len(reported)] for pick in picks])

    @rule(path=KINDS)
    def everything_is_listed_again(self, path: str) -> None:
        self.ours.copies[path].resource_version = ""
        self.run(self.ours.copies[path]._follow())

    def follow(self, path: str, show: Callable[[list[Happened], int], list[Happened]]) -> None:
        self.server.show = show
        self.run(self.ours.copies[path]._follow())

    def catch_up(self, path: str) -> None:
        while not self.is_caught_up(path):
            self.follow(path, after)

    # What we do

    @rule(seconds=st.sampled_from([0.5, 3.0, 20.0]))
    def wait(self, seconds: float) -> None:
        self.time.now += seconds
        self.run(asyncio.sleep(0))

    @rule()
    def decide(self) -> None:
        """Whatever is known to be on a node, theirs too, is left its room."""
        before = self.ours.assumed()
        self.run(self.ours.loop.schedule_one())
        for uid, node in self.ours.assumed().items() - before.items():
            assert self.ours.requested(node) <= CORES, uid

    @precondition(lambda self: self.server.sent)
    @rule(pick=PICK, arrives=MOSTLY, is_answered=MOSTLY)
    def binding_is_answered(self, pick: int, arrives: bool, is_answered: bool) -> None:
        self.answer(self.server.sent[pick % len(self.server.sent)], arrives, is_answered)

    def answer(self, binding: Binding, arrives: bool, is_answered: bool) -> None:
        self.server.answer(binding, arrives=arrives, is_answered=is_answered)
        self.run(asyncio.sleep(0))

    def some_pod(self, pick: int) -> str:
        return list(self.server.pods)[pick % len(self.server.pods)]

    # What holds

    @invariant()
    def we_overcommitted_no_node(self) -> None:
        bound_cores = Counter[str]()
        for one in self.server.pods.values():
            node = one["spec"].get("nodeName", "")
            if node != THEIRS or one["metadata"]["uid"] in self.server.bound_by_us:
                bound_cores[node] += cores_of(one)
        assert all(bound_cores[name] <= CORES for name in NAMES)

    @invariant()
    def the_cache_has_what_we_bound(self) -> None:
        for one in self.server.pods.values():
            if one["metadata"]["uid"] in self.server.bound_by_us:
                placed = self.ours.cache.get(one["metadata"]["uid"])
                assert placed is not None
                assert placed.node == one["spec"]["nodeName"]

    @invariant()
    def a_copy_that_caught_up_is_complete(self) -> None:
        for path, copy in self.ours.copies.items():
            if self.is_caught_up(path):
                versions = {one.metadata.uid: one.metadata.resource_version for one in copy.objects.values()}
                there = [one["metadata"] for one in self.server.objects[path].values()]
                assert versions == {one["uid"]: one["resourceVersion"] for one in there}

    @invariant()
    def a_nodes_requests_are_those_of_its_pods(self) -> None:
        nodes = self.ours.copies[NODES].objects.keys()
        assert {name for name in NAMES if self.ours.cache.table.row(name) is not None} == nodes
        for name in nodes:
            pods = [placed.pod for placed in self.ours.cache.snapshot() if placed.node == name]
            assert self.ours.requested(name) == sum(int(one.requests.amounts["cpu"]) for one in pods)

    @invariant()
    def what_is_assumed_is_on_its_way_or_bound(self) -> None:
        for uid in self.ours.assumed():
            assert uid in self.ours.underway or uid in self.server.bound

    def teardown(self) -> None:
        """Once everything is answered and seen, we know what the API server knows, and no pod is lost."""
        try:
            while len(self.ours.underway):
                for binding in list(self.server.sent):
                    self.answer(binding, arrives=True, is_answered=True)
                self.wait(30)
            for path in (NODES, PODS):
                self.catch_up(path)
            self.know_everything()
        finally:
            self.run(self.ours.underway.finish(0))
            self.time.close()

    def know_everything(self) -> None:
        """Fail unless we hold every pod that has a node, and each of ours that has none waits."""
        ours, pods = self.ours, {one["metadata"]["uid"]: one for one in self.server.pods.values()}
        there = {uid: one["spec"]["nodeName"] for uid, one in pods.items() if one["spec"].get("nodeName")}
        assert {placed.pod.uid: placed.node for placed in ours.cache.snapshot()} == there
        assert not ours.assumed()
        waiting = {entry.uid: entry.place for entry in ours.queue.entries()}
        assert not {QueuePlace.BINDING, QueuePlace.IN_FLIGHT} & set(waiting.values())
        to_place = {uid for uid in pods.keys() - there if pods[uid]["spec"]["schedulerName"] == "ours"}
        ending = {uid for uid in to_place if "deletionTimestamp" in pods[uid]["metadata"]}
        assert to_place - ending <= waiting.keys() <= to_place


TestNoNodeIsOvercommitted = Overcommitting.TestCase
TestNoNodeIsOvercommitted.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
