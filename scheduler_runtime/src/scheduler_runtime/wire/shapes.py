"""What pods of one template have in common, held once.

A workload's pods differ in their names and little else. Those of one shape share the parts of their spec and what
follows from it, so that a pod costs little memory, and its needs are added up once for all of them; those of one
owner share what they are labelled with.
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import force_setattr, replace

from ..recent import Recent
from .objects import AnnotatedMeta, Pod, PodSpec
from .quantity import QuantityError
from .requests import Requests, requests_of
from .resizing import Resizing, follows_from_spec

MAX_SHAPES = 8192
FEW = 256
"""So many new ones are not worth a sweep."""
_COMMON = ("namespace", "labels", "annotations", "owner_references")
_encode = msgspec.msgpack.Encoder().encode


@dataclass(slots=True)
class _Shape:
    """A spec without a node, and what follows from it."""

    spec: PodSpec
    requests: Requests | None = None
    """None while nobody asked, or when they cannot be read."""
    terms: dict[str, Any] = field(default_factory=dict)


class Shapes:
    """The shapes of the pods that were seen last."""

    def __init__(self, size: int = MAX_SHAPES) -> None:
        self._shapes: Recent[bytes, _Shape] = Recent(size)
        self._kin: Recent[bytes, tuple[Any, ...]] = Recent(size)
        """What pods of one owner have in common, in the order of ``_COMMON``."""
        self._sweep_at = FEW

    def share(self, pod: Pod, resizing: Resizing) -> Pod:
        """Let ``pod``, which is changed, share what it has in common with others; return it.

        What a pod takes that is not what its spec says is added up as ``resizing`` has it.
        """
        self._share_labels(pod.metadata)
        node_name = pod.spec.node_name
        shape = self._of(replace(pod.spec, node_name="") if node_name else pod.spec)
        force_setattr(pod, "spec", replace(shape.spec, node_name=node_name) if node_name else shape.spec)
        if shape.spec.affinity is not None:
            force_setattr(pod, "terms", shape.terms)
        with contextlib.suppress(QuantityError):  # Whoever asks for them is told.
            if not follows_from_spec(pod.status):
                force_setattr(pod, "derived", requests_of(pod, resizing))
                return pod
            if shape.requests is None:
                shape.requests = pod.requests
            force_setattr(pod, "derived", shape.requests)
        return pod

    def _share_labels(self, metadata: AnnotatedMeta) -> None:
        """Give ``metadata`` the very labels, annotations and owners of the first that had the same.

        What nobody owns is often like nothing else, and would only fill the memory.
        """
        if not metadata.owner_references:
            return
        common = (metadata.namespace, metadata.labels, metadata.annotations, metadata.owner_references)
        key = _encode(common)
        first = self._kin.get(key)
        if first is None:
            self._sweep_in_time()
            self._kin.put(key, common)
            return
        for name, value in zip(_COMMON, first, strict=True):
            force_setattr(metadata, name, value)

    def _of(self, spec: PodSpec) -> _Shape:
        key = _encode(spec)
        shape = self._shapes.get(key)
        if shape is None:
            self._sweep_in_time()
            shape = _Shape(spec)
            self._shapes.put(key, shape)
        return shape

    def _sweep_in_time(self) -> None:
        """Forget what no pod has any more, once there may be much of it: no pod of an old template comes again."""
        if len(self._shapes) + len(self._kin) < self._sweep_at:
            return
        nobodys_shape, nobodys_kin = _Shape(PodSpec(), Requests({}, 0, 0, {})), (object(),)
        of_shape, of_kin = _references(nobodys_shape.requests), _references(nobodys_kin[-1])
        self._shapes.keep(lambda shape: _references(shape.requests) > of_shape)
        self._kin.keep(lambda common: _references(common[-1]) > of_kin)
        kept = len(self._shapes) + len(self._kin)
        self._sweep_at = kept + max(FEW, kept // 4)


def _references(shared: object) -> int:
    """From how many places ``shared`` is referred to: more than nobody's when pods have it."""
    return sys.getrefcount(shared)
