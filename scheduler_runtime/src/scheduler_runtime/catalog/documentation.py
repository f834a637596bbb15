"""Sentences for people about each in-tree plugin and each argument, as ``berth plugins`` prints them.

A test compares the paths with the models in ``args``, so that no argument goes without a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_RESOURCE = {
    "name": "A resource, such as cpu or example.com/gpu.",
    "weight": "Its share in the score, from 1 to 100.",
}
_SHAPE = {
    "utilization": "Utilization in per cent; it rises from point to point.",
    "score": "The score at that utilization, from 0 to 10.",
}
_EXPRESSION = {
    "key": "The label, or metadata.name in matchFields.",
    "operator": "The comparison with the values.",
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
        "DeferredPodScheduling": "Lets a running pod that waits for a resize preempt others on its own node.",
        "DynamicResources": "Allocates the devices that a pod's resource claims request.",
        "GangScheduling": "Starts the pods of a group together or not at all.",
        "ImageLocality": "Prefers nodes that already have the pod's images.",
        "InterPodAffinity": "Places pods near or away from other pods, by pod affinity and anti-affinity.",
        "NodeAffinity": "Rejects nodes that the pod's selector and affinity exclude, and prefers those it prefers.",
        "NodeDeclaredFeatures": "Rejects nodes whose kubelet lacks a feature that the pod needs.",
        "NodeName": "Rejects all nodes except the one that the pod names.",
        "NodePorts": "Rejects nodes on which a host port of the pod is in use.",
        "NodeResourcesBalancedAllocation": "Prefers nodes whose resources would be used evenly.",
        "NodeResourcesFit": "Rejects nodes without room for the pod; prefers emptier or fuller ones, by its strategy.",
        "NodeUnschedulable": "Rejects cordoned nodes, unless the pod tolerates that.",
        "NodeVolumeLimits": "Rejects nodes that cannot attach the pod's volumes in addition.",
        "PodGroupPodsCount": "Prefers the placement with the most pods of a group.",
        "PodTopologySpread": "Spreads pods evenly over zones, nodes or other domains.",
        "PrioritySort": "Sorts pods by priority, and pods of equal priority by waiting time.",
        "SchedulingGates": "Keeps a pod out of the queue until its scheduling gates are gone.",
        "TaintToleration": "Rejects nodes with taints that the pod does not tolerate; avoids PreferNoSchedule taints.",
        "TopologyPlacementGenerator": "Proposes topology domains for the placement of a group of pods.",
        "VolumeBinding": "Binds a pod's volume claims, and rejects nodes that cannot access their volumes.",
        "VolumeRestrictions": "Rejects nodes on which a volume of the pod is in use and cannot be shared.",
        "VolumeZone": "Rejects nodes outside the zone of a volume of the pod.",
    }
)
"""The purpose of each plugin of kube-scheduler, in one sentence."""

ARGUMENTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "DefaultPreemption": {
            "minCandidateNodesPercentage": "At least this share of the nodes is tried for a pod that fits nowhere.",
            "minCandidateNodesAbsolute": "At least this number of nodes, too. Not both are 0.",
        },
        "DynamicResources": {
            "filterTimeout": "Maximum time for the search for devices on one node; 0s is no limit.",
            "bindingTimeout": "Maximum wait until the devices of a pod are ready, at least 1s.",
        },
        "InterPodAffinity": {
            "hardPodAffinityWeight": "Weight of a running pod's required affinity for nodes that match it.",
            "ignorePreferredTermsOfExistingPods": "Ignore the preferences of running pods, which is faster.",
        },
        "NodeAffinity": {
            "addedAffinity": "A node affinity for every pod, in addition to the pod's own.",
            **_below(
                "addedAffinity",
                {
                    "requiredDuringSchedulingIgnoredDuringExecution": "The only nodes that can be used.",
                    "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms": "At least one must match.",
                    **_below("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[]", _TERM),
                    "preferredDuringSchedulingIgnoredDuringExecution": "Nodes to prefer.",
                    "preferredDuringSchedulingIgnoredDuringExecution[].weight": "The score of a match, from 1 to 100.",
                    "preferredDuringSchedulingIgnoredDuringExecution[].preference": "The conditions.",
                    **_below("preferredDuringSchedulingIgnoredDuringExecution[].preference", _TERM),
                },
            ),
        },
        "NodeResourcesBalancedAllocation": {
            "resources": "The resources to balance.",
            "resources[].name": _RESOURCE["name"],
            "resources[].weight": "Always 1: balance has no weights.",
        },
        "NodeResourcesFit": {
            "ignoredResources": "Extended resources that are not checked, because another component manages them.",
            "ignoredResourceGroups": "The same for every resource of these groups, such as example.com.",
            "scoringStrategy": "The nodes to prefer.",
            "scoringStrategy.type": "Emptier nodes, fuller ones, or a function of their utilization.",
            "scoringStrategy.resources": "The resources that count.",
            **_below("scoringStrategy.resources[]", _RESOURCE),
            "scoringStrategy.requestedToCapacityRatio": "The function, only for the type of that name.",
            "scoringStrategy.requestedToCapacityRatio.shape": "Its points, with straight lines between them.",
            **_below("scoringStrategy.requestedToCapacityRatio.shape[]", _SHAPE),
        },
        "PodTopologySpread": {
            "defaultConstraints": "Constraints for pods that have none, with defaultingType List.",
            "defaultConstraints[].maxSkew": "Maximum difference of the numbers of pods in two domains.",
            "defaultConstraints[].topologyKey": "The node label whose values are the domains.",
            "defaultConstraints[].whenUnsatisfiable": "Whether a worse node is rejected or only gets a lower score.",
            "defaultConstraints[].labelSelector": "Must be absent: it is derived from the pod's services.",
            "defaultConstraints[].minDomains": "Minimum number of domains to count, including empty ones.",
            "defaultConstraints[].nodeAffinityPolicy": "Honor or Ignore the pod's node affinity in counting domains.",
            "defaultConstraints[].nodeTaintsPolicy": "Honor or Ignore taints in counting domains.",
            "defaultConstraints[].matchLabelKeys": "Count only pods with the same values of these labels.",
            "defaultingType": "System: soft spreading over nodes and zones; List: defaultConstraints.",
        },
        "VolumeBinding": {
            "bindTimeoutSeconds": "Maximum time for binding the volumes of a pod.",
            "shape": "Score by utilization of a volume, with the feature gate StorageCapacityScoring.",
            **_below("shape[]", _SHAPE),
        },
    }
)
"""The meaning of each argument, by plugin and path; ``[]`` stands for the entries of a list."""
