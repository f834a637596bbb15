"""One scheduler process: the composition of its parts, and its life from the first list to its end.

list everything ──► stand for election ──► catch up ──► schedule
    (ready)                                                │
 SIGTERM: finish bindings, release the lease, exit code 0 ◄┤
 lease lost: post only that, exit code 1                  ◄┘

A lease is not released while bindings that were cut off may still arrive at the API server: it expires.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from scheduler_runtime.app.lease_events import LeaseEvents
from scheduler_runtime.app.memory import MemoryRelease
from scheduler_runtime.app.self_checks import ClockJumps, LoopStalls
from scheduler_runtime.app.settings import SchedulerSettings
from scheduler_runtime.catalog import Target
from scheduler_runtime.component.heartbeat import Heartbeat
from scheduler_runtime.config import failure_condition
from scheduler_runtime.framework import PluginServices, Progress
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.leader_election import Leadership, process_name
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.kube.watch.reflector_group import ReflectorGroup, wait_until_caught_up
from scheduler_runtime.reload.parts import ExtenderChange, FrameworkChange, Frameworks, SettingsChange, WatchChange
from scheduler_runtime.reload.plan import Plan, Planner
from scheduler_runtime.reload.pod_condition import OwnPodCondition
from scheduler_runtime.reload.reloader import DocumentSource, Reloader
from scheduler_runtime.scheduling.binding_cycle import BindingCycle
from scheduler_runtime.scheduling.binding_sender import BindingSender
from scheduler_runtime.scheduling.cluster_updates import ClusterUpdates
from scheduler_runtime.scheduling.extenders import ExtenderFactory
from scheduler_runtime.scheduling.failed_attempts import FailedAttempts
from scheduler_runtime.scheduling.io_batching import IoBatching
from scheduler_runtime.scheduling.loop import SchedulingLoop
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.pending import BackingOff, SchedulingQueue
from scheduler_runtime.scheduling.pods_underway import BindingSlots, PodsUnderway
from scheduler_runtime.scheduling.preemption import Preemption
from scheduler_runtime.scheduling.recent_failures import RecentFailures
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.scheduling.reporting.pod_reporter import PodConditions, PodReporter
from scheduler_runtime.scheduling.watched_objects import NODE, POD, ApiKind, WatchedObjects, WatchRevisions
from scheduler_runtime.serving.scrape_gauges import add_scheduler_gauges
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import Node, Pod, ResizeRules
from scheduler_runtime.state.objects.kinds import NODES, pods

logger = logging.getLogger(__name__)

FINISH_SECONDS = 10.0
"""How long bindings under way may take at the end, well within a pod's grace period."""
DRAIN_SECONDS = 3.0
"""How long events and conditions may take at the end."""
GARBAGE_COLLECTION_OFF_SECONDS = 60.0
"""The garbage collector is on again by then, even if the API server has not let us list everything."""
STOP_SECONDS = 6.0
"""How long the election may take at the end, which includes the release of the lease."""
BIND_SECONDS_WITHOUT_ELECTION = 30.0
"""How long a binding may take where no other process waits for the lease."""
WORKING_SECONDS = 10.0
"""The least time between two reports about plugins and extenders that fail."""
LONGEST_LIST = 5
"""How many of the unfinished bindings are named in the log."""
LAST_REQUESTS_SECONDS = 1.0
"""How long cancelled background work may take to end before the last event is posted."""
OLDER_DATA = "found older data at the API server than before, such as a backup that was restored, and listed all again"


