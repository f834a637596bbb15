"""What pods of one template have in common, held once.

A workload's pods differ in their names and little else. Those of one shape share the parts of their spec and what
follows from it, so that a pod costs little memory, and its needs are added up once for all of them.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import force_setattr, replace

from .objects import Pod, PodSpec
from .quantity import QuantityError
from .requests import Requests, requests_of
from .resizing import Resizing, follows_from_spec

MAX_SHAPES = 8192
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
        self._size = size
        self._shapes: OrderedDict[bytes, _Shape] = OrderedDict()

    def share(self, pod: Pod, resizing: Resizing) -> Pod:
        """Let ``pod``, which is changed, share what it has in common with others; return it.

        What a pod takes that is not what its spec says is added up as ``resizing`` has it.
        """
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

    def _of(self, spec: PodSpec) -> _Shape:
        key = _encode(spec)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _Shape(spec)
            if len(self._shapes) > self._size:
                self._shapes.popitem(last=False)
        else:
            self._shapes.move_to_end(key)
        return shape
