"""The scheduling loop: take a pod, decide, then start its binding or park it. Everything else happens around it.

watches ──► cluster updates ─► cache ──► table ──► framework ──► binding cycle ──► API server
                  │              ▲                     │               │
                  └──► queue ◄───┼─────────────────────┴───────────────┘
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from time import thread_time

from scheduler_runtime.framework import (
    ExtenderAnswers,
    FailureLog,
    Framework,
    Placed,
    PluginError,
    Unschedulable,
)
from scheduler_runtime.scheduling.binding_cycle import BindingCycle
from scheduler_runtime.scheduling.extenders import ExtenderError, RawObjectError
from scheduler_runtime.scheduling.failed_attempts import FailedAttempts
from scheduler_runtime.scheduling.metrics import Attempt, Metrics
from scheduler_runtime.scheduling.pending import QueuedPod, QueuePlace, SchedulingQueue
from scheduler_runtime.scheduling.pending.attempt_budget import SLOW_SECONDS
from scheduler_runtime.scheduling.pods_underway import BindingSlots
from scheduler_runtime.scheduling.preemption import Preemption
from scheduler_runtime.scheduling.reporting.pod_reporter import PodReporter
from scheduler_runtime.state.cache import Cache

logger = logging.getLogger(__name__)

SLICE_SECONDS = 0.005
"""How long decisions may follow each other before watches and bindings get their turn."""
YIELD_SECONDS = 0.005
"""How often pods that yield look whether the bindings of others have ended."""
SLOW_LOG_SECONDS = 60.0
"""After a slow attempt was logged no other one is for so long; the metric counts all."""
PAUSE_SECONDS = 1.0
"""The pause after no pod could be taken because of an error."""
MIN_WAIT_SECONDS = 0.001
"""The shortest wait for a pod that backs off: timers fire a little early, and the last microseconds would be a spin."""
NO_ANSWERS = ExtenderAnswers()


class SchedulingLoop:
    """Decides about one pod after the other."""

    def __init__(  # noqa: PLR0913 - parts that are wired together in one place
        self,
        queue: SchedulingQueue,
        frameworks: Mapping[str, Framework],
        cache: Cache,
        slots: BindingSlots,
        binding: BindingCycle,
        preemption: Preemption,
        failed: FailedAttempts,
        reporter: PodReporter,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``frameworks`` are by the names of their profiles, and may change between two decisions."""
        self.queue = queue
        self._frameworks = frameworks
        self._cache = cache
        self._slots = slots
        self._binding = binding
        self._preemption = preemption
        self._failed = failed
        self._reporter = reporter
        self._metrics = metrics
        self._clock = clock
        self.failures = FailureLog(logger)
        self._paused_at = 0.0
        self._asking: dict[str, asyncio.Task[None]] = {}
        """By profile, the attempt for which extenders are asked."""
        self._cpu_began = 0.0
        """The CPU time of this thread when deciding about it began, or when extenders answered last."""
        self._busy_since = 0.0
        """When the last attempt ended, extenders answered last, or a pod came after there was none."""
        self._full_collections = 0
        """Of all objects, by the garbage collector, as of the last slow attempt."""
        self._logged_slow_at = float("-inf")

    async def run(self) -> None:
        """Schedule until cancelled, whatever one attempt ends in."""
        try:
            while True:
                try:
                    await self.schedule_one()
                except Exception:
                    logger.exception("taking the next pod failed")
                    await asyncio.sleep(PAUSE_SECONDS)
        finally:
            waiting = list(self._asking.values())
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def schedule_one(self) -> None:
        """Take one pod and attempt to place it.

        Where extenders have a say that is a task of its own, one for each profile, because an extender may be slow or
        never answer: pods of other profiles, and those that no extender looks after, do not wait for it.
        """
        entry = await self._next_pod()
        if self._is_for_extenders(entry):
            task = self._asking[entry.profile] = asyncio.create_task(self._attempt(entry), name=entry.pod.key)
            task.add_done_callback(partial(self._on_asked, entry.profile))
        else:
            await self._attempt(entry)

    def _on_asked(self, profile: str, _: asyncio.Task[None]) -> None:
        del self._asking[profile]
        self.queue.release_held(profile)

    def _is_for_extenders(self, entry: QueuedPod) -> bool:
        """Return whether extenders have a say in where the pod goes."""
        framework = self._frameworks.get(entry.profile)
        return (
            framework is not None
            and framework.extenders is not None
            and framework.extenders.are_interested_in(entry.pod)
        )

    def _is_held(self, entry: QueuedPod) -> bool:
        """Return whether a pod has to wait until its extenders have answered about another: they are asked in order."""
        return entry.profile in self._asking and self._is_for_extenders(entry)

    async def _attempt(self, entry: QueuedPod) -> None:
        """Decide about a pod and carry that out; whatever goes wrong is this pod's alone."""
        try:
            await self._place(entry)
        except Exception as error:
            # Neither the decision nor the report of its failure went as it has to: this pod backs off.
            logger.exception("an attempt ended unexpectedly")
            if entry.place is QueuePlace.IN_FLIGHT:
                self._cache.forget(entry.pod)
                self.queue.retry(entry.uid, self._clock(), type(error).__name__)

    async def _place(self, entry: QueuedPod) -> None:
        """Afterwards the binding of the pod is under way, or the pod waits again and its author knows why."""
        if entry.pod.metadata.deletion_timestamp:
            self._drop_deleting_pod(entry)
            return
        if self._cache.get(entry.uid):
            # As upstream's skipPodSchedule for an assumed pod: the API server showed an older state of the pod once
            # more, so it was queued again, although this scheduler has its node and its binding is under way.
            self.queue.mark_binding(entry.uid)
            return

        began, self._cpu_began = self._clock(), thread_time()
        try:
            outcome = await self.decide(entry)
        except Exception as error:  # noqa: BLE001 - a plugin's, or ours: this pod is tried again, the others go on
            if isinstance(error, ExtenderError | RawObjectError):
                logger.warning("the extenders did not answer", extra={"pod": entry.pod.key, "because": str(error)})
            else:
                self.failures.log("deciding failed", error, pod=entry.pod.key)
            self._metrics.decision_seconds.observe(self._clock() - began)
            self._charge(entry, has_failed=True)
            plugin_error = error if isinstance(error, PluginError) else None
            self._failed.error(entry.pod, str(error), began, plugin_error=plugin_error)
            return

        if outcome is not None:
            self._metrics.decision_seconds.observe(self._clock() - began)
            self._charge(entry, has_failed=not isinstance(outcome, Placed))
        match outcome:
            case Placed():
                # From here on a task of its own: permit, pre_bind, bind, post_bind.
                attempt = Attempt(
                    began=began,
                    number=entry.attempts,
                    waits_since=entry.waits_since,
                    after_flush=entry.was_flushed,
                )
                self._binding.start(outcome, attempt)
            case Unschedulable():
                if outcome.nomination and outcome.nomination.work:
                    await self._preemption.make_room(outcome)
                self._failed.unschedulable(outcome, began)
            case None if entry.uid in self.queue:
                self._drop_deleting_pod(entry)
            case None:
                pass  # The pod is gone, and the watch that reported it has cleaned up.

    async def decide(self, entry: QueuedPod) -> Placed | Unschedulable | None:
        """Choose a node for a pod and assume the pod there, or find out why no node takes it.

        None when there is nothing to decide about any more: the pod was deleted while extenders were asked. Raises
        PluginError, and ExtenderError or RawObjectError when an extender that must not be ignored does not answer.

        Without extenders the decision does not wait for anything: nothing can change the cache between reading the
        table and assuming the pod, and the next decision sees what this one reserved. Where extenders have a say,
        they are asked between two rounds:

            schedule ──► a question ──► extenders are asked ──► schedule anew ──► … ──► Placed, Unschedulable
                                                │
                                                └─ meanwhile: watches, bindings, the lease, decisions about pods
                                                   that these extenders have no say in

        Nothing is assumed while extenders think. With their answers the decision is made anew, about the pod and the
        cluster as they are by then, so that no change is missed.
        """
        framework, answers = self._frameworks[entry.profile], NO_ANSWERS
        while (extenders := framework.extenders) is not None and extenders.are_interested_in(entry.pod):
            match framework.schedule(entry.pod, self._cache, answers):
                case Placed() | Unschedulable() as outcome:
                    return outcome
                case question:
                    try:
                        answers = await extenders.answer(question, entry.pod, answers, self._cache.table)
                    except (ExtenderError, RawObjectError):
                        if entry.uid not in self.queue:
                            return None
                        framework.nominations.clear(entry.pod)  # as for every attempt that ends in an error
                        raise
                    finally:  # also after a failure: what others did meanwhile is not the pod's to pay for
                        self._busy_since, self._cpu_began = self._clock(), thread_time()
            if entry.uid not in self.queue or entry.pod.metadata.deletion_timestamp:
                return None
            if self._frameworks[entry.profile] is not framework:
                # A new document came meanwhile: its extenders may be others, and have to be asked themselves.
                framework, answers = self._frameworks[entry.profile], NO_ANSWERS
        return framework.schedule(entry.pod, self._cache)

    def _charge(self, entry: QueuedPod, *, has_failed: bool) -> None:
        """Count what the attempt took from the others: pods that are slow, or fail on and on, yield (docs/adr/0026)."""
        now, cpu_seconds = self._clock(), thread_time() - self._cpu_began
        # From the end of the attempt before: what reports of failures take belongs to it.
        seconds, self._busy_since = now - self._busy_since, now
        if cpu_seconds > SLOW_SECONDS:
            before, self._full_collections = self._full_collections, gc.get_stats()[2]["collections"]
            if self._full_collections != before:
                cpu_seconds = 0.0  # perhaps only the garbage collector was slow: the next such attempt tells
        if not self.queue.charge(entry, seconds, now, cpu_seconds=cpu_seconds, has_failed=has_failed):
            return
        self._metrics.count_slow_attempt(entry.profile)
        if now - self._logged_slow_at > SLOW_LOG_SECONDS:
            self._logged_slow_at = now
            logger.warning(
                "deciding about a pod took long; pods like it let others go first while they take too much time",
                extra={"pod": entry.pod.key, "cpu_seconds": round(cpu_seconds, 3)},
            )

    def _drop_deleting_pod(self, entry: QueuedPod) -> None:
        """Take a pod that is being deleted out of the queue, as upstream's skipPodSchedule."""
        self.queue.remove(entry.uid)
        self._reporter.skipped(entry.pod)

    def _take(self) -> QueuedPod | None:
        is_held = self._is_held if self._asking else None
        return self.queue.take(self._clock(), others_underway=self._slots.are_taken, is_held=is_held)

    async def _next_pod(self) -> QueuedPod:
        """Return the next pod; let everything else run now and then, and while there is no pod to take."""
        if not self._slots.has_room.is_set():
            await self._slots.has_room.wait()
            self._busy_since = self._clock()
        now = self._clock()
        if now - self._paused_at > SLICE_SECONDS:
            await asyncio.sleep(0)
            self._paused_at = self._clock()
        while (entry := self._take()) is None:
            self.queue.ready.clear()  # no await since ``take``: a pod that came in between would be missed
            wake_at = self._clock() + YIELD_SECONDS if self.queue.yielding else self.queue.wake_at()
            try:
                async with asyncio.timeout(None if wake_at is None else max(wake_at - self._clock(), MIN_WAIT_SECONDS)):
                    await self.queue.ready.wait()
            except TimeoutError:
                pass  # some pod has backed off long enough
            self._paused_at = self._busy_since = self._clock()
        return entry
