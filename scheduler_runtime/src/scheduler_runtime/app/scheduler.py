"""One scheduler process from its start to its end.

read the version ──► list everything ──► stand for election ──► catch up ──► schedule
                         (ready)                                                 │
             SIGTERM: finish binds, release the lease, 0  ◄──────────────────────┤
             lease lost: only that is still told, 1       ◄──────────────────────┘

A lease is not released while binds that were cut off may still arrive: it runs out.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from scheduler_runtime.app import memory as heap
from scheduler_runtime.app.leader import Election
from scheduler_runtime.app.lease_events import LeaseEvents
from scheduler_runtime.app.settings import Settings
from scheduler_runtime.app.watchdog.clock_jumps import ClockJumps
from scheduler_runtime.app.watchdog.loop_stalls import LoopStalls
from scheduler_runtime.catalog import Target
from scheduler_runtime.framework import Framework, PluginServices, Progress
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.leader_election import process_name
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.kube.watch.reflector_group import ReflectorGroup, wait_until_caught_up, wait_until_listed
from scheduler_runtime.reload.frameworks import Frameworks
from scheduler_runtime.scheduling.binding_cycle import BindingCycle
from scheduler_runtime.scheduling.cluster_events import ClusterUpdates
from scheduler_runtime.scheduling.extenders import ExtenderFactory
from scheduler_runtime.scheduling.fenced_binds import FencedBinds
from scheduler_runtime.scheduling.io_batching import IoBatching
from scheduler_runtime.scheduling.loop import SchedulingLoop
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.pending import BackingOff, SchedulingQueue
from scheduler_runtime.scheduling.plan import Plan, PreparedChange
from scheduler_runtime.scheduling.pods_underway import BindingSlots, PodsUnderway
from scheduler_runtime.scheduling.preemption import Preemption
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.scheduling.reporting.pod_conditions import PodConditions
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.scheduling.reporting.pod_reporter import PodReporter
from scheduler_runtime.scheduling.watched_objects import NODE, POD, ApiKind, WatchedObjects, WatchRevisions
from scheduler_runtime.serving.scrape_gauges import add_scheduler_gauges
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import Pod, ResizeRules
from scheduler_runtime.state.objects.kinds import NODES, pods

logger = logging.getLogger(__name__)

FINISH_SECONDS = 10.0
"""How long bindings under way may take at the end, well within a pod's grace period."""
DRAIN_SECONDS = 3.0
LISTING_SECONDS = 60.0
"""Whoever has not listed everything by then waits for the API server."""
OLDER_DATA = "found older data at the API server than before, such as a backup that was restored, and listed all again"
TIDY_SECONDS = 30.0
"""So long after a change nothing of the profiles before is under way any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerInputs:
    """What a process begins with."""

    settings: Settings
    plan: Plan
    target: Target
    client: Client
    """For pods and nodes, and whatever else decisions need."""
    teller: Client
    """For what is only told: it does not hold up what is done."""
    election: Election
    metrics: Metrics


class Scheduler:
    """The parts of a scheduler, wired together."""

    def __init__(self, given: SchedulerInputs) -> None:
        """Raises RegistrationError."""
        plan, client, metrics = given.plan, given.client, given.metrics
        self.is_stopping = False
        self.election = given.election
        self.cache = Cache()
        self.nominations = Nominations()
        self.progress = Progress()
        slots = BindingSlots()
        self.crowded = slots.crowded
        self.underway = PodsUnderway(slots, self.progress)

        self.outbox = Outbox(is_busy=slots.sending.locked)
        self.events = PodEvents(given.teller, self.outbox, process_name(), mode=plan.extras.events)
        self.reporter = PodReporter(self.events, PodConditions(given.teller, self.outbox, self.nominations))
        self.own_events = self._own_events(given)

        binds = FencedBinds(client, self.election.leads_until, self.election.bind_seconds)
        self.extenders = ExtenderFactory(client, binds)
        self.extenders.adopt(self.extenders.create_reflectors(plan.document.extenders), plan.document.extenders)

        # Still empty: frameworks need services, which need the queue, which asks the frameworks.
        self.profiles = Frameworks(given.target, given.settings.seed, self.extenders.build)
        self.queue = self._queue(given)
        revisions = WatchRevisions()
        self.updates = ClusterUpdates(
            self.cache, self.queue, self.nominations, self.profiles, self.underway, self.reporter, revisions
        )
        self.informers = ReflectorGroup(partial(self.own_events.warn, "OlderData", OLDER_DATA))
        self.nodes = Reflector(NODES, client, self.updates.node)
        self.pods = Reflector(pods(ResizeRules.of(given.target)), client, self.updates.pod)
        followed: dict[ApiKind, Reflector[Any]] = {NODE: self.nodes, POD: self.pods}
        self.objects = WatchedObjects(plan.watches, client, self.updates.object, followed, revisions)

        self.preemption = Preemption(
            client,
            binds.check_fence,
            self.underway,
            self.events,
            self.nominations,
            metrics,
            version=given.target.version,
        )
        self._services = self._plugin_services(binds, metrics)
        self.profiles.replace(plan, self.profiles.build(plan, self._services))

        self.binding = BindingCycle(self.profiles, self.cache, self.queue, slots, self.underway, self.reporter, metrics)
        self.loop = SchedulingLoop(
            self.queue, self.profiles, self.cache, slots, self.binding, self.preemption, self.reporter, metrics
        )
        add_scheduler_gauges(metrics, self, given.target)

    def _own_events(self, given: SchedulerInputs) -> LeaseEvents:
        """What tells of this process where people look for it, wired to those who know."""
        return LeaseEvents(
            given.teller,
            self.outbox,
            self.election,
            given.plan.document.profiles[0].scheduler_name,
            events=lambda: self.events.mode,
        )

    @property
    def reflectors(self) -> tuple[Reflector[Any], ...]:
        """What has to be listed before a decision."""
        return (*self.objects.reflectors, *self.extenders.reflectors, self.nodes, self.pods)

    def _plugin_services(self, binds: FencedBinds, metrics: Metrics) -> PluginServices:
        """What the plugins are lent."""
        events, queue, cache = self.events, self.queue, self.cache

        def latest(pod: Pod) -> Pod | None:
            placed = cache.get(pod.uid)
            return placed.pod if placed else None

        return PluginServices(
            binds=binds,
            record=lambda pod, reason, message, warning: events.record(pod, reason, message, warning=warning),
            activate=lambda pods: queue.activate([pod.uid for pod in pods], time.monotonic()),
            objects=self.objects,
            nominations=self.nominations,
            preemptions=self.preemption,
            metrics=metrics,
            progress=self.progress,
            latest=latest,
        )

    def _queue(self, given: SchedulerInputs) -> SchedulingQueue:
        """Where pods wait."""
        document = given.plan.document
        backing_off = BackingOff(
            document.pod_initial_backoff_seconds,
            document.pod_max_backoff_seconds,
            lets_go_early=given.target.enabled("SchedulerPopFromBackoffQ"),
        )
        return SchedulingQueue(
            self.profiles,
            backing_off=backing_off,
            longest_parked=given.settings.longest_parked,
            metrics=given.metrics,
            reporter=self.reporter,
        )

    async def live(self, stop: asyncio.Event, *others: Coroutine[Any, Any, None]) -> int:
        """Follow, stand for election, schedule; return the exit code. Run ``others`` meanwhile."""
        async with asyncio.TaskGroup() as group:
            self.informers.start(self.reflectors)
            turns = IoBatching(self.crowded, self.outbox)
            around = [
                group.create_task(run)
                for run in (
                    self.outbox.run(),
                    self.informers.run(),
                    self.election.heartbeat.run(),
                    LoopStalls().run(),
                    ClockJumps(lambda what: self.own_events.warn("ClockJumped", f"says that {what}")).run(),
                    turns.run(),
                    *others,
                )
            ]
            try:
                code = await self._until_end(stop)
            finally:
                for task in around:
                    task.cancel()
                self.extenders.close()
            if code and self.election.won.is_set():
                await asyncio.wait(around, timeout=1)
                await self.own_events.stopped_leading()
            return code

    async def _until_end(self, stop: asyncio.Event) -> int:
        await wait_first(self._synced(), stop.wait())
        if stop.is_set():
            return 0
        self.election.start(self.own_events.warn)
        await wait_first(self._lead(), stop.wait(), self.election.lost.wait())
        self.is_stopping = stop.is_set()
        if not stop.is_set():  # the elector has said why; nothing begun as the leader may act any more
            logger.warning(
                "ending with exit code 1: what was begun as the leader must not act any more; "
                "whatever keeps this process running has to start it again"
            )
            await self.underway.finish(0)
            return 1
        is_finished = await self.underway.finish(FINISH_SECONDS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.outbox.drain(), DRAIN_SECONDS)
        await self.election.stop(release=is_finished, left=self.underway.unfinished)
        return 0

    async def _synced(self) -> None:
        """Return when everything was listed. The collector rests meanwhile: looking through it all pauses the loop."""
        gc.disable()
        waits = asyncio.get_running_loop().call_later(LISTING_SECONDS, gc.enable)
        try:
            await self._listed()
        finally:
            waits.cancel()
            gc.freeze()  # what was listed stays: it need not be looked through later either
            gc.enable()

    async def _listed(self) -> None:
        while missing := [each for each in self.reflectors if not each.synced.is_set()]:
            with contextlib.suppress(TimeoutError):  # a new document may have made it needless
                async with asyncio.timeout(1):
                    await missing[0].synced.wait()
        logger.info("synced", extra={"nodes": len(self.nodes.objects), "pods": len(self.pods.objects)})

    async def _lead(self) -> None:
        """Schedule as soon as we lead and know all that was written before we did."""
        await self.election.won.wait()
        self.own_events.became_leader()
        if self.election.has_rivals:
            await wait_until_caught_up((self.nodes, self.pods), (*self.objects.reflectors, *self.extenders.reflectors))
        logger.info("scheduling", extra={"pending": len(self.queue)})
        await self.loop.run()

    async def prepare(self, plan: Plan) -> PreparedChange:
        """Get ready for another plan, or raise RegistrationError or NotListedError and leave everything as it is."""
        before, new = self.objects.watches, self.objects.create_reflectors(plan.watches)
        originals = self.extenders.create_reflectors(plan.document.extenders)
        begun = (*new.values(), *originals)
        self.informers.start(begun)
        try:
            await wait_until_listed(begun)
            self.objects.adopt(plan.watches, new)
            made = self.profiles.build(plan, self._services)
        except BaseException:
            self.objects.keep_only(before)
            self.informers.stop(begun)
            raise
        finally:  # profiles refer to themselves in circles, and the collector comes to old ones once in hours
            asyncio.get_running_loop().call_later(TIDY_SECONDS, heap.release_memory)

        def commit() -> None:
            self.informers.stop(self.extenders.adopt(originals, plan.document.extenders))
            self._swap(plan, made)

        return PreparedChange(commit)

    def _swap(self, plan: Plan, made: Mapping[str, Framework]) -> None:
        before = frozenset(self.profiles)
        changed = self.profiles.replace(plan, made)
        for part in (self.loop, self.binding, self.preemption, self.queue):
            part.failures.reset()
        self.extenders.close_others(framework.extenders for framework in made.values())
        self.queue.change_backoff(plan.document.pod_initial_backoff_seconds, plan.document.pod_max_backoff_seconds)
        self.updates.change_profiles(changed, frozenset(self.profiles) - before, self.pods.objects.values())
        self.reporter.change_mode(plan.extras.events)
        self.informers.stop(self.objects.keep_only(plan.watches))


async def wait_first(*waits: Any) -> None:
    """Return when one of ``waits`` has ended, and cancel the others. What the one raised is raised."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
