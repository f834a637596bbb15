"""The plugins this build has. They see ``api``, ``table`` and their declaration, and not each other."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..api import Plugin
from .binding import DefaultBinder
from .defaultpreemption import DefaultPreemption
from .imagelocality import ImageLocality
from .interpodaffinity import InterPodAffinity
from .node_identity import NodeName, NodeUnschedulable
from .nodeaffinity import NodeAffinity
from .nodedeclaredfeatures import NodeDeclaredFeatures
from .nodeports import NodePorts
from .noderesources import NodeResourcesBalancedAllocation, NodeResourcesFit
from .podtopologyspread import PodTopologySpread
from .queueing import PrioritySort, SchedulingGates
from .tainttoleration import TaintToleration

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
