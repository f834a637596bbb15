"""Interning: parts that many pods or many nodes have in common are stored once.

A workload's pods differ in their names and little else. Pods of one template share the parts of their spec and what
follows from it, so that a pod costs little memory and its requests are added up once for all of them; pods that run
alike share those parts of their status, and pods of one owner their labels. Most nodes have most images in common, up
to fifty under long names on each.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import force_setattr, replace

from scheduler_runtime.state.lru import next_cleanup_size
from scheduler_runtime.state.objects.pod_requests import Requests, ResizeRules, sum_requests
from scheduler_runtime.state.objects.quantity import QuantityError
from scheduler_runtime.state.objects.structs import (
    Affinity,
    AnnotatedMeta,
    ContainerImage,
    Node,
    OwnerReference,
    Pod,
    PodSpec,
)

MAX_TEMPLATES = 8192
MIN_CLEANUP = 256
"""So many new templates and owners are not worth a cleanup."""
BYTES_OF_A_TEMPLATE = 8192
"""So many bytes of a spec, or of what an owner's pods share, count as one: users may write a megabyte of them."""
MIN_IMAGE_CLEANUP = 1024
BYTES_OF_AN_IMAGE = 1024
"""So many bytes of image names count as one image: a kubelet may write a megabyte of them."""
MAX_RUN_STATES = 16
"""Per template, such as starting, ready and resized."""
_RUN_FIELDS = ("conditions", "container_statuses", "init_container_statuses", "resources", "allocated_resources")
_encode = msgspec.msgpack.Encoder().encode


class _OwnerGroup(NamedTuple):
    """The metadata that pods of one owner have in common."""

    namespace: str
    labels: dict[str, str] | None
    owner_references: tuple[OwnerReference, ...]
    annotations: dict[str, str] | None
    """Those of the first pod."""

    @property
    def references(self) -> int:
        """Number of references to it; more than to an unused one as long as there are such pods."""
        return sys.getrefcount(self.owner_references)


class _RunState(NamedTuple):
    """The part of a status that decides a pod's requests, and these requests."""

    requests: Requests
    status: tuple[Any, ...] = ()
    """The values of ``_RUN_FIELDS``; empty when the status reports nothing about containers."""

    @property
    def references(self) -> int:
        """Number of references to it; more than to an unused one as long as there are such pods."""
        return sys.getrefcount(self.requests)


# Measured instead of written down: how many references the call itself adds is up to the interpreter.
_UNUSED_RUN_STATE = _RunState(Requests({}, 0, 0, {})).references
_UNUSED_OWNER_GROUP = _OwnerGroup("", None, (OwnerReference(),), None).references


@dataclass(slots=True)
class _Template:
    """A spec without a node, and what follows from it."""

    spec: PodSpec
    pending: _RunState | None = None
    """Before its pods run; None as long as there were none, or when their requests cannot be read."""
    run_states: dict[bytes, _RunState] = field(default_factory=dict)
    """By the encoded status."""
    terms: dict[str, Any] = field(default_factory=dict)

    def run_state(self, pod: Pod, rules: ResizeRules) -> _RunState:
        """The run state of ``pod``. Raises QuantityError."""
        status = tuple([getattr(pod.status, name) for name in _RUN_FIELDS])
        key = _encode((status, rules))
        state = self.run_states.get(key)
        if state is None:
            # Read before making room: a status that cannot be read must not push out one that can.
            state = _RunState(sum_requests(pod, rules), status)
            self._drop_unused()
            if len(self.run_states) >= MAX_RUN_STATES:
                del self.run_states[min(self.run_states, key=lambda key: self.run_states[key].references)]
            self.run_states[key] = state
        return state

    def is_in_use(self) -> bool:
        """True if there may be pods of this template. Drops the run states that no pod has any more."""
        self._drop_unused()
        return bool(self.run_states) or (self.pending is not None and self.pending.references > _UNUSED_RUN_STATE)

    def _drop_unused(self) -> None:
        self.run_states = {key: state for key, state in self.run_states.items() if state.references > _UNUSED_RUN_STATE}


