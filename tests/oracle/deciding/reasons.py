"""Reasons of kube-scheduler for leaving a pod without a node: a full run has to meet each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of one plugin."""

    plugin: str
    words: str
    since: str = "1.35"

    def is_in(self, text: str) -> bool:
        """Whether ``text`` gives this reason."""
        return re.search(re.escape(self.words) + r"(?! \()", text) is not None


REASONS = (
    Reason("NodeUnschedulable", "node(s) were unschedulable"),
    Reason("TaintToleration", "node(s) had untolerated taint(s)"),
    Reason("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"),
    Reason("NodeAffinity", "node(s) didn't match scheduler-enforced node affinity"),
    Reason("NodeAffinity", "pod affinity terms conflict"),
    Reason("NodeAffinity", "node(s) didn't satisfy plugin(s) [NodeAffinity]"),
    Reason("NodePorts", "node(s) didn't have free ports for the requested pod ports"),
    Reason("NodeResourcesFit", "Too many pods"),
    Reason("NodeResourcesFit", "Insufficient cpu"),
    Reason("NodeResourcesFit", "Insufficient memory"),
    Reason("NodeResourcesFit", "Insufficient ephemeral-storage"),
    Reason("NodeResourcesFit", "Insufficient example.com/gpu"),
    Reason("NodeResourcesFit", "Insufficient hugepages-2Mi"),
    Reason("PodTopologySpread", "node(s) didn't match pod topology spread constraints"),
    Reason("PodTopologySpread", "node(s) didn't match pod topology spread constraints (missing required label)"),
    Reason("InterPodAffinity", "node(s) didn't match pod affinity rules"),
    Reason("InterPodAffinity", "node(s) didn't match pod anti-affinity rules"),
    Reason("InterPodAffinity", "node(s) didn't satisfy existing pods anti-affinity rules"),
    Reason("NodeDeclaredFeatures", "node(s) didn't match Pod's required features", since="1.36"),
    Reason("SchedulingGates", "waiting for scheduling gates: ["),
    Reason("DefaultPreemption", "waiting for the preemption for this pod to be finished"),
    Reason("DefaultPreemption", "Preemption is not helpful for scheduling"),
    Reason("DefaultPreemption", "No preemption victims found for incoming pod"),
    Reason("DefaultPreemption", "preemption: not eligible due to preemptionPolicy=Never."),
    Reason("DefaultPreemption", "preemption: not eligible due to a terminating pod on the nominated node."),
    Reason("", "no nodes available to schedule pods"),
)

OUT_OF_REACH = {
    "node(s) didn't match the requested node name": "a pod that names its node never waits for one",
    "node(s) had unknown conditions": "no code gives it",
    "preemption: no candidate node for preemption": "only an extender with a preempt verb can leave no candidate",
    "node(s) didn't satisfy plugin NodeAffinity": "it says itself that the pod's terms conflict",
    "simultaneously": "only NodeAffinity names nodes, as long as there are no volumes",
}
"""Reasons that no pod gets here, and why. When one is met after all, it belongs above."""
