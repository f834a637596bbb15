"""Takes pods off their nodes to make room for others.

              not bound yet ──► back to the queue, nothing is sent
  a victim ──┤
              bound ──► the condition that says why ──► deleted ──► an event says for whom

Everything is sent with the uid, so that a new pod of the same name is left alone, and only while we lead.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from scheduler_runtime.catalog import Version
from scheduler_runtime.framework import DECISION
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError, retry_after
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.scheduling.fenced_binds import PodGoneError
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.reporting.pod_conditions import STRATEGIC_MERGE_PATCH
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import Pod

logger = logging.getLogger(__name__)

TRIES = 4
"""How often one request is sent while the API server has trouble."""


class Preemption:
    """Preempts pods through the API server."""

    def __init__(
        self,
        client: Client,
        check_fence: Callable[[], None],
        recorder: PodEvents,
        nominations: Nominations,
        metrics: Metrics,
        *,
        call_back: Callable[[Pod, str], bool],
        version: Version,
    ) -> None:
        """``check_fence`` raises when we do not lead any more.

        ``call_back`` stops a pod that is not bound yet, for a plugin, and says whether it was not too late.
        """
        self._client = client
        self._check_fence = check_fence
        self._recorder = recorder
        self._nominations = nominations
        self._metrics = metrics
        self._call_back = call_back
        self._says_in_memory = version.at_least("1.36")
        self._trouble = LogOnce(logger)

    def count_attempt(self) -> None:
        """Count that a plugin looked for pods to preempt."""
        self._metrics.preemption_attempted()

    def count_victims(self, victims: int) -> None:
        """Count that a plugin decided to preempt so many."""
        self._metrics.preempted(victims)

    async def preempt(self, victim: Pod, preemptor: Pod, node: str, plugin: str) -> None:
        """Take ``victim`` off ``node``; one that is gone is no error. Raises ApiError, NoResponseError, FencedError."""
        note = f"Preempted by pod {preemptor.uid} on node {node}"
        if self._call_back(victim, plugin):
            note += " (in kube-scheduler memory)." if self._says_in_memory else ""
        else:
            with contextlib.suppress(PodGoneError):  # whether it is gone is for the deletion to find out
                await self._mark(victim, preemptor)
            try:
                await self._delete(victim)
            except PodGoneError:
                return
        logger.log(DECISION, "preempted", extra={"pod": victim.key, "node": node, "for": preemptor.key})
        self._recorder.preempted(victim, preemptor, note)

    async def clear_nomination(self, pod: Pod) -> None:
        """Take the nominated node of ``pod`` back. Raises ApiError, NoResponseError, FencedError."""
        self._nominations.nominate(pod, "")
        body = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": None}}
        with contextlib.suppress(PodGoneError):
            await self._send("PATCH", pod, "/status", body, STRATEGIC_MERGE_PATCH)

    async def _mark(self, victim: Pod, preemptor: Pod) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher priority pod",
        }
        said = next((one for one in victim.status.conditions if one.type == "DisruptionTarget"), None)
        if said and {name: getattr(said, name) for name in condition} == condition:
            return
        more: dict[str, Any] = {"observedGeneration": victim.metadata.generation}
        if said is None or said.status != "True":
            more["lastTransitionTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {"metadata": {"uid": victim.uid}, "status": {"conditions": [{**condition, **more}]}}
        await self._send("PATCH", victim, "/status", body, STRATEGIC_MERGE_PATCH)

    async def _delete(self, victim: Pod) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": victim.uid}}
        await self._send("DELETE", victim, "", body)

    async def _send(
        self, method: str, pod: Pod, subresource: str, body: object, content_type: str = "application/json"
    ) -> None:
        """Send until it is done or refused for good. Raises PodGoneError when there is no such pod any more."""
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}{subresource}"
        backoff = Backoff(0.05, 1.0)
        for tries_left in reversed(range(TRIES)):
            try:
                await self._client.request(
                    method, path, body=body, content_type=content_type, before_send=self._check_fence
                )
            except (ApiError, NoResponseError) as error:
                if isinstance(error, ApiError) and error.status in (404, 409):
                    raise PodGoneError(
                        str(error)
                    ) from error  # what is sent names no version: only another uid can conflict with it
                if not tries_left or (isinstance(error, ApiError) and error.status < 429):
                    self._trouble.failing("pods cannot be preempted", str(error))
                    raise
                await asyncio.sleep(backoff.next_delay(retry_after(error)))
            else:
                self._trouble.recovered()
                return
