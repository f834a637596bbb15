"""Kubernetes 1.37: NodeName before NodeUnschedulable, preFilter for the node-local plugins, podGroupPostFilter."""

from dataclasses import replace

from scheduler_runtime.catalog.versions import GatedPlugin, v1_36

_order = [entry for entry in v1_36.DEFAULTS.always if entry[0] != "NodeName"]
_order.insert(2, ("NodeName", 0))

DEFAULTS = replace(
    v1_36.DEFAULTS,
    minor="1.37",
    always=tuple(_order),
    gated=(
        GatedPlugin("NodeDeclaredFeatures", "NodeDeclaredFeatures"),
        GatedPlugin("InPlacePodVerticalScalingSchedulerPreemption", "DeferredPodScheduling", before="NodeResourcesFit"),
        GatedPlugin("DynamicResourceAllocation", "DynamicResources", weight=2, before="DefaultPreemption"),
        GatedPlugin("GenericWorkload", "GangScheduling"),
        *v1_36.DEFAULTS.gated[-2:],
    ),
    extends={
        **v1_36.DEFAULTS.extends,
        "DefaultPreemption": ("postFilter", "preEnqueue", "podGroupPostFilter"),
        "DeferredPodScheduling": ("preFilter", "filter", "permit"),
        "DynamicResources": (*v1_36.DEFAULTS.extends["DynamicResources"], "podGroupPostFilter"),
        "NodeName": ("preFilter", "filter"),
        "NodeUnschedulable": ("preFilter", "filter"),
        "TaintToleration": ("preFilter", "filter", "preScore", "score"),
    },
    points=(*v1_36.DEFAULTS.points, "podGroupPostFilter"),
    without_default_args=frozenset({"podGroupPostFilter"}),
)
