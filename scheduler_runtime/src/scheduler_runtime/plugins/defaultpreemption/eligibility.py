"""Which pods may preempt others at all."""

from __future__ import annotations

from scheduler_runtime.api import Handle, NodeTable, Pod, Verdicts


def refusal(pod: Pod, nodes: NodeTable, verdicts: Verdicts, handle: Handle) -> str:
    """Why ``pod`` may not preempt others now; empty when it may."""
    if pod.spec.preemption_policy == "Never":
        return "not eligible due to preemptionPolicy=Never."
    nominated = handle.nominated_node(pod)
    row = nodes.row(nominated) if nominated else None
    if row is None or verdicts.unresolvable[row]:
        return ""  # It has no node in view, or one on which evictions do not help any more.
    priority = pod.spec.priority
    if any(other.spec.priority < priority and leaves_for_others(other) for other in nodes.pods(row)):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


def leaves_for_others(pod: Pod) -> bool:
    """Whether ``pod`` is being deleted because a scheduler preempted it."""
    if pod.metadata.deletion_timestamp is None:
        return False
    target = next((each for each in pod.status.conditions if each.type == "DisruptionTarget"), None)
    return target is not None and (target.status, target.reason) == ("True", "PreemptionByScheduler")
