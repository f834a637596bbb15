"""Plugins that kube-scheduler once had, and what does their work today."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LIMITS = "NodeVolumeLimits counts the volumes of every driver since Kubernetes 1.31"
_SPREAD = (
    "PodTopologySpread spreads the pods of a Service or a ReplicaSet since Kubernetes 1.20; "
    "its weight and its defaultConstraints say how strongly"
)

REMOVED: Mapping[str, str] = MappingProxyType(
    {
        "AzureDiskLimits": _LIMITS,
        "CinderLimits": _LIMITS,
        "EBSLimits": _LIMITS,
        "GCEPDLimits": _LIMITS,
        "DefaultPodTopologySpread": _SPREAD,
        "SelectorSpread": _SPREAD,
        "NodeLabel": "spec.nodes chooses nodes by label, and addedAffinity of NodeAffinity prefers them",
        "NodePreferAvoidPods": "taint such nodes with effect PreferNoSchedule, and TaintToleration avoids them",
        "NodeResourceLimits": "nothing took its place; NodeResourcesFit scores by requests",
        "ServiceAffinity": "nothing took its place; give the pods of the service an affinity for one another",
        "NodeResourcesLeastAllocated": "NodeResourcesFit scores by the scoringStrategy LeastAllocated",
        "NodeResourcesMostAllocated": "NodeResourcesFit scores by the scoringStrategy MostAllocated",
        "RequestedToCapacityRatio": "NodeResourcesFit scores by the scoringStrategy RequestedToCapacityRatio",
    }
)
"""By name: what to do instead, as the second half of a sentence."""

STRATEGIES: Mapping[str, str] = MappingProxyType(
    {
        "NodeResourcesLeastAllocated": "LeastAllocated",
        "NodeResourcesMostAllocated": "MostAllocated",
        "RequestedToCapacityRatio": "RequestedToCapacityRatio",
    }
)
"""The plugins that became strategies of NodeResourcesFit."""

OLD_WEIGHTS: Mapping[str, int] = MappingProxyType({"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1})
"""What weighed less by default up to v1beta2 than it does since v1beta3 (3, 2 and 2)."""
