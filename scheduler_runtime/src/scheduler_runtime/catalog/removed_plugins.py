"""Plugins that kube-scheduler once had, and what does their work today."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LIMITS = "NodeVolumeLimits counts every driver's volumes"
_SPREAD = (
    "PodTopologySpread spreads the pods of a Service or a ReplicaSet since Kubernetes 1.20; "
    "its weight and its defaultConstraints say how strongly"
)

REMOVED_PLUGINS: Mapping[str, str] = MappingProxyType(
    {
        "AzureDiskLimits": _LIMITS,
        "CinderLimits": _LIMITS,
        "EBSLimits": _LIMITS,
        "GCEPDLimits": _LIMITS,
        "DefaultPodTopologySpread": _SPREAD,
        "SelectorSpread": _SPREAD,
        "NodeLabel": "addedAffinity of NodeAffinity asks for labels or prefers them, as does spec.nodes of a profile",
        "NodePreferAvoidPods": "taint such nodes with effect PreferNoSchedule, and TaintToleration avoids them",
        "NodeResourceLimits": "nothing took its place; NodeResourcesFit scores by requests",
        "ServiceAffinity": "nothing took its place; give the pods of the service an affinity for one another",
        "NodeResourcesLeastAllocated": "NodeResourcesFit scores by the scoringStrategy LeastAllocated",
        "NodeResourcesMostAllocated": "NodeResourcesFit scores by the scoringStrategy MostAllocated",
        "RequestedToCapacityRatio": "NodeResourcesFit scores by the scoringStrategy RequestedToCapacityRatio",
    }
)
"""By name: what to do instead, as the second half of a sentence."""

REFUSED_ANYWHERE = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""The removed plugins that kube-scheduler still knows, and refuses in ``pluginConfig`` as well as in ``plugins``."""
