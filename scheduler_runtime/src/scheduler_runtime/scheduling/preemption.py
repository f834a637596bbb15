"""Making room for a pod by taking others off their nodes.

              not bound yet ──► back to the queue, nothing is sent
  a victim ──┤
              bound ──► the condition that says why ──► deleted ──► an event says for whom

A plugin's ``post_filter`` chooses the victims and returns the work of removing them; ``make_room`` carries that out.
Every request has the victim's uid, so that a new pod of the same name is left alone, and is sent only while we lead.
Each victim is asked once, however many pods need its room: in a crowd of preemptors on one node, each needs the room of
those before it as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

from scheduler_runtime.api import Pod
from scheduler_runtime.catalog import Version
from scheduler_runtime.framework import DECISION, FailureLog, Unschedulable, caught_exceptions, is_our_cancellation
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError, retry_after
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.scheduling.binding_sender import PodGoneError
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.scheduling.reporting.pod_reporter import STRATEGIC_MERGE_PATCH, pod_condition
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.nominations import Nominations

logger = logging.getLogger(__name__)

TRIES = 4
"""How often one request is sent while the API server has trouble."""


class PreemptibleBindings(Protocol):
    """The bindings under way, which can be preempted, and the tasks beside the decisions."""

    def preempt(self, pod: Pod, plugin: str) -> bool:
        """Send a pod that is not bound yet back to the queue; return whether it was not too late."""
        ...

    def start_making_room(self, pod: Pod, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work``, which makes room for ``pod``, beside the decisions."""
        ...


@dataclass(slots=True)
class _Request:
    """A victim that is being asked to leave, and the outcome for others that need its room too."""

    finished: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None


class Preemption:
    """Preempts pods through the API server."""

    def __init__(  # noqa: PLR0913 - parts that are wired together in one place
        self,
        client: Client,
        check_fence: Callable[[], None],
        underway: PreemptibleBindings,
        events: PodEvents,
        nominations: Nominations,
        cache: Cache,
        metrics: Metrics,
        version: Version,
    ) -> None:
        """``check_fence`` raises when we do not lead any more."""
        self._client = client
        self._check_fence = check_fence
        self._underway = underway
        self._events = events
        self._nominations = nominations
        self._cache = cache
        self._requests: dict[str, _Request] = {}
        """By the victim's uid."""
        self._metrics = metrics
        self._notes_memory = version.at_least("1.36")
        self._trouble = LogOnce(logger)
        self.failures = FailureLog(logger)

    # For the loop

    async def make_room(self, outcome: Unschedulable) -> None:
        """Carry out the work that a plugin returned with its nomination, if there is any.

        Work that is to be done at once ends before this returns, so that no decision lies between. Any other is
        started and goes on beside the next decisions, as upstream preempts asynchronously (KEP-4832). Work that fails
        is logged: the pod is tried again in time.
        """
        nomination = outcome.nomination
        if nomination is None or nomination.work is None:
            return
        if nomination.at_once:
            await self._carry_out(outcome.pod, nomination.work)
        else:
            self._underway.start_making_room(outcome.pod, self._carry_out(outcome.pod, nomination.work))

    async def _carry_out(self, pod: Pod, work: Coroutine[Any, Any, None]) -> None:
        began, result = time.monotonic(), "error"
        try:
            await work
            result = "success"
        except caught_exceptions() as error:
            if is_our_cancellation(error):
                raise
            self.failures.log("making room failed", error, pod=pod.key)
        finally:
            self._metrics.observe_preemption(result, time.monotonic() - began)

    # For plugins, through their handles

    def count_attempt(self) -> None:
        """Count that a plugin looked for pods to preempt."""
        self._metrics.count_preemption_attempt()

    def count_victims(self, victims: int) -> None:
        """Count that a plugin decided to preempt so many."""
        self._metrics.observe_victims(victims)

    async def preempt(self, victim: Pod, preemptor: Pod, node: str, plugin: str) -> None:
        """Take ``victim`` off ``node``; one that has left is no error. Raises ApiError, NoResponseError, FencedError.

        When another preemptor is asking the victim already, its request decides for both.
        """
        uid, victims = victim.metadata.uid, self._cache.victims
        while (request := self._requests.get(uid)) is not None:
            await request.finished.wait()
            if request.error is not None:
                raise request.error
        placed = self._cache.get(uid)
        if placed is None or placed.node != node or placed.pod.metadata.deletion_timestamp or victims.is_asked(victim):
            return
        request = self._requests[uid] = _Request()
        victims.claim(preemptor, [victim])
        try:
            await self._ask_to_leave(victim, preemptor, node, plugin)
            victims.mark_asked(victim)
        except Exception as error:
            request.error = error
            raise
        finally:  # without an outcome, when this task is cancelled: then the next one that waits asks
            victims.release(preemptor, [victim])
            del self._requests[uid]
            request.finished.set()

    async def _ask_to_leave(self, victim: Pod, preemptor: Pod, node: str, plugin: str) -> None:
        note = f"Preempted by pod {preemptor.metadata.uid} on node {node}"
        if self._underway.preempt(victim, plugin):
            note += " (in kube-scheduler memory)." if self._notes_memory else ""
        else:
            with contextlib.suppress(PodGoneError):  # the deletion finds out whether the pod is gone
                await self._write_disruption_target(victim, preemptor)
            body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": victim.metadata.uid}}
            try:
                await self._send("DELETE", victim, "", body)
            except PodGoneError:
                return
        logger.log(DECISION, "preempted", extra={"pod": victim.key, "node": node, "for": preemptor.key})
        self._events.preempted(victim, preemptor, note)

    async def clear_nomination(self, pod: Pod) -> None:
        """Take the nominated node of ``pod`` back. Raises ApiError, NoResponseError, FencedError."""
        self._nominations.clear(pod)
        body = {"metadata": {"uid": pod.metadata.uid}, "status": {"nominatedNodeName": None}}
        with contextlib.suppress(PodGoneError):
            await self._send("PATCH", pod, "/status", body, STRATEGIC_MERGE_PATCH)

    async def _write_disruption_target(self, victim: Pod, preemptor: Pod) -> None:
        """Write the condition that tells disruption-aware controllers why the victim ends, before it is deleted."""
        profile = preemptor.spec.scheduler_name
        message = f"{profile}: preempting to accommodate a higher priority pod"
        condition, is_new = pod_condition(victim, "DisruptionTarget", "True", "PreemptionByScheduler", message)
        if not is_new:
            return
        body = {"metadata": {"uid": victim.metadata.uid}, "status": {"conditions": [condition]}}
        await self._send("PATCH", victim, "/status", body, STRATEGIC_MERGE_PATCH)

    async def _send(
        self, method: str, pod: Pod, subresource: str, body: object, content_type: str = "application/json"
    ) -> None:
        """Send until it is done or refused for good. Raises PodGoneError when there is no such pod any more."""
        path = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}{subresource}"
        backoff = Backoff(0.05, 1.0)
        for tries_left in reversed(range(TRIES)):
            try:
                await self._client.request(
                    method, path, body=body, content_type=content_type, before_send=self._check_fence
                )
            except (ApiError, NoResponseError) as error:
                if isinstance(error, ApiError) and error.status in (404, 409):
                    # The body has no resourceVersion, so a conflict can only be another uid.
                    raise PodGoneError(str(error)) from error
                if not tries_left or (isinstance(error, ApiError) and error.is_final):
                    self._trouble.failing("pods cannot be preempted", str(error))
                    raise
                await asyncio.sleep(backoff.next_delay(retry_after(error)))
            else:
                if self._trouble.sentence:
                    self._trouble.recovered()
                return
