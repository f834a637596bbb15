"""What an import needs to know of removed plugins beyond ``catalog.REMOVED_PLUGINS``, which says what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

STRATEGIES: Mapping[str, str] = MappingProxyType(
    {
        "NodeResourcesLeastAllocated": "LeastAllocated",
        "NodeResourcesMostAllocated": "MostAllocated",
        "RequestedToCapacityRatio": "RequestedToCapacityRatio",
    }
)
"""The plugins that became strategies of NodeResourcesFit."""

SUCCESSORS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"), "NodeVolumeLimits"),
        **dict.fromkeys(("SelectorSpread", "DefaultPodTopologySpread"), "PodTopologySpread"),
    }
)
"""The plugins whose work another one does today, without being told to."""

OLD_WEIGHTS: Mapping[str, int] = MappingProxyType({"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1})
"""What weighed less by default up to v1beta2 than it does since v1beta3 (3, 2 and 2)."""
