"""What comes from the API server, decoded once into structs with only the fields that are read."""

from __future__ import annotations

import msgspec

from .neighbours import (
    KINDS,
    ConfigMap,
    Namespace,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from .objects import (
    Affinity,
    AnnotatedMeta,
    Container,
    ContainerImage,
    ContainerPort,
    ContainerStatus,
    LabelSelector,
    LabelSelectorRequirement,
    Named,
    Node,
    NodeAffinity,
    NodeCondition,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodAffinityTerm,
    PodAffinityTerms,
    PodCondition,
    PodSpec,
    PodStatus,
    PreferredSchedulingTerm,
    ResourceRequirements,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    Volume,
    WeightedPodAffinityTerm,
)
from .quantity import QuantityError
from .requests import Requests
from .resizing import Resizing
from .streams import ListMeta, NodeList, PodList, Status, WatchEvent, decode_pod, decode_pod_list
from .unreadable import Unreadable, read_or_name, read_page

__all__ = [
    "KINDS",
    "Affinity",
    "AnnotatedMeta",
    "ConfigMap",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "ContainerStatus",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ListMeta",
    "Named",
    "Namespace",
    "Node",
    "NodeAffinity",
    "NodeCondition",
    "NodeList",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "ObjectMeta",
    "OwnerReference",
    "Pod",
    "PodAffinityTerm",
    "PodAffinityTerms",
    "PodCondition",
    "PodDisruptionBudget",
    "PodList",
    "PodSpec",
    "PodStatus",
    "PreferredSchedulingTerm",
    "QuantityError",
    "ReplicaSet",
    "ReplicationController",
    "Requests",
    "Resizing",
    "ResourceRequirements",
    "Service",
    "StatefulSet",
    "Status",
    "Taint",
    "Toleration",
    "TopologySpreadConstraint",
    "Unreadable",
    "Volume",
    "WatchEvent",
    "WeightedPodAffinityTerm",
    "decode_event",
    "decode_node",
    "decode_node_list",
    "decode_pod",
    "decode_pod_list",
    "decode_status",
    "read_or_name",
    "read_page",
]

decode_node = msgspec.json.Decoder(Node).decode
decode_node_list = msgspec.json.Decoder(NodeList).decode
decode_status = msgspec.json.Decoder(Status).decode
decode_event = msgspec.json.Decoder(WatchEvent).decode
"""One line of a watch. The object stays raw, because its type depends on the event's: see :class:`WatchEvent`."""
