"""The condition PodScheduled of a pod that has no node, written only when it says something new."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from scheduler_runtime.client import Client
from scheduler_runtime.events import sendable
from scheduler_runtime.nominations import Nominations
from scheduler_runtime.outbox import Outbox
from scheduler_runtime.wire import Pod

STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"


class Conditions:
    """Writes why pods wait, the newest reason of each pod only."""

    def __init__(self, client: Client, outbox: Outbox, nominations: Nominations) -> None:
        self._client = client
        self._outbox = outbox
        self._nominations = nominations

    def unscheduled(self, pod: Pod, reason: str, message: str) -> None:
        """Make the pod's status say ``reason``, ``message`` and the nominated node if it does not yet."""
        message = sendable(message)
        said = next((one for one in pod.status.conditions or () if one.type == "PodScheduled"), None)
        is_said = said and (said.status, said.reason, said.message) == ("False", reason, message)
        if is_said and not self._nominated(pod):
            return
        condition: dict[str, Any] = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": message,
            "observedGeneration": pod.metadata.generation,
        }
        if said is None or said.status != "False":
            condition["lastTransitionTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"

        async def send() -> None:
            # The uid makes the API server refuse the patch for another pod of the same name.
            body = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition], **self._nominated(pod)}}
            await self._client.request("PATCH", path, body=body, content_type=STRATEGIC_MERGE_PATCH)

        self._outbox.put(_key(pod.uid), send)

    def _nominated(self, pod: Pod) -> dict[str, str | None]:
        """What the status has to say of the nominated node that it did not say yet."""
        node = self._nominations.node_of(pod)
        return {} if node == pod.status.nominated_node_name else {"nominatedNodeName": node or None}

    def withdraw(self, uid: str) -> None:
        """Do not write any more why the pod waits: it waits no longer."""
        self._outbox.drop(_key(uid))


def _key(uid: str) -> tuple[str, str]:
    return "condition", uid
