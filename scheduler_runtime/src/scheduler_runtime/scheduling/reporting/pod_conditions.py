"""The condition PodScheduled of a pod that has no node, written only when it says something new."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from scheduler_runtime.kube.client import Client
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.scheduling.reporting.pod_events import sendable
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import Pod

STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"


class PodConditions:
    """Writes why pods wait, the newest reason of each pod only."""

    def __init__(self, client: Client, outbox: Outbox, nominations: Nominations) -> None:
        self._client = client
        self._outbox = outbox
        self._nominations = nominations
        self._expected: dict[str, str] = {}
        """What was written of the nodes that pods are about to have, and has not come back by a watch perhaps."""

    def unscheduled(self, pod: Pod, reason: str, message: str) -> None:
        """Make the pod's status say ``reason``, ``message`` and the nominated node if it does not yet."""
        message = sendable(message)
        said = next((one for one in pod.status.conditions or () if one.type == "PodScheduled"), None)
        is_said = said and (said.status, said.reason, said.message) == ("False", reason, message)
        nominated = self._expected.pop(pod.uid, pod.status.nominated_node_name)
        if is_said and not self._nominated(pod, nominated):
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
        self._put(pod, lambda: {"conditions": [condition], **self._nominated(pod, nominated)})

    def expected(self, pod: Pod, node: str) -> None:
        """Make the pod's status say which node it is about to have, because it will take a while until it has it."""
        if pod.status.nominated_node_name != node:
            self._expected[pod.uid] = node
            self._put(pod, lambda: {"nominatedNodeName": node})

    def _put(self, pod: Pod, status: Callable[[], dict[str, Any]]) -> None:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"

        async def send() -> None:
            # The uid makes the API server refuse the patch for another pod of the same name.
            body = {"metadata": {"uid": pod.uid}, "status": status()}
            await self._client.request("PATCH", path, body=body, content_type=STRATEGIC_MERGE_PATCH)

        self._outbox.put(_key(pod.uid), send)

    def _nominated(self, pod: Pod, said: str) -> dict[str, str | None]:
        """What the status has to say of the nominated node, of which it says ``said`` now."""
        node = self._nominations.node_of(pod)
        return {} if node == said else {"nominatedNodeName": node or None}

    def withdraw(self, uid: str) -> None:
        """Do not write any more why the pod waits: it waits no longer."""
        self._expected.pop(uid, None)
        self._outbox.drop(_key(uid))

    async def silence(self, uid: str) -> None:
        """As ``withdraw``, and wait for what is being written: after the binding it would say that the pod waits.

        Not for long: a connection that fell silent must not keep pods from their nodes. A patch that is given up
        can land after the binding only where the API server has it already and is slow to write it. The pod is said
        to wait then until its kubelet, whose condition it is from then on, writes the next status of the pod.
        """
        await self._outbox.silence(_key(uid))


def _key(uid: str) -> tuple[str, str]:
    return "condition", uid
