"""Events about this process's Lease: leadership, and trouble that people should know of, as kube-scheduler posts them.

``kubectl describe lease`` shows them. Without leader election there is no Lease, and only the log has them.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

from scheduler_runtime.config.berth_options import EventsMode
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.events import event_object_name, truncate_note
from scheduler_runtime.kube.leader_election import Leadership
from scheduler_runtime.scheduling.reporting.outbox import Outbox

LEADERSHIP = "LeaderElection"
REPEAT_SECONDS = 360.0
"""How long a warning with the same reason is not repeated."""
LAST_EVENT_SECONDS = 1.0
"""How long a process that has lost its lease waits for its last event to be written."""


class LeaseEvents:
    """Posts events about the Lease, in the shape that client-go's leader election gives them: core/v1."""

    def __init__(
        self,
        client: Client,
        outbox: Outbox,
        election: Leadership,
        reporter: str,
        *,
        events: Callable[[], EventsMode],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``reporter`` is the name of the first profile, as in kube-scheduler; ``events`` returns the mode in force."""
        self._client = client
        self._outbox = outbox
        self._election = election
        self._reporter = reporter
        self._events = events
        self._clock = clock
        self._warned_at: dict[str, float] = {}

    def became_leader(self) -> None:
        """Post that this process leads from now on."""
        if self._election.lease and self._events() == "All":
            self._send("Normal", LEADERSHIP, "became leader")

    async def stopped_leading(self) -> None:
        """Post that this process has lost its lease.

        That is the last thing that the process does, so the event is sent at once, and tried once.
        """
        if self._election.lease and self._events() == "All":
            with contextlib.suppress(ApiError, NoResponseError, TimeoutError):
                async with asyncio.timeout(LAST_EVENT_SECONDS):
                    await self._post(self._event("Normal", LEADERSHIP, "stopped leading"))

    def warn(self, reason: str, what: str) -> None:
        """Post what happened to this leader; the same reason once in a few minutes."""
        now = self._clock()
        is_repeated = now - self._warned_at.get(reason, float("-inf")) < REPEAT_SECONDS
        if self._election.lease and self._election.is_leader and self._events() != "None" and not is_repeated:
            self._warned_at[reason] = now
            self._send("Warning", reason, what)

    def _send(self, kind: Literal["Normal", "Warning"], reason: str, what: str) -> None:
        event = self._event(kind, reason, what)
        self._outbox.put(("event", event["metadata"]["name"]), lambda: self._post(event))

    async def _post(self, event: dict[str, Any]) -> None:
        # The Lease as it is when the event is sent: one that was deleted and created again has another uid.
        lease = self._election.lease["metadata"]
        path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
        reference = {name: lease.get(name, "") for name in ("namespace", "name", "uid", "resourceVersion")}
        regarding = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **reference}
        await self._client.request("POST", path, body={**event, "involvedObject": regarding})

    def _event(self, kind: Literal["Normal", "Warning"], reason: str, what: str) -> dict[str, Any]:
        lease = self._election.lease["metadata"]
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": lease["namespace"], "name": event_object_name(lease["name"], time.time_ns())},
            "type": kind,
            "reason": reason,
            "message": truncate_note(f"{self._election.identity} {what}"),
            "count": 1,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "source": {"component": self._reporter},
            "reportingComponent": self._reporter,
        }
