"""What a scheduler tells of itself: events about its Lease, as those of kube-scheduler in the core API.

`kubectl describe lease` shows them. Without leader election there is no Lease, and the log alone tells.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

from scheduler_runtime.app.leader import Election
from scheduler_runtime.config.berth_options import EventsMode
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.scheduling.reporting.pod_events import event_object_name, truncate

LEADERSHIP = "LeaderElection"
SAID_AGAIN_SECONDS = 360.0
LAST_WORD_SECONDS = 1.0
"""Whoever has lost its lease does not wait for longer than this to say so."""


class LeaseEvents:
    """Writes events about the Lease of this process."""

    def __init__(
        self,
        client: Client,
        outbox: Outbox,
        election: Election,
        reporter: str,
        *,
        events: Callable[[], EventsMode],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``reporter`` is who speaks: kube-scheduler takes the name of its first profile."""
        self._client = client
        self._outbox = outbox
        self._election = election
        self._reporter = reporter
        self._events = events
        self._clock = clock
        self._warned_at: dict[str, float] = {}

    def became_leader(self) -> None:
        """Say that this process leads from now on."""
        if self._has_lease and self._events() == "All":
            self._put("Normal", LEADERSHIP, "became leader")

    async def stopped_leading(self) -> None:
        """Say that this process, which led, has lost its lease. It is the last that it does, so it is sent at once."""
        if self._has_lease and self._events() == "All":
            with contextlib.suppress(ApiError, NoResponseError, TimeoutError):
                async with asyncio.timeout(LAST_WORD_SECONDS):
                    await self._post(self._event("Normal", LEADERSHIP, "stopped leading"))

    def warn(self, reason: str, what: str) -> None:
        """Say what happened to a leader that people should know, for the same reason once in a few minutes."""
        now = self._clock()
        is_known = now - self._warned_at.get(reason, float("-inf")) < SAID_AGAIN_SECONDS
        if self._has_lease and self._election.is_leader and self._events() != "None" and not is_known:
            self._warned_at[reason] = now
            self._put("Warning", reason, what)

    @property
    def _has_lease(self) -> bool:
        return bool(self._election.lease)

    @property
    def _lease(self) -> dict[str, Any]:
        metadata: dict[str, Any] = self._election.lease["metadata"]
        return metadata

    def _put(self, kind: Literal["Normal", "Warning"], reason: str, what: str) -> None:
        event = self._event(kind, reason, what)
        self._outbox.put(("event", event["metadata"]["name"]), lambda: self._post(event))

    async def _post(self, event: dict[str, Any]) -> None:
        """Write it about the Lease as it is by now: one that was made again is another."""
        path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
        lease = {name: self._lease.get(name, "") for name in ("namespace", "name", "uid", "resourceVersion")}
        regarding = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **lease}
        await self._client.request("POST", path, body={**event, "involvedObject": regarding})

    def _event(self, kind: Literal["Normal", "Warning"], reason: str, what: str) -> dict[str, Any]:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        name = event_object_name(self._lease["name"], time.time_ns())
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": self._lease["namespace"], "name": name},
            "type": kind,
            "reason": reason,
            "message": truncate(f"{self._election.identity} {what}"),
            "count": 1,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "source": {"component": self._reporter},
            "reportingComponent": self._reporter,
        }
