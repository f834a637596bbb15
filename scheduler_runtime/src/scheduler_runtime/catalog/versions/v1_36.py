"""Kubernetes 1.36: placements can be generated and scored."""

from dataclasses import replace

from scheduler_runtime.catalog.versions import GatedPlugin, v1_35

DEFAULTS = replace(
    v1_35.DEFAULTS,
    minor="1.36",
    gated=(
        *v1_35.DEFAULTS.gated,
        GatedPlugin("TopologyAwareWorkloadScheduling", "TopologyPlacementGenerator"),
        GatedPlugin("TopologyAwareWorkloadScheduling", "PodGroupPodsCount", weight=1),
    ),
    extends={
        **v1_35.DEFAULTS.extends,
        "GangScheduling": ("preEnqueue", "permit"),
        "NodeResourcesFit": ("preFilter", "filter", "preScore", "score", "placementScore"),
        "PodGroupPodsCount": ("placementScore",),
        "TopologyPlacementGenerator": ("placementGenerate",),
    },
    points=(*v1_35.DEFAULTS.points, "placementGenerate", "placementScore"),
)
