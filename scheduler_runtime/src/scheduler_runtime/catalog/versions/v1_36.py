"""Kubernetes 1.36: NodeDeclaredFeatures is on, placements can be generated and scored."""

from dataclasses import replace

from . import v1_35

DEFAULTS = replace(
    v1_35.DEFAULTS,
    minor="1.36",
    multi_point=(*v1_35.DEFAULTS.multi_point, ("NodeDeclaredFeatures", 0)),
    extends={
        **v1_35.DEFAULTS.extends,
        "GangScheduling": ("preEnqueue", "permit"),
        "NodeResourcesFit": ("preFilter", "filter", "preScore", "score", "placementScore"),
        "PodGroupPodsCount": ("placementScore",),
        "TopologyPlacementGenerator": ("placementGenerate",),
    },
    points=(*v1_35.DEFAULTS.points, "placementGenerate", "placementScore"),
)
