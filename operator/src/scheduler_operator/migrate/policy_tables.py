"""Tables of the predicates and priorities of kube-scheduler 1.2 to 1.22, and of the plugins in their place.

After pkg/scheduler/framework/plugins/legacy_registry.go, which turned Policies into plugins from 1.17 to 1.22.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_VOLUME_LIMITS = (
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MaxCinderVolumeCount",
    "MaxCSIVolumeCountPred",
)
_CONDITIONS = ("CheckNodeCondition", "CheckNodeMemoryPressure", "CheckNodeDiskPressure", "CheckNodePIDPressure")

PREDICATES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
        "HostName": ("NodeName",),
        "MatchNodeSelector": ("NodeAffinity",),
        "PodFitsHostPorts": ("NodePorts",),
        "PodFitsPorts": ("NodePorts",),
        "PodFitsResources": ("NodeResourcesFit",),
        "NoDiskConflict": ("VolumeRestrictions",),
        "NoVolumeZoneConflict": ("VolumeZone",),
        "NoVolumeNodeConflict": ("VolumeBinding",),
        "CheckVolumeBinding": ("VolumeBinding",),
        **dict.fromkeys(_VOLUME_LIMITS, ("NodeVolumeLimits",)),
        "MatchInterPodAffinity": ("InterPodAffinity",),
        "EvenPodsSpread": ("PodTopologySpread",),
        "CheckNodeUnschedulable": ("NodeUnschedulable",),
        "PodToleratesNodeTaints": ("TaintToleration",),
        "PodToleratesNodeNoExecuteTaints": ("TaintToleration",),
        **dict.fromkeys(_CONDITIONS, ("TaintToleration", "NodeUnschedulable")),
        "CheckNodeLabelPresence": ("NodeLabel",),
        "CheckServiceAffinity": ("ServiceAffinity",),
    }
)
"""By the name of a predicate, the plugins that filter in its place."""

PRIORITIES: Mapping[str, str] = MappingProxyType(
    {
        "LeastRequestedPriority": "NodeResourcesLeastAllocated",
        "MostRequestedPriority": "NodeResourcesMostAllocated",
        "RequestedToCapacityRatioPriority": "RequestedToCapacityRatio",
        "RequestedToCapacityRatio": "RequestedToCapacityRatio",
        "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
        "NodeAffinityPriority": "NodeAffinity",
        "TaintTolerationPriority": "TaintToleration",
        "InterPodAffinityPriority": "InterPodAffinity",
        "ImageLocalityPriority": "ImageLocality",
        "EvenPodsSpreadPriority": "PodTopologySpread",
        "SelectorSpreadPriority": "SelectorSpread",
        "ServiceSpreadingPriority": "SelectorSpread",
        "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
        "ResourceLimitsPriority": "NodeResourceLimits",
        "EqualPriority": "",
        "NodeLabel": "NodeLabel",
        "ServiceAffinity": "ServiceAffinity",
    }
)
"""By the name of a priority, the plugin that scores in its place, as it was called in 1.22; none for EqualPriority."""

MANDATORY = ("TaintToleration", "NodeUnschedulable")
"""The plugins that filtered whether a Policy named them or not: the legacy registry's mandatory predicates."""

FILTERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "NodeUnschedulable": ("preFilter", "filter"),
        "NodeName": ("preFilter", "filter"),
        "TaintToleration": ("preFilter", "filter"),
        "NodeAffinity": ("preFilter", "filter"),
        "NodePorts": ("preFilter", "filter"),
        "NodeResourcesFit": ("preFilter", "filter"),
        "VolumeRestrictions": ("preFilter", "filter"),
        "NodeVolumeLimits": ("preFilter", "filter"),
        "VolumeBinding": ("preFilter", "filter", "preScore", "score", "reserve", "preBind"),
        "VolumeZone": ("preFilter", "filter"),
        "PodTopologySpread": ("preFilter", "filter"),
        "InterPodAffinity": ("preFilter", "filter"),
    }
)
"""The default plugins that a predicate could turn on, and the points that belong to their filtering."""

SCORES = (
    "TaintToleration",
    "NodeAffinity",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "NodeResourcesLeastAllocated",
)
"""The default plugins that a priority could turn on."""
