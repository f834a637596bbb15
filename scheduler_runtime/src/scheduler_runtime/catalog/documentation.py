"""Sentences for people about each in-tree plugin and each argument, as ``berth plugins`` prints them.

A test compares the paths with the models in ``args``, so that no argument goes without a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_RESOURCE = {
    "name": "A resource, such as cpu or example.com/gpu.",
    "weight": "How much it counts beside the others, from 1 to 100.",
}
_SHAPE = {
    "utilization": "How full, in per cent; each point is fuller than the one before.",
    "score": "What that is worth, from 0 to 10.",
}
_EXPRESSION = {
    "key": "The label, or metadata.name in matchFields.",
    "operator": "How it is compared with the values.",
    "values": "None for Exists and DoesNotExist, one number for Gt and Lt.",
}
_TERM = {
    "matchExpressions": "Conditions on labels.",
    **{f"matchExpressions[].{name}": text for name, text in _EXPRESSION.items()},
    "matchFields": "Conditions on fields.",
    **{f"matchFields[].{name}": text for name, text in _EXPRESSION.items()},
}


def _below(path: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return ``texts`` as those of the fields of the field at ``path``."""
    return {f"{path}.{name}": text for name, text in texts.items()}


SUMMARIES: Mapping[str, str] = MappingProxyType(
    {
        "DefaultBinder": "Binds the pod to its node through the API server.",
        "DefaultPreemption": "Finds a node on which a pod fits once pods of lower priority are gone, and evicts them.",
        "DeferredPodScheduling": "Lets a running pod that waits to grow preempt others on its own node.",
        "DynamicResources": "Allocates the devices that a pod's resource claims ask for.",
        "GangScheduling": "Lets the pods of a group start together or not at all.",
        "ImageLocality": "Prefers nodes that have the pod's images already.",
        "InterPodAffinity": "Places pods near the pods they like and away from those they do not.",
        "NodeAffinity": "Keeps a pod to the nodes that its selector and affinity allow, and prefers the liked ones.",
        "NodeDeclaredFeatures": "Keeps a pod off nodes whose kubelet lacks a feature that it needs.",
        "NodeName": "Keeps a pod to the node that it names itself.",
        "NodePorts": "Rejects nodes on which a host port of the pod is taken.",
        "NodeResourcesBalancedAllocation": "Prefers nodes whose resources would be used evenly.",
        "NodeResourcesFit": "Rejects nodes without room for the pod; prefers emptier or fuller ones, as told.",
        "NodeUnschedulable": "Rejects nodes that are cordoned, unless the pod tolerates it.",
        "NodeVolumeLimits": "Rejects nodes that cannot attach as many volumes more.",
        "PodGroupPodsCount": "Prefers the placement that takes the most pods of a group.",
        "PodTopologySpread": "Spreads pods evenly over zones, nodes or other domains.",
        "PrioritySort": "Lets pods of higher priority go first, and among equals the one that waits longest.",
        "SchedulingGates": "Keeps a pod out of the queue until its scheduling gates are gone.",
        "TaintToleration": "Rejects nodes with taints that the pod does not tolerate, and avoids the softer ones.",
        "TopologyPlacementGenerator": "Proposes the domains of a topology in which a group of pods could be placed.",
        "VolumeBinding": "Binds a pod's volume claims, and rejects nodes that their volumes cannot reach.",
        "VolumeRestrictions": "Rejects nodes on which a volume of the pod is in use and cannot be shared.",
        "VolumeZone": "Rejects nodes outside the zone of a volume of the pod.",
    }
)
"""The purpose of each plugin of kube-scheduler, in one sentence."""

ARGUMENTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "DefaultPreemption": {
            "minCandidateNodesPercentage": "At least this share of the nodes is tried for a pod that fits nowhere.",
            "minCandidateNodesAbsolute": "And at least so many nodes. Not both are 0.",
        },
        "DynamicResources": {
            "filterTimeout": "How long the search for devices may take on one node; 0s is no limit.",
            "bindingTimeout": "How long a pod waits for its devices to become ready, at least 1s.",
        },
        "InterPodAffinity": {
            "hardPodAffinityWeight": "How much a required affinity of a running pod counts for nodes that match it.",
            "ignorePreferredTermsOfExistingPods": "Leave the preferences of running pods aside, which is faster.",
        },
        "NodeAffinity": {
            "addedAffinity": "A node affinity that holds for every pod, in addition to the pod's own.",
            **_below(
                "addedAffinity",
                {
                    "requiredDuringSchedulingIgnoredDuringExecution": "The only nodes that can be used.",
                    "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms": "One of these has to match.",
                    **_below("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[]", _TERM),
                    "preferredDuringSchedulingIgnoredDuringExecution": "Nodes to prefer.",
                    "preferredDuringSchedulingIgnoredDuringExecution[].weight": "What a match is worth, from 1 to 100.",
                    "preferredDuringSchedulingIgnoredDuringExecution[].preference": "What has to match.",
                    **_below("preferredDuringSchedulingIgnoredDuringExecution[].preference", _TERM),
                },
            ),
        },
        "NodeResourcesBalancedAllocation": {
            "resources": "The resources to balance.",
            "resources[].name": _RESOURCE["name"],
            "resources[].weight": "Always 1: balance knows no weights.",
        },
        "NodeResourcesFit": {
            "ignoredResources": "Extended resources that somebody else looks after: any node has room for them.",
            "ignoredResourceGroups": "The same for every resource of these groups, such as example.com.",
            "scoringStrategy": "Which nodes to prefer.",
            "scoringStrategy.type": "Emptier nodes, fuller ones, or by a function of how full they would be.",
            "scoringStrategy.resources": "The resources that count.",
            **_below("scoringStrategy.resources[]", _RESOURCE),
            "scoringStrategy.requestedToCapacityRatio": "The function, for the type of that name and for no other.",
            "scoringStrategy.requestedToCapacityRatio.shape": "Its points; between them it is a straight line.",
            **_below("scoringStrategy.requestedToCapacityRatio.shape[]", _SHAPE),
        },
        "PodTopologySpread": {
            "defaultConstraints": "Constraints for pods that have none, with defaultingType List.",
            "defaultConstraints[].maxSkew": "How many pods more one domain may have than another.",
            "defaultConstraints[].topologyKey": "The node label whose values are the domains.",
            "defaultConstraints[].whenUnsatisfiable": "Whether a worse node is rejected or only liked less.",
            "defaultConstraints[].labelSelector": "Has to be left out: for each pod it follows from its services.",
            "defaultConstraints[].minDomains": "Count at least so many domains, empty ones included.",
            "defaultConstraints[].nodeAffinityPolicy": "Honor or Ignore the pod's node affinity in counting domains.",
            "defaultConstraints[].nodeTaintsPolicy": "Honor or Ignore taints in counting domains.",
            "defaultConstraints[].matchLabelKeys": "Labels of the pod whose values its like have in common.",
            "defaultingType": "System spreads softly over nodes and zones; List takes defaultConstraints.",
        },
        "VolumeBinding": {
            "bindTimeoutSeconds": "How long binding the volumes of a pod may take.",
            "shape": "What a volume's fill is worth, with the feature gate StorageCapacityScoring.",
            **_below("shape[]", _SHAPE),
        },
    }
)
"""The meaning of each argument, by plugin and path; ``[]`` stands for the entries of a list."""
