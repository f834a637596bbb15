"""Events and conditions of pods: how each attempt to place a pod ended, for its author."""

from __future__ import annotations

import logging
from collections.abc import Awaitable

from scheduler_runtime.config.berth_options import EventsMode
from scheduler_runtime.framework import DECISION, Unschedulable
from scheduler_runtime.scheduling.reporting.pod_conditions import SCHEDULER_ERROR, UNSCHEDULABLE, PodConditions
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.state.objects import Pod

logger = logging.getLogger(__name__)


class PodReporter:
    """Reports placed, unschedulable and failed pods. Only the result of ``stop_writing`` waits for the API server.

    Two versions of a pod matter. Its event is about the version that was decided about. Its condition is compared
    with the ``newest`` version, so that what its status says already is not written again.
    """

    def __init__(self, events: PodEvents, conditions: PodConditions) -> None:
        self._events = events
        self._conditions = conditions

    def change_mode(self, mode: EventsMode) -> None:
        """From now on write only the events that ``mode`` allows."""
        self._events.change_mode(mode)

    def scheduled(self, pod: Pod, node: str) -> None:
        """Report that ``pod`` was bound. Its condition is the API server's: it comes with the binding."""
        self._events.scheduled(pod, node)

    def unschedulable(self, outcome: Unschedulable, newest: Pod) -> None:
        """Report why no node takes a pod, in the words of kube-scheduler."""
        self._events.failed(outcome.pod, outcome.message)
        logger.log(DECISION, "unschedulable", extra={"pod": outcome.pod.key, "because": outcome.message})
        self._conditions.write_unscheduled(newest, UNSCHEDULABLE, outcome.message)

    def failed(self, pod: Pod, message: str, newest: Pod) -> None:
        """Report that something other than a lack of nodes keeps ``pod`` waiting."""
        self._events.failed(pod, message)
        self._conditions.write_unscheduled(newest, SCHEDULER_ERROR, message)

    def skipped(self, pod: Pod) -> None:
        """Report that ``pod`` is not scheduled because it is being deleted."""
        logger.log(DECISION, "skipped", extra={"pod": pod.key, "because": "it is being deleted"})
        self._events.failed(pod, f"skip schedule deleting pod: {pod.key}")

    def expect(self, pod: Pod, node: str) -> None:
        """Make the pod's status name the node that it is about to have (NominatedNodeNameForExpectation)."""
        self._conditions.write_expected_node(pod, node)

    def withdraw(self, uid: str) -> None:
        """Write no more about why the pod with this uid waits: it was bound or deleted."""
        self._conditions.withdraw(uid)

    def stop_writing(self, uid: str) -> Awaitable[None]:
        """As ``withdraw``; the result can be awaited until no condition of the pod is on its way any more.

        Each binding waits for it, mostly for nothing, so the coroutine is that of the outbox itself.
        """
        return self._conditions.stop_writing(uid)
