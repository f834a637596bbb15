"""Kinds of objects that are watched: pods and nodes with their decoders, and the other kinds that plugins may watch.

Decoded objects are structs with only the fields that are read; what many of them have in common is stored once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import attrgetter
from types import MappingProxyType

import msgspec

from scheduler_runtime.kube.watch import Kind
from scheduler_runtime.kube.watch.kinds import ListMeta, Wire
from scheduler_runtime.state.objects.interning import SharedImages, SharedSpecs
from scheduler_runtime.state.objects.pod_requests import BY_CONTAINER, ResizeRules
from scheduler_runtime.state.objects.structs import Int32, LabelSelector, Node, ObjectMeta, Pod


class PodList(Wire, frozen=True, gc=False):
    """A page of pods."""

    metadata: ListMeta = ListMeta()
    items: tuple[Pod, ...] = ()


class NodeList(Wire, frozen=True, gc=False):
    """A page of nodes."""

    metadata: ListMeta = ListMeta()
    items: tuple[Node, ...] = ()


# One of each for the whole process: lists, watches and single requests decode the same objects.
_shared_specs = SharedSpecs()
_shared_images = SharedImages()
_decode_pod = msgspec.json.Decoder(Pod).decode
_decode_pod_list = msgspec.json.Decoder(PodList).decode
_decode_node = msgspec.json.Decoder(Node).decode
_decode_node_list = msgspec.json.Decoder(NodeList).decode


def decode_pod(raw: bytes | str, rules: ResizeRules = BY_CONTAINER) -> Pod:
    """Decode a pod; ``rules`` decide the requests of one that is resized in place. Raises msgspec.MsgspecError."""
    return _shared_specs.share(_decode_pod(raw), rules)


def decode_pod_list(raw: bytes | str, rules: ResizeRules = BY_CONTAINER) -> PodList:
    """Decode a page of pods, as :func:`decode_pod` each. Raises msgspec.MsgspecError."""
    page = _decode_pod_list(raw)
    for pod in page.items:
        _shared_specs.share(pod, rules)
    return page


def decode_node(raw: bytes | str) -> Node:
    """Decode a node. Raises msgspec.MsgspecError."""
    return _shared_images.share(_decode_node(raw))


def decode_node_list(raw: bytes | str) -> NodeList:
    """Decode a page of nodes. Raises msgspec.MsgspecError."""
    page = _decode_node_list(raw)
    for node in page.items:
        _shared_images.share(node)
    return page


def pods(rules: ResizeRules) -> Kind[Pod]:
    """The pods that have not ended. A pod that ends is reported as deleted: it takes no room on its node any more."""
    return Kind(
        "/api/v1/pods",
        key=attrgetter("key"),
        read_list=partial(decode_pod_list, rules=rules),
        read_item=partial(decode_pod, rules=rules),
        params={"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
    )


NODES: Kind[Node] = Kind(
    "/api/v1/nodes",
    key=attrgetter("name"),
    read_list=decode_node_list,
    read_item=decode_node,
)


class Namespace(Wire, frozen=True, gc=False):
    """A namespace; only its labels are read."""

    metadata: ObjectMeta


class EqualitySelectorSpec(Wire, frozen=True, gc=False):
    """The spec of an object that selects pods by the older kind of selector: labels that must be equal."""

    selector: dict[str, str] | None = None


class Service(Wire, frozen=True, gc=False):
    """A service."""

    metadata: ObjectMeta
    spec: EqualitySelectorSpec = EqualitySelectorSpec()


class ReplicationController(Wire, frozen=True, gc=False):
    """A replication controller."""

    metadata: ObjectMeta
    spec: EqualitySelectorSpec = EqualitySelectorSpec()


class SelectorSpec(Wire, frozen=True, gc=False):
    """The spec of an object that selects pods by a label selector."""

    selector: LabelSelector | None = None


class ReplicaSet(Wire, frozen=True, gc=False):
    """A replica set."""

    metadata: ObjectMeta
    spec: SelectorSpec = SelectorSpec()


class StatefulSet(Wire, frozen=True, gc=False):
    """A stateful set."""

    metadata: ObjectMeta
    spec: SelectorSpec = SelectorSpec()


class PodDisruptionBudgetStatus(Wire, frozen=True, gc=False):
    """The number of pods that may be disrupted now, and the pods whose eviction is under way, by name."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, str] | None = None


class PodDisruptionBudget(Wire, frozen=True, gc=False):
    """A limit to the pods of a selection that may be disrupted at a time."""

    metadata: ObjectMeta
    spec: SelectorSpec = SelectorSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class ConfigMap(Wire, frozen=True, gc=False):
    """A config map, for plugins that keep data of their own in one."""

    metadata: ObjectMeta
    data: dict[str, str] = msgspec.field(default_factory=dict)


KINDS: Mapping[tuple[str, str], type[Wire]] = MappingProxyType(
    {
        ("v1", "ConfigMap"): ConfigMap,
        ("v1", "Namespace"): Namespace,
        ("v1", "Service"): Service,
        ("v1", "ReplicationController"): ReplicationController,
        ("apps/v1", "ReplicaSet"): ReplicaSet,
        ("apps/v1", "StatefulSet"): StatefulSet,
        ("policy/v1", "PodDisruptionBudget"): PodDisruptionBudget,
    }
)
"""The kinds that plugins receive as structs, by API version and kind. Any other kind they receive as raw JSON."""
