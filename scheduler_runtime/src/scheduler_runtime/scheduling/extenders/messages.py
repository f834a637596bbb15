"""Questions to extenders and their answers: JSON with the field names of Go's k8s.io/kube-scheduler/extender/v1.

Keys of answers are read without regard to case, as Go's decoder reads them: their names are lowered first, which is why
the structs below are named as in Go and renamed to ``lower``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Raw

from scheduler_runtime.api import Pod, Victims

T = TypeVar("T")
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class _Message(msgspec.Struct, frozen=True, gc=False):
    """Part of an answer; fields that it does not have are skipped."""


class _Metadata(_Message, frozen=True, gc=False):
    name: str = ""


class _Node(_Message, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()


class _NodeList(_Message, frozen=True, gc=False):
    items: tuple[_Node, ...] | None = None


class ExtenderFilterResult(_Message, frozen=True, gc=False, rename="lower"):
    """The allowed nodes, as objects or by name, and why others are rejected."""

    Nodes: _NodeList | None = None
    NodeNames: tuple[str, ...] | None = None
    FailedNodes: dict[str, str] | None = None
    FailedAndUnresolvableNodes: dict[str, str] | None = None
    Error: str | None = None


class HostPriority(_Message, frozen=True, gc=False, rename="lower"):
    """The score of a node, from 0 to 10."""

    Host: str | None = None
    Score: Int64 | None = None


class MetaPod(_Message, frozen=True, gc=False, rename="lower"):
    """A victim."""

    UID: str | None = None


class NodeVictims(_Message, frozen=True, gc=False, rename="lower"):
    """The pods that have to leave a node."""

    Pods: tuple[MetaPod, ...] | None = None
    NumPDBViolations: Int64 | None = None


class _BindingResult(_Message, frozen=True, gc=False, rename="lower"):
    Error: str | None = None


def nodes_question(pod: Raw, nodes: Sequence[Raw] | None, names: Sequence[str] | None) -> bytes:
    """Encode a question to filter or to prioritize, with the nodes as objects or by name."""
    node_list = None if nodes is None else {"metadata": {}, "items": nodes}
    return msgspec.json.encode({"Pod": pod, "Nodes": node_list, "NodeNames": names})


def victims_question(pod: Raw, candidates: Iterable[Victims], raw_pods: Mapping[str, Raw] | None) -> bytes:
    """Encode a question to preempt, with the victims as objects, from ``raw_pods`` by uid, or by uid alone."""
    victims = {
        candidate.node: {
            "Pods": [
                {"UID": pod.metadata.uid} if raw_pods is None else raw_pods[pod.metadata.uid] for pod in candidate.pods
            ],
            "NumPDBViolations": candidate.violations,
        }
        for candidate in candidates
    }
    by_uid = raw_pods is None
    return msgspec.json.encode(
        {
            "Pod": pod,
            "NodeNameToVictims": None if by_uid else victims,
            "NodeNameToMetaVictims": victims if by_uid else None,
        }
    )


def binding_question(pod: Pod, node: str) -> bytes:
    """Encode a question to bind."""
    return msgspec.json.encode(
        {"PodName": pod.metadata.name, "PodNamespace": pod.metadata.namespace, "PodUID": pod.metadata.uid, "Node": node}
    )


def read_filter(answer: bytes) -> ExtenderFilterResult:
    """Decode an answer to filter. Raises msgspec.MsgspecError."""
    return _convert(_lowered_fields(answer), ExtenderFilterResult)


def read_scores(answer: bytes) -> list[HostPriority]:
    """Decode an answer to prioritize. Raises msgspec.MsgspecError."""
    items = msgspec.json.decode(answer, type=list[Raw] | None) or []
    return [_convert(_lowered_fields(item), HostPriority) for item in items]


def read_victims(answer: bytes) -> Mapping[str, NodeVictims]:
    """Decode an answer to preempt: the victims by node. Raises msgspec.MsgspecError."""
    fields = _lowered_fields(answer)
    by_node = msgspec.json.decode(fields.pop("nodenametometavictims", _NULL), type=dict[str, Raw] | None) or {}
    victims_by_node: dict[str, NodeVictims] = {}
    for node, text in by_node.items():
        # The pods are cut out and read one by one, as the keys of each have to be lowered too.
        fields = _lowered_fields(text)
        raw_pods = msgspec.json.decode(fields.pop("pods", _NULL), type=list[Raw] | None) or []
        pods = tuple(_convert(_lowered_fields(pod), MetaPod) for pod in raw_pods)
        victims_by_node[node] = msgspec.structs.replace(_convert(fields, NodeVictims), Pods=pods)
    return victims_by_node


def read_binding(answer: bytes) -> str:
    """Decode an answer to bind: why the pod was not bound, empty when it was. Raises msgspec.MsgspecError."""
    return _convert(_lowered_fields(answer), _BindingResult).Error or ""


_NULL = Raw(b"null")


def _lowered_fields(text: bytes | Raw) -> dict[str, Raw]:
    """Return the fields of an object, by their names in lower case."""
    fields = msgspec.json.decode(text, type=dict[str, Raw] | None) or {}
    return {name.lower(): value for name, value in fields.items()}


def _convert(fields: Mapping[str, Raw], kind: type[T]) -> T:
    return msgspec.json.decode(msgspec.json.encode(fields), type=kind)