class Clients(NamedTuple):
    """Two clients of the API server, each with connections and a rate limit of its own."""

    deciding: Client
    """For pods and nodes, bindings, and whatever else decisions need."""
    reporting: Client
    """For events and conditions, which must not delay decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerInputs:
    """Everything that a scheduler is built from."""

    settings: SchedulerSettings
    plan: Plan
    """The document that the process starts with, and its plugins."""
    planner: Planner
    """Makes the plans of new documents."""
    source: DocumentSource
    """Where new documents come from."""
    target: Target
    """The Kubernetes version to behave like, and its feature gates."""
    clients: Clients
    election: Leadership
    heartbeat: Heartbeat
    """Made before the election, whose elector asks it whether the event loop is stuck."""
    metrics: Metrics


@dataclass(kw_only=True)
class Scheduler:
    """A scheduler process; ``build`` makes its parts."""

    # Used by ``run``.
    election: Leadership
    lease_events: LeaseEvents
    nodes: Reflector[Node]
    pods: Reflector[Pod]
    objects: WatchedObjects
    extenders: ExtenderFactory
    running_reflectors: ReflectorGroup
    loop: SchedulingLoop
    underway: PodsUnderway
    outbox: Outbox
    background: Sequence[Callable[[], Coroutine[Any, Any, None]]]
    """What runs beside the scheduling from the start to the end."""

    # Read by gauges and pages.
    heartbeat: Heartbeat
    cache: Cache
    nominations: Nominations
    queue: SchedulingQueue
    progress: Progress
    pod_events: PodEvents
    frameworks: Frameworks
    updates: ClusterUpdates
    reloader: Reloader
    is_stopping: bool = False
    """Whether the process was told to end, for /readyz."""

    @property
    def reflectors(self) -> tuple[Reflector[Any], ...]:
        """The reflectors that must have listed before the first decision."""
        return (*self.objects.reflectors, *self.extenders.reflectors, self.nodes, self.pods)

    def configz_page(self) -> dict[str, Any]:
        """Return the content of /configz."""
        return self.reloader.configz_page()

    async def run(self, stop: asyncio.Event) -> int:
        """Follow the cluster, stand for election and schedule until ``stop`` or the loss of the lease.

        Return the exit code.
        """
        async with asyncio.TaskGroup() as group:
            self.running_reflectors.start(self.reflectors)
            background = [group.create_task(run()) for run in self.background]
            try:
                has_lost_lease = await self._run_until_stopped(stop)
            finally:
                for task in background:
                    task.cancel()
                self.extenders.close()
            if has_lost_lease and self.election.won.is_set():
                # The event that we stopped leading is the last request: whoever reads it may rely on that.
                await asyncio.wait(background, timeout=LAST_REQUESTS_SECONDS)
                await self.lease_events.stopped_leading()
            return 1 if has_lost_lease else 0

    async def _run_until_stopped(self, stop: asyncio.Event) -> bool:
        """Schedule until ``stop``, and end in order; or return True once the lease is lost."""
        await wait_first(self._wait_synced(), stop.wait())
        if stop.is_set():
            return False
        self.election.start(self.lease_events.warn)
        await wait_first(self._schedule_as_leader(), stop.wait(), self.election.lost.wait())
        if not stop.is_set():  # the elector has logged why
            logger.warning(
                "ending with exit code 1: what was begun as the leader must not act any more; "
                "whatever keeps this process running has to start it again"
            )
            await self.underway.finish(0)
            return True
        self.is_stopping = True
        # In this order: the events of bindings follow the bindings, and the lease is kept until both are sent.
        is_finished = await self.underway.finish(FINISH_SECONDS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.outbox.drain(), DRAIN_SECONDS)
        # A binding that was cut off may still arrive at the API server: until the lease expires nobody else leads.
        if not is_finished and (lease := self.election.settings):
            unfinished = self.underway.unfinished
            logger.warning(
                "lease %s is not released, others wait until it runs out: bindings or preemptions did not end "
                "in time, and may still be carried out%s",
                lease.key,
                f": {shorten(unfinished)}" if unfinished else "",
            )
        await self.election.stop(release=is_finished, seconds=STOP_SECONDS)
        return False

    async def _wait_synced(self) -> None:
        """Return when everything is listed.

        The garbage collector is off meanwhile: it would pause the loop to look through objects that all stay. For the
        same reason these are left out of its later runs.
        """
        gc.disable()
        timer = asyncio.get_running_loop().call_later(GARBAGE_COLLECTION_OFF_SECONDS, gc.enable)
        try:
            while missing := [reflector for reflector in self.reflectors if not reflector.synced.is_set()]:
                # Look again each second: a new document may have made the reflector needless.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(1):
                        await missing[0].synced.wait()
        finally:
            timer.cancel()
            gc.freeze()
            gc.enable()
        logger.info("synced", extra={"nodes": len(self.nodes.objects), "pods": len(self.pods.objects)})

    async def _schedule_as_leader(self) -> None:
        """Schedule once this process leads and has seen everything that was written before it did."""
        await self.election.won.wait()
        self.lease_events.became_leader()
        # What the last leader bound may not have arrived by a watch yet.
        if self.election.has_rivals:
            others = (*self.objects.reflectors, *self.extenders.reflectors)
            await wait_until_caught_up((self.nodes, self.pods), others)
        logger.info("scheduling", extra={"pending": len(self.queue)})
        await self.loop.run()


def build(inputs: SchedulerInputs) -> Scheduler:
    """Make the parts in the order in which they know each other: none refers to a later one.

    To be called in the event loop. Raises RegistrationError.
    """
    settings, plan, target, metrics = inputs.settings, inputs.plan, inputs.target, inputs.metrics
    election, (deciding, reporting) = inputs.election, inputs.clients

    # The state of the cluster, and the pods on their way to a node.
    cache, nominations, progress = Cache(), Nominations(), Progress()
    slots = BindingSlots()
    underway = PodsUnderway(slots, progress)

    # Reports: to the API server behind bindings, never before them.
    outbox = Outbox(is_busy=slots.sending.locked)
    pod_events = PodEvents(reporting, outbox, process_name(), mode=plan.extras.events)
    reporter = PodReporter(pod_events, PodConditions(reporting, outbox, nominations))
    first_profile = plan.document.profiles[0].scheduler_name
    lease_events = LeaseEvents(reporting, outbox, election, first_profile, events=lambda: pod_events.mode)
    recent = RecentFailures()
    recent.start_anew(plan.document.pod_max_backoff_seconds)
    loaded = OwnPodCondition(reporting, *settings.pod) if settings.pod else None
    working = OwnPodCondition(reporting, *settings.pod, least_seconds=WORKING_SECONDS) if settings.pod else None

    # What binds and preempts, while this process leads.
    # A binding is sent only while it would arrive, or time out, before another leader may act.
    lease = election.settings
    bind_seconds = 0.9 * (lease.lease_duration - lease.renew_deadline) if lease else BIND_SECONDS_WITHOUT_ELECTION
    binds = BindingSender(deciding, election.leads_until, bind_seconds)
    preemption = Preemption(
        deciding, binds.check_fence, underway, pod_events, nominations, cache, metrics, version=target.version
    )

    # The queue asks the frameworks, whose plugins reach the queue and all watched objects through their handles. So
    # the frameworks are a mapping that is empty until everything that plugins can reach exists.
    extenders = ExtenderFactory(deciding, binds, recent, plan.document.extenders)
    frameworks = Frameworks(target, settings.seed, extenders.build)
    backing_off = BackingOff(
        plan.document.pod_initial_backoff_seconds,
        plan.document.pod_max_backoff_seconds,
        lets_go_early=target.enabled("SchedulerPopFromBackoffQ"),
    )
    queue = SchedulingQueue(
        frameworks,
        backing_off=backing_off,
        longest_parked=settings.longest_parked,
        metrics=metrics,
        reporter=reporter,
        recent=recent,
    )
    revisions = WatchRevisions()
    updates = ClusterUpdates(cache, queue, nominations, frameworks, underway, reporter.conditions, revisions)

    # The watches, whose changes arrive in ``updates`` once they run.
    def on_rollback() -> None:
        cache.victims.forget_asked()
        lease_events.warn("OlderData", OLDER_DATA)

    running_reflectors = ReflectorGroup(on_rollback)
    node_reflector = Reflector(NODES, deciding, updates.node)
    pod_reflector = Reflector(pods(ResizeRules.of(target)), deciding, updates.pod)
    own_copies: dict[ApiKind, Reflector[Any]] = {NODE: node_reflector, POD: pod_reflector}
    objects = WatchedObjects(plan.watches, deciding, updates.object, own_copies, revisions)

    services = _plugin_services(binds, pod_events, queue, objects, nominations, preemption, metrics, progress, cache)
    frameworks.replace(frameworks.build(plan, services))

    # The way of a pod.
    failed = FailedAttempts(queue, reporter, metrics, recent)
    binding = BindingCycle(frameworks, cache, queue, slots, underway, failed, reporter, metrics, recent)
    loop = SchedulingLoop(queue, frameworks, cache, slots, binding, preemption, failed, reporter, metrics)

    # New documents: every part that depends on the document is in this list. They are prepared from the first to the
    # last, so that frameworks are built when all that they read is there, and committed from the last to the first, so
    # that nothing is taken away while the replaced frameworks still read it. The settings change before the frameworks,
    # which move the waiting pods: these back off by the new ones.
    reloader = Reloader(
        plan,
        (
            MemoryRelease(),
            WatchChange(objects, running_reflectors),
            ExtenderChange(extenders, frameworks, running_reflectors),
            FrameworkChange(frameworks, services, updates, pod_reflector),
            SettingsChange(
                backing_off, pod_events, recent, loop.failures, binding.failures, preemption.failures, queue.failures
            ),
        ),
        inputs.planner,
        lambda report: loaded.set(report.condition()) if loaded else None,
    )

    clock_jumps = ClockJumps(lambda what: lease_events.warn("ClockJumped", f"says that {what}"))
    scheduler = Scheduler(
        election=election,
        heartbeat=inputs.heartbeat,
        lease_events=lease_events,
        cache=cache,
        nominations=nominations,
        queue=queue,
        progress=progress,
        underway=underway,
        outbox=outbox,
        pod_events=pod_events,
        extenders=extenders,
        frameworks=frameworks,
        updates=updates,
        running_reflectors=running_reflectors,
        nodes=node_reflector,
        pods=pod_reflector,
        objects=objects,
        loop=loop,
        reloader=reloader,
        background=(
            outbox.run,
            running_reflectors.run,
            inputs.heartbeat.run,
            LoopStalls().run,
            clock_jumps.run,
            IoBatching(slots.crowded, outbox).run,
            partial(reloader.run, inputs.source),
            *((loaded.run,) if loaded else ()),
            *(
                (working.run, partial(recent.run, lambda failures: working.set(failure_condition(failures))))
                if working
                else ()
            ),
        ),
    )
    add_scheduler_gauges(metrics, scheduler, target)
    return scheduler


def _plugin_services(  # noqa: PLR0913 - everything that plugins can reach
    binds: BindingSender,
    pod_events: PodEvents,
    queue: SchedulingQueue,
    objects: WatchedObjects,
    nominations: Nominations,
    preemption: Preemption,
    metrics: Metrics,
    progress: Progress,
    cache: Cache,
) -> PluginServices:
    def record(pod: Pod, reason: str, message: str, is_warning: bool) -> None:
        pod_events.record(pod, reason, message, warning=is_warning)

    def activate(pods: Iterable[Pod]) -> None:
        queue.activate([pod.uid for pod in pods], time.monotonic())

    def latest(pod: Pod) -> Pod | None:
        placed = cache.get(pod.uid)
        return placed.pod if placed else None

    return PluginServices(
        binds=binds,
        record=record,
        activate=activate,
        objects=objects,
        nominations=nominations,
        victims=cache.victims,
        preemptions=preemption,
        metrics=metrics,
        progress=progress,
        latest=latest,
    )


def shorten(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = f" and {len(names) - LONGEST_LIST} more" if len(names) > LONGEST_LIST else ""
    return ", ".join(names[:LONGEST_LIST]) + more


async def wait_first(*waits: Any) -> None:
    """Return when one of ``waits`` has ended, and cancel the others. Raises what that one raised."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        # They have ended when the caller goes on: what it does next meets none of them at work.
        await asyncio.gather(*tasks, return_exceptions=True)
