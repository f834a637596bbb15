"""What comes from the API server, decoded once into structs with only the fields that are read."""

from __future__ import annotations

import msgspec

from .objects import (
    Affinity,
    Container,
    ContainerPort,
    ContainerStatus,
    Named,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
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
)
from .quantity import QuantityError
from .requests import Requests
from .streams import ListMeta, NodeList, PodList, Status, WatchEvent

__all__ = [
    "Affinity",
    "Container",
    "ContainerPort",
    "ContainerStatus",
    "ListMeta",
    "Named",
    "Node",
    "NodeAffinity",
    "NodeList",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "ObjectMeta",
    "Pod",
    "PodAffinityTerms",
    "PodCondition",
    "PodList",
    "PodSpec",
    "PodStatus",
    "PreferredSchedulingTerm",
    "QuantityError",
    "Requests",
    "ResourceRequirements",
    "Status",
    "Taint",
    "Toleration",
    "TopologySpreadConstraint",
    "Volume",
    "WatchEvent",
    "decode_event",
    "decode_node",
    "decode_node_list",
    "decode_pod",
    "decode_pod_list",
    "decode_status",
]

decode_pod = msgspec.json.Decoder(Pod).decode
decode_node = msgspec.json.Decoder(Node).decode
decode_pod_list = msgspec.json.Decoder(PodList).decode
decode_node_list = msgspec.json.Decoder(NodeList).decode
decode_status = msgspec.json.Decoder(Status).decode
decode_event = msgspec.json.Decoder(WatchEvent).decode
"""One line of a watch. The object stays raw, because its type depends on the event's: see :class:`WatchEvent`."""
