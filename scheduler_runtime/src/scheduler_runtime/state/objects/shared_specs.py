"""What pods of one template have in common, held once.

A workload's pods differ in their names and little else. Those of one shape share the parts of their spec and what
follows from it, so that a pod costs little memory, and its needs are added up once for all of them; those that run
alike share what their status says of it, and those of one owner what they are labelled with.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import force_setattr, replace

from scheduler_runtime.state.lru import LruCache, next_sweep
from scheduler_runtime.state.objects.in_place_resize import ResizeRules, follows_from_spec
from scheduler_runtime.state.objects.pod_requests import Requests, sum_requests
from scheduler_runtime.state.objects.quantity import QuantityError
from scheduler_runtime.state.objects.structs import Affinity, AnnotatedMeta, OwnerReference, Pod, PodSpec

MAX_SHAPES = 8192
FEW = 256
"""So many new ones are not worth a sweep."""
MOST_RUNS = 16
"""So many ways to run are known of a shape, such as starting, ready and resized."""
_RUNS = ("conditions", "container_statuses", "init_container_statuses", "resources", "allocated_resources")
_encode = msgspec.msgpack.Encoder().encode


class _Kin(NamedTuple):
    """What pods of one owner have in common."""

    namespace: str
    labels: dict[str, str] | None
    owner_references: tuple[OwnerReference, ...]
    annotations: dict[str, str] | None
    """Of the first."""

    @property
    def references(self) -> int:
        """From how many places it is referred to: more than nobody's when there are such pods."""
        return sys.getrefcount(self.owner_references)


class _Run(NamedTuple):
    """How pods run, and what they take then."""

    requests: Requests
    status: tuple[Any, ...] = ()
    """In the order of ``_RUNS``; nothing when it says nothing of containers."""

    @property
    def references(self) -> int:
        """From how many places it is referred to: more than nobody's when there are such pods."""
        return sys.getrefcount(self.requests)


_NOBODYS_RUN = _Run(Requests({}, 0, 0, {})).references
_NOBODYS_KIN = _Kin("", None, (OwnerReference(),), None).references


@dataclass(slots=True)
class _Shape:
    """A spec without a node, and what follows from it."""

    spec: PodSpec
    waits: _Run | None = None
    """As pods do before they run; None while there were none, or when what they ask for cannot be read."""
    runs: dict[bytes, _Run] = field(default_factory=dict)
    """By what the status says."""
    terms: dict[str, Any] = field(default_factory=dict)

    def run_of(self, pod: Pod, resizing: ResizeRules) -> _Run:
        """How ``pod`` runs. Raises QuantityError."""
        status = tuple([getattr(pod.status, name) for name in _RUNS])
        key = _encode((status, resizing))
        run = self.runs.get(key)
        if run is None:
            run = _Run(sum_requests(pod, resizing), status)
            self._make_room()
            self.runs[key] = run
        return run

    def is_had(self) -> bool:
        """Whether there are pods of it, as far as is known; how nobody runs any more is forgotten."""
        self._forget()
        return bool(self.runs) or (self.waits is not None and self.waits.references > _NOBODYS_RUN)

    def _make_room(self) -> None:
        self._forget()
        if len(self.runs) >= MOST_RUNS:
            del self.runs[min(self.runs, key=lambda key: self.runs[key].references)]

    def _forget(self) -> None:
        self.runs = {key: run for key, run in self.runs.items() if run.references > _NOBODYS_RUN}


class SharedSpecs:
    """The shapes of the pods that were seen last."""

    def __init__(self, size: int = MAX_SHAPES) -> None:
        self._shapes: LruCache[bytes, _Shape] = LruCache(size)
        self._kin: LruCache[bytes, _Kin] = LruCache(size)
        self._sweep_at = FEW

    def share(self, pod: Pod, resizing: ResizeRules) -> Pod:
        """Let ``pod``, which is changed, share what it has in common with others; return it.

        What a pod takes that is not what its spec says is added up as ``resizing`` has it.
        """
        self._share_labels(pod.metadata)
        shape = self._share_spec(pod)
        if pod.spec.affinity is not None:
            force_setattr(pod, "terms", shape.terms)
        try:
            if follows_from_spec(pod.status):
                if shape.waits is None:
                    shape.waits = _Run(pod.requests)
                force_setattr(pod, "derived", shape.waits.requests)
            else:
                run = shape.run_of(pod, resizing)
                force_setattr(pod, "derived", run.requests)
                for name, value in zip(_RUNS, run.status, strict=True):
                    force_setattr(pod.status, name, value)
        except QuantityError:
            pass  # Whoever asks for them is told.
        return pod

    def _share_spec(self, pod: Pod) -> _Shape:
        """Give ``pod`` the spec of its shape, with the node that it is on, or that its DaemonSet wants it on."""
        spec = pod.spec
        anywhere = _anywhere(spec.affinity)
        if not spec.node_name and anywhere is spec.affinity:
            shape = self._of(spec)
            force_setattr(pod, "spec", shape.spec)
            return shape
        shape = self._of(replace(spec, node_name="", affinity=anywhere))
        affinity = shape.spec.affinity if anywhere is spec.affinity else spec.affinity
        force_setattr(pod, "spec", replace(shape.spec, node_name=spec.node_name, affinity=affinity))
        return shape

    def _share_labels(self, metadata: AnnotatedMeta) -> None:
        """Give ``metadata`` the very labels and owners of the first that had the same, and its annotations if they are.

        Networks annotate each pod with its address. What nobody owns is often like nothing else, and would only fill
        the memory.
        """
        if not metadata.owner_references:
            return
        common = (metadata.namespace, metadata.labels, metadata.owner_references)
        key = _encode(common)
        kin = self._kin.get(key)
        if kin is None:
            self._sweep_in_time()
            self._kin.put(key, _Kin(*common, metadata.annotations))
            return
        force_setattr(metadata, "namespace", kin.namespace)
        force_setattr(metadata, "labels", kin.labels)
        force_setattr(metadata, "owner_references", kin.owner_references)
        if metadata.annotations == kin.annotations:
            force_setattr(metadata, "annotations", kin.annotations)

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
        self._shapes.keep(_Shape.is_had)
        self._kin.keep(lambda kin: kin.references > _NOBODYS_KIN)
        self._sweep_at = next_sweep(len(self._shapes) + len(self._kin), FEW)


def _anywhere(affinity: Affinity | None) -> Affinity | None:
    """``affinity``, without that to nodes if it names some: a DaemonSet gives one to each pod."""
    if affinity is None or affinity.node_affinity is None or affinity.node_affinity.required is None:
        return affinity
    names_some = any(term.match_fields for term in affinity.node_affinity.required.node_selector_terms)
    return replace(affinity, node_affinity=None) if names_some else affinity