class SharedSpecs:
    """The templates and owners of pods, least recently used ones dropped first."""

    def __init__(self, size: int = MAX_TEMPLATES) -> None:
        self._size = size
        self._templates: OrderedDict[bytes, _Template] = OrderedDict()
        self._owners: OrderedDict[bytes, _OwnerGroup] = OrderedDict()
        self._weight = 0
        """Of all templates and owners."""
        self._cleanup_at = MIN_CLEANUP

    def share(self, pod: Pod, rules: ResizeRules) -> Pod:
        """Replace the parts of ``pod`` that other pods have as well by theirs; return ``pod``, which is changed.

        Its requests are filled in, by ``rules`` if its status reports other resources than its spec. A malformed
        quantity is no error yet: reading ``pod.requests`` raises it.
        """
        # Pods without an owner are often unique and would only fill the memory.
        if pod.metadata.owner_references:
            self._share_metadata(pod.metadata)
        template = self._share_spec(pod)
        if pod.spec.affinity is not None:
            force_setattr(pod, "terms", template.terms)
        status = pod.status
        try:
            if (
                status.container_statuses
                or status.init_container_statuses
                or status.resources
                or status.allocated_resources
            ):
                state = template.run_state(pod, rules)
                force_setattr(pod, "derived", state.requests)
                for name, value in zip(_RUN_FIELDS, state.status, strict=True):
                    force_setattr(status, name, value)
            else:  # what the pod takes follows from its spec, and so from the template
                if template.pending is None:
                    template.pending = _RunState(pod.requests)
                force_setattr(pod, "derived", template.pending.requests)
        except QuantityError:
            pass
        return pod

    def _share_spec(self, pod: Pod) -> _Template:
        """Give ``pod`` the spec of its template, but with its own node and its own affinity to a node's name."""
        spec = pod.spec
        affinity = spec.affinity and _without_node_names(spec.affinity)
        has_own_part = spec.node_name or affinity is not spec.affinity
        common = replace(spec, node_name="", affinity=affinity) if has_own_part else spec
        key = _encode(common)
        template = self._templates.get(key)
        if template is None:
            self._make_room_in(self._templates, key)
            template = self._templates[key] = _Template(common)
        else:
            self._templates.move_to_end(key)
        if has_own_part:
            shared = template.spec.affinity if affinity is spec.affinity else spec.affinity
            force_setattr(pod, "spec", replace(template.spec, node_name=spec.node_name, affinity=shared))
        else:
            force_setattr(pod, "spec", template.spec)
        return template

    def _share_metadata(self, metadata: AnnotatedMeta) -> None:
        """Give ``metadata`` the labels and owners of the first pod with equal ones, and its annotations if equal.

        Annotations are compared apart, because network plugins annotate each pod with its address.
        """
        common = (metadata.namespace, metadata.labels, metadata.owner_references)
        key = _encode(common)
        group = self._owners.get(key)
        if group is None:
            self._make_room_in(self._owners, key)
            self._owners[key] = _OwnerGroup(*common, metadata.annotations)
            return
        self._owners.move_to_end(key)
        force_setattr(metadata, "namespace", group.namespace)
        force_setattr(metadata, "labels", group.labels)
        force_setattr(metadata, "owner_references", group.owner_references)
        if metadata.annotations == group.annotations:
            force_setattr(metadata, "annotations", group.annotations)

    def _make_room_in(self, cache: OrderedDict[bytes, Any], key: bytes) -> None:
        """Let one more entry fit in ``cache``, and drop what no pod has any more, once there may be much of it.

        The pods of an old template never come again: its entry would only wait to become the oldest one.
        """
        if len(cache) >= self._size:
            oldest, _ = cache.popitem(last=False)
            self._weight -= _weight(oldest)
        self._weight += _weight(key)
        if self._weight < self._cleanup_at:
            return
        templates, owners = self._templates, self._owners
        for unused in [key for key, template in templates.items() if not template.is_in_use()]:
            del templates[unused]
        for unused in [key for key, group in owners.items() if group.references <= _UNUSED_OWNER_GROUP]:
            del owners[unused]
        self._weight = _weight(key) + sum(map(_weight, templates)) + sum(map(_weight, owners))
        self._cleanup_at = next_cleanup_size(self._weight, MIN_CLEANUP)


def _weight(key: bytes) -> int:
    return 1 + len(key) // BYTES_OF_A_TEMPLATE


def _without_node_names(affinity: Affinity) -> Affinity:
    """``affinity`` without its node affinity if that names nodes: the DaemonSet controller gives one to each pod."""
    if affinity.node_affinity is None or affinity.node_affinity.required is None:
        return affinity
    names_nodes = any(term.match_fields for term in affinity.node_affinity.required.node_selector_terms)
    return replace(affinity, node_affinity=None) if names_nodes else affinity


class SharedImages:
    """The images of the nodes that were decoded last."""

    def __init__(self) -> None:
        self._images: dict[ContainerImage, ContainerImage] = {}
        self._weight = 0
        """Of all images."""
        self._cleanup_at = MIN_IMAGE_CLEANUP

    def __len__(self) -> int:
        return len(self._images)

    def share(self, node: Node) -> Node:
        """Replace the images of ``node`` by the equal ones that other nodes have; return ``node``, which is changed."""
        own = node.status.images
        if own:
            images, known = self._images, len(self._images)
            force_setattr(node.status, "images", tuple([images.setdefault(image, image) for image in own]))
            if len(images) > known:
                self._weight += len(images) - known + _bytes_of_names(own) // BYTES_OF_AN_IMAGE
                if self._weight >= self._cleanup_at:
                    self._clean_up()
        return node

    def _clean_up(self) -> None:
        """Drop the images that no node has any more."""
        (unused,) = _reference_counts({image: image for image in [ContainerImage()]})
        counts = zip(self._images, _reference_counts(self._images), strict=True)
        self._images = {image: image for image, references in counts if references > unused}
        self._weight = len(self._images) + _bytes_of_names(self._images) // BYTES_OF_AN_IMAGE
        self._cleanup_at = next_cleanup_size(self._weight, MIN_IMAGE_CLEANUP)


def _bytes_of_names(images: Iterable[ContainerImage]) -> int:
    return sum([len(name) for image in images for name in image.names])


def _reference_counts(images: Iterable[ContainerImage]) -> list[int]:
    return [sys.getrefcount(image) for image in images]
