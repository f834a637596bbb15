"""The way of a placed pod to its node: permit, pre_bind, bind, post_bind, or all the way back.

            wait_on_permit ──► pre_bind ──► bind ──► post_bind
                  │               │          │
                  └───────────────┴──────────┴────► unreserve, forget, wait again, wake others, report

Each pod has a task of its own (see ``pods_underway``), and every way out of it either leaves the pod bound or gives
its room back. Four things are called bind, from the outside to the inside: this cycle; ``framework.binding_hooks``,
which calls the hooks of the plugins; DefaultBinder in ``plugins.queueing_and_binding``, the plugin that usually binds;
and ``binding_sender``, which sends the request.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial

from scheduler_runtime.api import Action, Event, Pod
from scheduler_runtime.framework import (
    DECISION,
    EXTENDER,
    BindError,
    FailureLog,
    Framework,
    Placed,
    PreemptedError,
    Unschedulable,
)
from scheduler_runtime.kube.client import NoResponseError
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.scheduling.binding_sender import AlreadyBoundError, FencedError, PodGoneError
from scheduler_runtime.scheduling.failed_attempts import FailedAttempts
from scheduler_runtime.scheduling.metrics import Attempt, Metrics
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.scheduling.pods_underway import BindingSlots, PodsUnderway
from scheduler_runtime.scheduling.recent_failures import RecentFailures
from scheduler_runtime.scheduling.reporting.pod_reporter import PodReporter
from scheduler_runtime.state.cache import Cache, PlacedPod

logger = logging.getLogger(__name__)

CANCELLED = "a plugin cancelled the task in which its pod was on the way to its node"


class BindingCycle:
    """Brings placed pods to their nodes, many at a time."""

    def __init__(  # noqa: PLR0913 - parts that are wired together in one place
        self,
        frameworks: Mapping[str, Framework],
        cache: Cache,
        queue: SchedulingQueue,
        slots: BindingSlots,
        underway: PodsUnderway,
        failed: FailedAttempts,
        reporter: PodReporter,
        metrics: Metrics,
        recent: RecentFailures,
    ) -> None:
        self._frameworks = frameworks
        self._cache = cache
        self._queue = queue
        self._slots = slots
        self._underway = underway
        self._failed = failed
        self._reporter = reporter
        self._metrics = metrics
        self._recent = recent
        self.failures = FailureLog(logger)

    def start(self, placed: Placed, attempt: Attempt) -> None:
        """Let a placed pod go to its node in the background; ``attempt`` is what is measured of it.

        The plugins that placed the pod see it through, also when its profile gets others meanwhile: what they
        reserved only they can give back.
        """
        framework = self._frameworks[placed.pod.spec.scheduler_name]
        self._underway.start(placed.pod, framework, self._bind_pod(placed, framework, attempt))

    async def _bind_pod(self, placed: Placed, framework: Framework, attempt: Attempt) -> None:
        """Bring one pod to its node. Raises nothing but its cancellation by ``PodsUnderway``."""
        pod, uid, hooks = placed.pod, placed.pod.metadata.uid, framework.binding
        try:
            plan = hooks.run_pre_bind_pre_flights(placed)
            if framework.writes_expected_node and (placed.waits or plan):
                # KEP-5278: what takes a while is announced, so that autoscalers count the node as used meanwhile.
                self._reporter.conditions.write_expected_node(pod, placed.node)

            if placed.waits:
                rejected = await self._wait_on_permit(placed, framework)
                if rejected:
                    wait_again = partial(self._failed.unschedulable, rejected, attempt.began)
                    self._give_room_back(placed, framework, wait_again)
                    return

            # From here on no event can change the outcome, so none is recorded for the pod any more.
            self._queue.mark_binding(uid)

            if plan:
                rejected = await self._underway.run_unless_preempted(uid, hooks.run_pre_bind_plugins(placed, plan))
                if rejected:
                    # Not parked: an event that came since mark_binding would be waited for in vain.
                    wait_again = partial(self._failed.unschedulable, rejected, attempt.began, is_parked=False)
                    self._give_room_back(placed, framework, wait_again)
                    return

            # A condition "unschedulable" of an earlier attempt must not arrive after the binding.
            await self._reporter.conditions.withdraw_and_wait(uid)
            async with self._slots.sending:
                await hooks.run_bind_plugins(placed)
        except BindError as error:
            self._give_room_back(placed, framework, partial(self._end_in_error, pod, error, attempt))
        except asyncio.CancelledError:
            if self._underway.is_abandoned(uid):
                self._give_room_back(placed, framework)
                raise
            # A plugin cancelled the task that it runs in: its pod alone pays for that.
            cancelled = BindError("", CANCELLED)
            self._give_room_back(placed, framework, partial(self._end_in_error, pod, cancelled, attempt))
        except Exception as error:  # a bug of ours on one pod's way must not end the way of the others
            logger.exception("binding ended unexpectedly", extra={"pod": pod.key})
            message = f"internal error: {error}"
            self._give_room_back(placed, framework, partial(self._failed.error, pod, message, attempt.began))
        else:
            # The pod is on its node: whatever fails from here on must not give its room to others.
            try:
                hooks.run_post_bind_plugins(placed)
                self._reporter.events.scheduled(pod, placed.node)
                self._recent.attempt_passed(pod, is_bound=True)
                self._metrics.observe_scheduled(pod.spec.scheduler_name, attempt, time.monotonic())
                logger.log(DECISION, "bound", extra={"pod": pod.key, "node": placed.node, "attempt": attempt.number})
            except Exception:
                logger.exception("a pod was bound, but not all was reported", extra={"pod": pod.key})

    async def _wait_on_permit(self, placed: Placed, framework: Framework) -> Unschedulable | None:
        uid, began, result = placed.pod.metadata.uid, time.monotonic(), "Error"
        self._underway.begin_permit_wait(uid)
        try:
            rejected = await framework.binding.wait_on_permit(placed)
            result = "Unschedulable" if rejected else "Success"
            return rejected
        finally:
            self._metrics.observe_permit_wait(result, time.monotonic() - began)
            self._underway.end_permit_wait(uid)

    def _give_room_back(
        self, placed: Placed, framework: Framework, wait_again: Callable[[], None] = lambda: None
    ) -> None:
        """Take back the placement: ``wait_again`` lets the pod wait, and others whom its room may help are woken.

        The order matters. The plugins go first, so that what they had reserved is free before anybody is woken. The
        pod waits again before the others are woken, and is itself not woken by the room that it gives back. The
        others are woken also when the pod was deleted long ago: only now is everything free that it had.
        """
        pod = placed.pod
        framework.release(placed, self._cache)
        try:
            wait_again()
        finally:  # the room is free, whatever fails
            on_its_node = PlacedPod(pod, placed.node, assumed=True).pod_on_node
            event = Event("Pod", Action.DELETE, on_its_node, None)
            self._queue.on_event(event, time.monotonic(), caused_by=pod.metadata.uid)

    def _end_in_error(self, pod: Pod, error: BindError, attempt: Attempt) -> None:
        """Let the pod of a binding that failed wait again, and report why if there is somebody who has to know."""
        cause, is_reported = error.__cause__, True
        if isinstance(cause, FencedError | PodGoneError | AlreadyBoundError | NoResponseError):
            # That we do not lead, or that the API server is away, is logged once for all pods; a pod that is gone has
            # no reader; and who bound the pod elsewhere reports how it is.
            is_reported = False
            logger.log(DECISION, "not bound", extra={"pod": pod.key, "because": str(error)})
        elif cause is None or error.plugin in IN_TREE or error.plugin == EXTENDER:
            logger.info("not bound", extra={"pod": pod.key, "plugin": error.plugin, "because": str(error)})
        else:
            self.failures.log("not bound", error, pod=pod.key, plugin=error.plugin)
        is_failure = is_reported and error.plugin != EXTENDER and not isinstance(error, PreemptedError)
        plugin_error = error if is_failure else None
        self._failed.error(pod, error.message, attempt.began, is_reported=is_reported, plugin_error=plugin_error)
