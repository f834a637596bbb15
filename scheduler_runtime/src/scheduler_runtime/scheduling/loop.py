"""The loop: take a pod, decide, start its binding or park it. Everything else happens around it.

watches ──► cache ──► table ──► framework ──► binder ──► API server
   │          ▲                     │
   └──► pending ◄───────────────────┘
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from scheduler_runtime.framework import DECISION, FailureLog, Framework, Placed, Unschedulable
from scheduler_runtime.scheduling.binding_cycle import BindingCycle
from scheduler_runtime.scheduling.extender_rounds import ExtenderRounds
from scheduler_runtime.scheduling.extenders import ExtenderError, RawObjectError
from scheduler_runtime.scheduling.metrics import Attempt, Metrics
from scheduler_runtime.scheduling.pending import QueuedPod, SchedulingQueue
from scheduler_runtime.state.cache import Cache

logger = logging.getLogger(__name__)

SLICE_SECONDS = 0.005
"""How long decisions may follow each other before watches and binds get their turn."""


class SchedulingLoop:
    """Decides about one pod after the other."""

    def __init__(
        self,
        pending: SchedulingQueue,
        frameworks: Mapping[str, Framework],
        cache: Cache,
        binder: BindingCycle,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pending = pending
        self._frameworks = frameworks
        self._cache = cache
        self._binder = binder
        self._consulting = ExtenderRounds(pending, frameworks, cache)
        self._metrics = metrics
        self._clock = clock
        self.failures = FailureLog(logger)
        self._ready = asyncio.Event()
        self._paused_at = 0.0

    def wake(self) -> None:
        """Look for pods again: some may have become ready."""
        self._ready.set()

    async def run(self) -> None:
        """Schedule until cancelled."""
        while True:
            await self.schedule_one()

    async def schedule_one(self) -> None:
        """Take one pod, then either assume it onto a node or park it with its reasons.

        Deciding is synchronous on purpose: nothing can change the cache between reading the
        table and assuming the pod, and the next pod sees what this one reserved. Everything
        that waits on the network, or for a permit, is the binder's.
        """
        entry = await self._next()
        if entry.pod.metadata.deletion_timestamp:
            self._skip(entry)
            return
        if self._cache.get(entry.uid):
            self.pending.settle(entry.uid)  # it came to wait anew while it is still on its way
            return
        began, framework = self._clock(), self._frameworks[entry.profile]
        try:
            if framework.extenders is None:
                outcome: Placed | Unschedulable | None = framework.schedule(entry.pod, self._cache)
            else:
                outcome = await self._consulting.decide(entry)
        except (ExtenderError, RawObjectError) as error:
            logger.warning("extenders were asked in vain", extra={"pod": entry.pod.key, "because": str(error)})
            self._fail(entry, str(error), began)
            return
        except Exception as error:  # noqa: BLE001 - a plugin's, or ours: this pod is tried again, the others go on
            self.failures.log("deciding failed", error, pod=entry.pod.key)
            self._fail(entry, str(error), began)
            return
        match outcome:
            case Placed():
                self._metrics.decided(self._clock() - began)
                self._binder.start(outcome, Attempt(began, entry.attempts, entry.waits_since, entry.was_flushed))
            case None if entry.uid in self.pending:
                self._skip(entry)
            case Unschedulable():
                self._end(entry, "unschedulable", began)
                nomination = outcome.nomination
                if nomination and nomination.work and nomination.at_once:
                    await self._binder.make_room(entry.pod, nomination.work)
                self.pending.park(entry.uid, outcome.plugins, self._clock(), outcome.pending_plugins)
                self._binder.report(outcome)

    def _fail(self, entry: QueuedPod, message: str, began: float) -> None:
        self._end(entry, "error", began)
        self._cache.forget(entry.pod)
        self.pending.retry(entry.uid, self._clock(), message)
        self._binder.report_error(entry.pod, message)

    def _end(self, entry: QueuedPod, result: str, began: float) -> None:
        """Measure an attempt that ended without a node."""
        seconds = self._clock() - began
        self._metrics.decided(seconds)
        self._metrics.ended(result, entry.profile, seconds)

    def _skip(self, entry: QueuedPod) -> None:
        """Leave alone a pod that is being deleted."""
        self.pending.remove(entry.uid)
        logger.log(DECISION, "skipped", extra={"pod": entry.pod.key, "because": "it is being deleted"})
        self._binder.recorder.failed(entry.pod, f"skip schedule deleting pod: {entry.pod.key}")

    async def _next(self) -> QueuedPod:
        """Return the next pod; let everything else run now and then, and while there is none."""
        await self._binder.room()
        now = self._clock()
        if now - self._paused_at > SLICE_SECONDS:
            await asyncio.sleep(0)
            self._paused_at = self._clock()
        while (entry := self.pending.take(self._clock())) is None:
            self._ready.clear()
            wake_at = self.pending.wake_at()
            try:
                async with asyncio.timeout(None if wake_at is None else max(wake_at - self._clock(), 0.001)):
                    await self._ready.wait()
            except TimeoutError:
                pass  # something has backed off long enough
            self._paused_at = self._clock()
        return entry
