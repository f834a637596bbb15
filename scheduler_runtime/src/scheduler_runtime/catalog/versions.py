"""Plugins of kube-scheduler by minor version: the defaults, the extension points, and the plugins that were removed.

To add a version: write its :class:`DefaultSet` here as the difference to the one before, its gates with
``tests/oracle/read_gates.py``, and its name in ``SUPPORTED_MINORS`` of ``target``. ``tests/oracle`` then reports where
the data still differs from the real kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from scheduler_runtime.catalog.target import Target, Version


@dataclass(frozen=True, slots=True)
class GatedPlugin:
    """A plugin that is enabled by default while a feature gate is on."""

    gate: str
    name: str
    weight: int = 0
    before: str = ""
    """The plugin in front of which this one stands; empty for the end."""


@dataclass(frozen=True, slots=True)
class DefaultSet:
    """One minor version: the plugins enabled by default and the points of every in-tree plugin."""

    minor: str
    always: tuple[tuple[str, int], ...]
    """Name and weight in upstream's order. Weight 0 means that none is written, which counts as 1 at score."""
    gated: tuple[GatedPlugin, ...]
    """Plugins that are added to these while their gate is on, one after the other."""
    extends: Mapping[str, tuple[str, ...]]
    """The extension points of each plugin of this version, including plugins that are not enabled by default."""
    points: tuple[str, ...]
    """The extension points that a document of this version may name, multiPoint aside."""
    without_default_args: frozenset[str] = field(default=frozenset())
    """Points whose own plugins get no default arguments, an oversight of upstream's."""

    @property
    def multi_point(self) -> tuple[tuple[str, int], ...]:
        """The default plugins of the version while every feature gate has its default."""
        return self.default_plugins(Target(Version.parse(self.minor)))

    def default_plugins(self, target: Target) -> tuple[tuple[str, int], ...]:
        """Return name and weight of the plugins enabled by default, with the feature gates of ``target``."""
        plugins = list(self.always)
        for gated in self.gated:
            if target.enabled(gated.gate):
                names = [name for name, _ in plugins]
                index = names.index(gated.before) if gated.before else len(names)
                plugins.insert(index, (gated.name, gated.weight))
        return tuple(plugins)


V1_35 = DefaultSet(
    minor="1.35",
    always=(
        ("SchedulingGates", 0),
        ("PrioritySort", 0),
        ("NodeUnschedulable", 0),
        ("NodeName", 0),
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodePorts", 0),
        ("NodeResourcesFit", 1),
        ("VolumeRestrictions", 0),
        ("NodeVolumeLimits", 0),
        ("VolumeBinding", 0),
        ("VolumeZone", 0),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DefaultPreemption", 0),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("DefaultBinder", 0),
    ),
    gated=(
        GatedPlugin("NodeDeclaredFeatures", "NodeDeclaredFeatures"),
        GatedPlugin("DynamicResourceAllocation", "DynamicResources", weight=2, before="DefaultPreemption"),
        GatedPlugin("GangScheduling", "GangScheduling"),
    ),
    extends={
        "DefaultBinder": ("bind",),
        "DefaultPreemption": ("postFilter", "preEnqueue"),
        "DynamicResources": ("preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"),
        "GangScheduling": ("preEnqueue", "reserve", "permit"),
        "ImageLocality": ("score",),
        "InterPodAffinity": ("preFilter", "filter", "preScore", "score"),
        "NodeAffinity": ("preFilter", "filter", "preScore", "score"),
        "NodeDeclaredFeatures": ("preFilter", "filter"),
        "NodeName": ("filter",),
        "NodePorts": ("preFilter", "filter"),
        "NodeResourcesBalancedAllocation": ("preScore", "score"),
        "NodeResourcesFit": ("preFilter", "filter", "preScore", "score"),
        "NodeUnschedulable": ("filter",),
        "NodeVolumeLimits": ("preFilter", "filter"),
        "PodTopologySpread": ("preFilter", "filter", "preScore", "score"),
        "PrioritySort": ("queueSort",),
        "SchedulingGates": ("preEnqueue",),
        "TaintToleration": ("filter", "preScore", "score"),
        "VolumeBinding": ("preFilter", "filter", "preScore", "score", "reserve", "preBind"),
        "VolumeRestrictions": ("preFilter", "filter"),
        "VolumeZone": ("preFilter", "filter"),
    },
    points=(
        *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score"),
        *("reserve", "permit", "preBind", "bind", "postBind"),
    ),
)

V1_36 = replace(
    V1_35,
    minor="1.36",
    gated=(
        *V1_35.gated,
        GatedPlugin("TopologyAwareWorkloadScheduling", "TopologyPlacementGenerator"),
        GatedPlugin("TopologyAwareWorkloadScheduling", "PodGroupPodsCount", weight=1),
    ),
    extends={
        **V1_35.extends,
        "GangScheduling": ("preEnqueue", "permit"),
        "NodeResourcesFit": ("preFilter", "filter", "preScore", "score", "placementScore"),
        "PodGroupPodsCount": ("placementScore",),
        "TopologyPlacementGenerator": ("placementGenerate",),
    },
    points=(*V1_35.points, "placementGenerate", "placementScore"),
)
"""New: placements for groups of pods can be generated and scored."""

_ORDER_OF_1_37 = [plugin for plugin in V1_36.always if plugin[0] != "NodeName"]
_ORDER_OF_1_37.insert(2, ("NodeName", 0))

V1_37 = replace(
    V1_36,
    minor="1.37",
    always=tuple(_ORDER_OF_1_37),
    gated=(
        GatedPlugin("NodeDeclaredFeatures", "NodeDeclaredFeatures"),
        GatedPlugin("InPlacePodVerticalScalingSchedulerPreemption", "DeferredPodScheduling", before="NodeResourcesFit"),
        GatedPlugin("DynamicResourceAllocation", "DynamicResources", weight=2, before="DefaultPreemption"),
        GatedPlugin("GenericWorkload", "GangScheduling"),
        *V1_36.gated[-2:],
    ),
    extends={
        **V1_36.extends,
        "DefaultPreemption": ("postFilter", "preEnqueue", "podGroupPostFilter"),
        "DeferredPodScheduling": ("preFilter", "filter", "permit"),
        "DynamicResources": (*V1_36.extends["DynamicResources"], "podGroupPostFilter"),
        "NodeName": ("preFilter", "filter"),
        "NodeUnschedulable": ("preFilter", "filter"),
        "TaintToleration": ("preFilter", "filter", "preScore", "score"),
    },
    points=(*V1_36.points, "podGroupPostFilter"),
    without_default_args=frozenset({"podGroupPostFilter"}),
)
"""New: NodeName before NodeUnschedulable, preFilter for the node-local plugins, podGroupPostFilter."""

DEFAULT_SETS: Mapping[str, DefaultSet] = MappingProxyType({version.minor: version for version in (V1_35, V1_36, V1_37)})
"""The data of each known minor version, oldest first."""

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
"""Plugins that kube-scheduler once had; by name what to do instead, as the second half of a sentence."""

REFUSED_ANYWHERE = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""The removed plugins that kube-scheduler still knows, and refuses in ``pluginConfig`` as well as in ``plugins``."""
