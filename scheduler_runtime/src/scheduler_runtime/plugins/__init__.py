"""In-tree plugins: all that this build has. They use the plugin contract and the state, and not each other."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from scheduler_runtime.api import Plugin
from scheduler_runtime.plugins.defaultpreemption import DefaultPreemption
from scheduler_runtime.plugins.imagelocality import ImageLocality
from scheduler_runtime.plugins.interpodaffinity import InterPodAffinity
from scheduler_runtime.plugins.nodeaffinity import NodeAffinity
from scheduler_runtime.plugins.nodedeclaredfeatures import NodeDeclaredFeatures
from scheduler_runtime.plugins.nodename import NodeName
from scheduler_runtime.plugins.nodeports import NodePorts
from scheduler_runtime.plugins.noderesources import NodeResourcesBalancedAllocation, NodeResourcesFit
from scheduler_runtime.plugins.podtopologyspread import PodTopologySpread
from scheduler_runtime.plugins.queueing_and_binding import DefaultBinder, PrioritySort, SchedulingGates
from scheduler_runtime.plugins.taints import NodeUnschedulable, TaintToleration

__all__ = ["IN_TREE"]

IN_TREE: Mapping[str, type[Plugin]] = MappingProxyType(
    {
        plugin.__name__: plugin
        for plugin in (
            SchedulingGates,
            PrioritySort,
            NodeUnschedulable,
            NodeName,
            TaintToleration,
            NodeAffinity,
            NodePorts,
            NodeResourcesFit,
            PodTopologySpread,
            InterPodAffinity,
            NodeResourcesBalancedAllocation,
            DefaultPreemption,
            ImageLocality,
            DefaultBinder,
            NodeDeclaredFeatures,
        )
    }
)
