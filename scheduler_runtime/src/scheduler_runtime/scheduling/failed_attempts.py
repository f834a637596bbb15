"""The end of an attempt without a node: the pod waits again, and its author learns why.

Upstream's handleSchedulingFailure (schedule_one.go). An attempt can end so in the loop, where no node takes the pod,
and on the pod's way to a node that was chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from scheduler_runtime.api import Pod
from scheduler_runtime.framework import BindError, PluginError, Unschedulable
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.scheduling.recent_failures import RecentFailures
from scheduler_runtime.scheduling.reporting.pod_reporter import PodReporter


class FailedAttempts:
    """Lets pods wait again whose attempt failed, measures the attempt and reports why it failed."""

    def __init__(
        self,
        queue: SchedulingQueue,
        reporter: PodReporter,
        metrics: Metrics,
        recent: RecentFailures,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = queue
        self._reporter = reporter
        self._metrics = metrics
        self._recent = recent
        self._clock = clock

    def unschedulable(self, outcome: Unschedulable, began: float, *, is_parked: bool = True) -> None:
        """Let a pod that plugins rejected wait for an event that may help; ``began`` is when its attempt began.

        Not ``is_parked``: it backs off instead, because events that came meanwhile were not recorded for it.
        """
        pod, now = outcome.pod, self._clock()
        self._metrics.observe_attempt("unschedulable", pod.spec.scheduler_name, now - began)
        self._recent.attempt_passed(pod, is_bound=False)
        if is_parked:
            self._queue.park(pod.metadata.uid, outcome.plugins, now, outcome.pending_plugins)
        else:
            self._queue.retry(pod.metadata.uid, now, outcome.message)
        self._reporter.unschedulable(outcome, self._queue.newest(pod))

    def error(
        self,
        pod: Pod,
        message: str,
        began: float,
        *,
        is_reported: bool = True,
        plugin_error: PluginError | BindError | None = None,
    ) -> None:
        """Let a pod back off whose attempt ended in an error. The ``message`` may be empty: some fail without a word.

        Not ``is_reported``: nobody has to be told, or nobody is there who would read it. ``plugin_error`` is given if
        it was a plugin that failed.
        """
        now = self._clock()
        self._metrics.observe_attempt("error", pod.spec.scheduler_name, now - began)
        if plugin_error is not None:
            self._recent.plugin_failed(pod, plugin_error)
        self._queue.retry(pod.metadata.uid, now, message)
        if is_reported:
            self._reporter.failed(pod, message, self._queue.newest(pod))
