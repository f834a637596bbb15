"""What happens to a pod after its node is chosen: permit, pre_bind, bind, post_bind, or all the way back.

            wait_on_permit ──► pre_bind ──► bind ──► post_bind
                  │               │          │
                  └───────────────┴──────────┴────► unreserve, forget, wake others, requeue, report

Each pod has a task of its own, and every way out of it either leaves the pod bound or gives its room back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from functools import partial
from typing import Any

from scheduler_runtime.api import Action, Event
from scheduler_runtime.framework import (
    DECISION,
    EXTENDER,
    BindError,
    FailureLog,
    Framework,
    Placed,
    PreBindPlan,
    Progress,
    Unschedulable,
    caught_exceptions,
    is_our_cancellation,
)
from scheduler_runtime.kube.client import NoResponseError
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.scheduling.fenced_binds import AlreadyBoundError, FencedError, PodGoneError
from scheduler_runtime.scheduling.io_batching import CROWD
from scheduler_runtime.scheduling.metrics import Attempt, Metrics
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.scheduling.reporting.pod_conditions import SCHEDULER_ERROR, UNSCHEDULABLE, PodConditions
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.state.cache import Cache, PlacedPod
from scheduler_runtime.state.objects import Pod

logger = logging.getLogger(__name__)

SLOTS = 64
BACKLOG = 4 * SLOTS
CANCELLED = "a plugin cancelled the task in which its pod was on the way to its node"


class BindingCycle:
    """Carries placed pods to their nodes, many at a time."""

    def __init__(
        self,
        frameworks: Mapping[str, Framework],
        cache: Cache,
        pending: SchedulingQueue,
        recorder: PodEvents,
        conditions: PodConditions,
        metrics: Metrics,
        steps: Progress,
    ) -> None:
        """``steps`` are what pods on their way wait for, as the frameworks note it."""
        self._frameworks = frameworks
        self._cache = cache
        self._pending = pending
        self.recorder = recorder
        self._conditions = conditions
        self._metrics = metrics
        self._steps = steps
        self.failures = FailureLog(logger)
        self._slots = asyncio.Semaphore(SLOTS)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._waiting: set[str] = set()
        self._given_up: set[str] = set()
        """Whose way we end ourselves."""
        self._works: set[asyncio.Task[None]] = set()
        self._preparing: dict[str, asyncio.Future[Unschedulable | None]] = {}
        self._called_back: dict[str, str] = {}
        self._room = asyncio.Event()
        self._room.set()
        self.crowded = asyncio.Event()
        """Set while many are under way."""
        self.left: tuple[str, ...] = ()
        """What had not ended when it was given up, with what it waited for."""

    def __len__(self) -> int:
        """How many pods are on their way, those that wait for a permit included."""
        return len(self._tasks)

    @property
    def is_busy(self) -> bool:
        """Whether a binding waits for its turn."""
        return self._slots.locked()

    def carries(self, uid: str) -> bool:
        """Whether the pod with this uid is on its way to its node."""
        return uid in self._tasks

    async def room(self) -> None:
        """Return when there are few enough bindings under way to start another."""
        await self._room.wait()

    def start(self, placed: Placed, attempt: Attempt) -> None:
        """Take a placed pod on its way; ``attempt`` is what is measured of it."""
        uid, framework = placed.pod.uid, self._frameworks[placed.pod.spec.scheduler_name]
        task = self._tasks[uid] = asyncio.create_task(
            self._carry(placed, framework, attempt), name=f"bind {placed.pod.key}"
        )
        task.add_done_callback(partial(self._ended, uid))
        self._measure()

    def cancel(self, pod: Pod) -> None:
        """Stop waiting for the permit of a pod that is not ours any more. A binding under way ends by itself."""
        if pod.uid in self._waiting:
            self._give_up(pod.uid)

    def _give_up(self, uid: str) -> None:
        """End the pod's way where it is."""
        if task := self._tasks.get(uid):
            self._given_up.add(uid)
            task.cancel()

    def call_back(self, pod: Pod, plugin: str) -> bool:
        """Send a pod that is not bound yet back to the queue, because ``plugin`` needs its room.

        Return whether it was not too late. Before 1.36 only pods that wait for a permit can be called back.
        """
        framework = self._frameworks.get(pod.spec.scheduler_name)
        if framework is None:
            return False
        if framework.call_back(pod, plugin):
            return True
        work = self._preparing.get(pod.uid)
        if work is None or not framework.version.at_least("1.36"):
            return False
        self._called_back[pod.uid] = plugin
        work.cancel()
        return True

    async def finish(self, seconds: float) -> bool:
        """Wait until the bindings under way have ended and room is made, at most ``seconds``; give up what is left.

        Return whether nothing was left: what is given up may have been sent, and is carried out then.
        """
        for uid in tuple(self._waiting):
            self._give_up(uid)
        under_way = {*self._tasks.values(), *self._works}
        if not under_way:
            return True
        _, late = await asyncio.wait(under_way, timeout=seconds)
        self.left = tuple(self._told(late))
        self._given_up.update(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return not late

    def _told(self, late: Collection[asyncio.Task[None]]) -> Iterator[str]:
        """Each of these with what it waits for."""
        waits_for = self._steps.describe(time.monotonic())
        uids = {task: uid for uid, task in self._tasks.items()}
        for task in sorted(late, key=asyncio.Task.get_name):
            steps = waits_for.get(uids.get(task, ""))
            yield f"{task.get_name()} ({', '.join(steps)})" if steps else task.get_name()

    def report(self, outcome: Unschedulable) -> None:
        """Tell the pod's author why it has no node, and do what a plugin has begun to make room."""
        self.recorder.failed(outcome.pod, outcome.message)
        logger.log(DECISION, "unschedulable", extra={"pod": outcome.pod.key, "because": outcome.message})
        nomination = outcome.nomination
        self._say(outcome.pod, UNSCHEDULABLE, outcome.message)
        if nomination and nomination.work and not nomination.at_once:
            work = asyncio.create_task(
                self.make_room(outcome.pod, nomination.work), name=f"make room for {outcome.pod.key}"
            )
            self._works.add(work)
            work.add_done_callback(self._works.discard)

    async def make_room(self, pod: Pod, work: Coroutine[Any, Any, None]) -> None:
        """Do what a plugin does to make room for ``pod``."""
        began, result = time.monotonic(), "error"
        try:
            await work
            result = "success"
        except caught_exceptions() as error:  # a plugin's; it is told of at the pod, which is tried again in time
            if is_our_cancellation(error):
                raise
            self.failures.log("making room failed", error, pod=pod.key)
        finally:
            self._metrics.preemption_carried_out(result, time.monotonic() - began)

    def report_error(self, pod: Pod, message: str) -> None:
        """Tell the pod's author that something other than a lack of nodes keeps the pod waiting."""
        self.recorder.failed(pod, message)
        self._say(pod, SCHEDULER_ERROR, message)

    def _say(self, pod: Pod, reason: str, message: str) -> None:
        """Write why a pod has no node, compared with what its status says by now."""
        self._conditions.unscheduled(self._pending.latest(pod.uid) or pod, reason, message)

    async def _carry(self, placed: Placed, framework: Framework, attempt: Attempt) -> None:
        """Bring one pod to its node. Whatever goes wrong, its room is given back.

        The plugins that placed it see it through, also when the profile has others meanwhile.
        """
        pod = placed.pod
        try:
            flights = framework.run_pre_bind_pre_flights(placed)
            if framework.writes_expected_node and (placed.waits or flights):
                self._conditions.expected(pod, placed.node)
            rejected = await self._permit(placed, framework)
            if rejected:
                self._undo(placed, framework, partial(self._pending.park, pod.uid, rejected.plugins))
                self._ended_without(rejected, attempt)
                return
            self._pending.settle(pod.uid)
            rejected = await self._prepare(placed, framework, flights)
            if rejected:  # what happened since it was settled was not kept for it: it must not wait for an event
                self._undo(placed, framework, partial(self._pending.retry, pod.uid, error=rejected.message))
                self._ended_without(rejected, attempt)
                return
            await self._conditions.silence(pod.uid)
            async with self._slots:
                await framework.run_bind_plugins(placed)
            self._bound(placed, framework, attempt)
        except BindError as error:
            self._undo(placed, framework, partial(self._pending.retry, pod.uid, error=error.message))
            self._report_failure(pod, error, attempt)
        except asyncio.CancelledError:
            if pod.uid in self._given_up:
                self._undo(placed, framework)
                raise
            self._undo(placed, framework, partial(self._pending.retry, pod.uid, error=CANCELLED))
            self._report_failure(pod, BindError("", CANCELLED), attempt)
        except Exception as error:  # an error of ours in one pod's way must not end the others'
            logger.exception("binding ended unexpectedly", extra={"pod": pod.key})
            self._undo(placed, framework, partial(self._pending.retry, pod.uid, error=f"internal error: {error}"))
            self._metrics.ended("error", pod.spec.scheduler_name, time.monotonic() - attempt.began)
            self.report_error(pod, f"internal error: {error}")

    def _ended_without(self, rejected: Unschedulable, attempt: Attempt) -> None:
        seconds = time.monotonic() - attempt.began
        self._metrics.ended("unschedulable", rejected.pod.spec.scheduler_name, seconds)
        self.report(rejected)

    async def _permit(self, placed: Placed, framework: Framework) -> Unschedulable | None:
        if not placed.waits:
            return None
        self._waiting.add(placed.pod.uid)
        self._measure()
        began, result = time.monotonic(), "Error"
        try:
            rejected = await framework.wait_on_permit(placed)
            result = "Unschedulable" if rejected else "Success"
            return rejected
        finally:
            self._metrics.permitted(result, time.monotonic() - began)
            self._waiting.discard(placed.pod.uid)
            self._measure()

    async def _prepare(self, placed: Placed, framework: Framework, flights: PreBindPlan) -> Unschedulable | None:
        """Run what comes before the binding; until it ends the pod can be called back."""
        if not flights:
            return None
        uid = placed.pod.uid
        work = self._preparing[uid] = asyncio.ensure_future(framework.run_pre_bind_plugins(placed, flights))
        try:
            rejected = await work
        except asyncio.CancelledError:
            if uid not in self._called_back:
                raise
            rejected = None
        finally:
            del self._preparing[uid]
            plugin = self._called_back.pop(uid, "")
        if plugin:
            raise BindError(plugin, f"preempted by {plugin}")
        return rejected

    def _bound(self, placed: Placed, framework: Framework, attempt: Attempt) -> None:
        framework.run_post_bind_plugins(placed)
        self.recorder.scheduled(placed.pod, placed.node)
        self._metrics.scheduled(placed.pod.spec.scheduler_name, attempt, time.monotonic())
        logger.log(DECISION, "bound", extra={"pod": placed.pod.key, "node": placed.node, "attempt": attempt.number})

    def _undo(self, placed: Placed, framework: Framework, wait: Callable[[float], None] = lambda _: None) -> None:
        """Give the room back, let the pod ``wait`` again, and wake the others whom its room may help.

        They are woken too when the pod was deleted before: what plugins had reserved for it is free only now.
        """
        framework.run_unreserve_plugins(placed)
        now = time.monotonic()
        self._cache.forget(placed.pod)
        wait(now)
        freed = PlacedPod(placed.pod, placed.node, assumed=True).pod_on_node
        self._pending.happened(Event("Pod", Action.DELETE, freed, None), now, by=placed.pod.uid)

    def _report_failure(self, pod: Pod, error: BindError, attempt: Attempt) -> None:
        self._metrics.ended("error", pod.spec.scheduler_name, time.monotonic() - attempt.began)
        cause = error.__cause__
        if isinstance(cause, FencedError | PodGoneError | AlreadyBoundError | NoResponseError):
            logger.log(DECISION, "not bound", extra={"pod": pod.key, "because": str(error)})
            return  # it is said once for all, or nobody reads it, or another says how the pod fares
        if cause is None or error.plugin in IN_TREE or error.plugin == EXTENDER:
            logger.info("not bound", extra={"pod": pod.key, "plugin": error.plugin, "because": str(error)})
        else:
            self.failures.log("not bound", error, pod=pod.key, plugin=error.plugin)
        self.report_error(pod, error.message)

    def _ended(self, uid: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(uid) is task:  # the pod may be on its way again
            del self._tasks[uid]
            self._given_up.discard(uid)
        self._measure()

    def _measure(self) -> None:
        """Open or close the door for further bindings. Those that wait for a permit do not fill the way."""
        under_way = len(self._tasks) - len(self._waiting)
        _show(self._room, holds=under_way < BACKLOG)
        _show(self.crowded, holds=under_way >= CROWD)


def _show(state: asyncio.Event, *, holds: bool) -> None:
    if holds:
        state.set()
    else:
        state.clear()
