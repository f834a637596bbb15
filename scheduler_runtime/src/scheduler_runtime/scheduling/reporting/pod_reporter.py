"""Events and conditions of pods: how each attempt to place a pod ended, for its author.

The condition PodScheduled and the nominated node of a waiting pod are written only when they say something new.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from scheduler_runtime.catalog.masking import masked
from scheduler_runtime.framework import DECISION, Unschedulable
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.events import MESSAGE_BYTES, truncate_note
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import Pod

logger = logging.getLogger(__name__)

STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"


def pod_condition(pod: Pod, kind: str, status: str, reason: str, message: str) -> tuple[dict[str, Any], bool]:
    """Return a condition for the status of ``pod``, and whether it says anything that is not there yet.

    As upstream's UpdatePodCondition: the time of transition is that of another status, not of another reason.
    """
    current = next((condition for condition in pod.status.conditions if condition.type == kind), None)
    condition: dict[str, Any] = {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": pod.metadata.generation,
    }
    if current is None or current.status != status:
        condition["lastTransitionTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    is_new = current is None or (current.status, current.reason, current.message) != (status, reason, message)
    return condition, is_new


class PodConditions:
    """Writes to the status of pods through an outbox; of several reasons for one pod only the newest is sent."""

    def __init__(self, client: Client, outbox: Outbox, nominations: Nominations) -> None:
        self._client = client
        self._outbox = outbox
        self._nominations = nominations
        self._expected: dict[str, str] = {}
        """The nodes that were written as expected, by uid. No watch may have shown the status with them yet."""

    def write_unscheduled(self, pod: Pod, reason: str, message: str) -> None:
        """Make the pod's status contain ``reason``, ``message`` and the nominated node, if it does not yet."""
        message = truncate_note(masked(message), MESSAGE_BYTES)
        condition, is_new = pod_condition(pod, "PodScheduled", "False", reason, message)
        # What we wrote ourselves counts more than the newest version that a watch has shown.
        nominated = self._expected.pop(pod.metadata.uid, pod.status.nominated_node_name)
        if not is_new and not self._nomination_patch(pod, nominated):
            return
        # The nomination is looked up when the patch is sent: until then another decision may have changed it.
        self._put(pod, lambda: {"conditions": [condition], **self._nomination_patch(pod, nominated)})

    def write_expected_node(self, pod: Pod, node: str) -> None:
        """Make the pod's status name the node that the pod is about to have."""
        if pod.status.nominated_node_name != node:
            self._expected[pod.metadata.uid] = node
            self._put(pod, lambda: {"nominatedNodeName": node})

    def withdraw(self, uid: str) -> None:
        """Write no more about why the pod waits: it waits no longer."""
        self._expected.pop(uid, None)
        self._outbox.drop(("condition", uid))

    def withdraw_and_wait(self, uid: str) -> Awaitable[None]:
        """Withdraw what waits to be written; the result can be awaited until nothing is being written any more.

        Unlike ``withdraw`` this keeps in mind the expected node: a binding that fails has to take it out of the status.

        A condition that arrived after the binding would say that the pod waits. The wait is short: a connection that
        fell silent must not keep pods from their nodes. A patch that is cancelled can land after the binding only
        where the API server has it already and is slow to write it. The pod seems to wait then until its kubelet,
        which owns the condition from then on, writes the next status of the pod.
        """
        return self._outbox.drop_and_wait(("condition", uid))

    def _put(self, pod: Pod, status: Callable[[], dict[str, Any]]) -> None:
        path = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}/status"

        async def send() -> None:
            # The uid makes the API server refuse the patch for another pod of the same name.
            body = {"metadata": {"uid": pod.metadata.uid}, "status": status()}
            await self._client.request("PATCH", path, body=body, content_type=STRATEGIC_MERGE_PATCH)

        self._outbox.put(("condition", pod.metadata.uid), send)

    def _nomination_patch(self, pod: Pod, nominated: str) -> dict[str, str | None]:
        """Return what has to change in a status that contains ``nominated`` as the nominated node."""
        node = self._nominations.node_of(pod)
        return {} if node == nominated else {"nominatedNodeName": node or None}


class PodReporter:
    """Reports unschedulable and failed pods, by an event and a condition each.

    What is an event alone is written through ``events``, and what is a condition alone through ``conditions``. Two
    versions of a pod matter. Its event is about the version that was decided about. Its condition is compared with the
    ``newest`` version, so that what its status says already is not written again.
    """

    def __init__(self, events: PodEvents, conditions: PodConditions) -> None:
        self.events = events
        self.conditions = conditions

    def unschedulable(self, outcome: Unschedulable, newest: Pod) -> None:
        """Report why no node takes a pod, in the words of kube-scheduler."""
        self.events.failed(outcome.pod, outcome.message)
        logger.log(DECISION, "unschedulable", extra={"pod": outcome.pod.key, "because": outcome.message})
        self.conditions.write_unscheduled(newest, UNSCHEDULABLE, outcome.message)

    def failed(self, pod: Pod, message: str, newest: Pod) -> None:
        """Report that something other than a lack of nodes keeps ``pod`` waiting."""
        self.events.failed(pod, message)
        self.conditions.write_unscheduled(newest, SCHEDULER_ERROR, message)

    def skipped(self, pod: Pod) -> None:
        """Report that ``pod`` is not scheduled because it is being deleted."""
        logger.log(DECISION, "skipped", extra={"pod": pod.key, "because": "it is being deleted"})
        self.events.failed(pod, f"skip schedule deleting pod: {pod.key}")
