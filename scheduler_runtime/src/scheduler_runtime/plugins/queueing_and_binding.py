"""SchedulingGates, PrioritySort and DefaultBinder: the plugins before and after the choice of a node.

Upstream: pkg/scheduler/framework/plugins/schedulinggates, queuesort and defaultbinder.
"""

from __future__ import annotations

from typing import Any

from scheduler_runtime.api import QUEUE, SKIP, Answer, Event, Plugin, Pod, QueueEntry, Reject
from scheduler_runtime.catalog import in_tree


class SchedulingGates(Plugin):
    """Keep a pod out of the queue while it has scheduling gates."""

    declaration = in_tree()["SchedulingGates"]

    def pre_enqueue(self, pod: Pod) -> Reject | None:
        if not pod.spec.scheduling_gates:
            return None
        gates = " ".join(gate.name for gate in pod.spec.scheduling_gates)
        return Reject.pod(f"waiting for scheduling gates: [{gates}]")

    def hint(self, event: Event, pod: Pod) -> Answer:
        return QUEUE if event.new is not None and event.new.metadata.uid == pod.metadata.uid else SKIP


class PrioritySort(Plugin):
    """Take the pod of the highest priority first; among equals the one that has been in the queue longest."""

    declaration = in_tree()["PrioritySort"]

    def sort_key(self, entry: QueueEntry) -> Any:
        return (-entry.pod.spec.priority, entry.added_at)


class DefaultBinder(Plugin):
    """Bind through the API server, with the pod's uid, so that no other pod of the same name is bound by mistake."""

    declaration = in_tree()["DefaultBinder"]

    async def bind(self, pod: Pod, node: str, state: Any) -> None:
        await self.handle.client.bind(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid, node)
