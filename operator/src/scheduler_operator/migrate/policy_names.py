"""Every predicate and priority that kube-scheduler 1.2 to 1.22 had by name, and the plugin that does its work."""

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
"""By name: the plugins that filter in its place."""

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
"""By name: the plugin that scores in its place, as it was called when Policies went; none for EqualPriority."""

MANDATORY = ("TaintToleration", "NodeUnschedulable")
"""What filtered whether a Policy named it or not."""

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
