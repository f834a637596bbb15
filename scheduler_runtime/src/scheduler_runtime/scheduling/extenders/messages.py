"""What is said to extenders, and what they answer: JSON with the names of Go's fields.

Keys of answers are read without regard to case, as kube-scheduler reads them: their names are folded to small letters
first, which is why the structs below are named as in Go and renamed to ``lower``.
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
    """Part of an answer; what is not listed is skipped."""


class _Metadata(_Message, frozen=True, gc=False):
    name: str = ""


class _Node(_Message, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()


class _NodeList(_Message, frozen=True, gc=False):
    items: tuple[_Node, ...] | None = None


class FilterAnswer(_Message, frozen=True, gc=False, rename="lower"):
    """Which nodes do, as objects or by name, and why others do not."""

    Nodes: _NodeList | None = None
    NodeNames: tuple[str, ...] | None = None
    FailedNodes: dict[str, str] | None = None
    FailedAndUnresolvableNodes: dict[str, str] | None = None
    Error: str | None = None


class Score(_Message, frozen=True, gc=False, rename="lower"):
    """How good a node is, from 0 to 10."""

    Host: str | None = None
    Score: Int64 | None = None


class Victim(_Message, frozen=True, gc=False, rename="lower"):
    """A pod."""

    UID: str | None = None


class NodeVictims(_Message, frozen=True, gc=False, rename="lower"):
    """Who has to leave a node."""

    Pods: tuple[Victim, ...] | None = None
    NumPDBViolations: Int64 | None = None


class _BindingAnswer(_Message, frozen=True, gc=False, rename="lower"):
    Error: str | None = None


def nodes_question(pod: Raw, nodes: Sequence[Raw] | None, names: Sequence[str] | None) -> bytes:
    """To filter or to prioritize: the nodes are told as objects or by name."""
    listed = None if nodes is None else {"metadata": {}, "items": nodes}
    return msgspec.json.encode({"Pod": pod, "Nodes": listed, "NodeNames": names})


def victims_question(pod: Raw, candidates: Iterable[Victims], whole: Mapping[str, Raw] | None) -> bytes:
    """To preempt: the victims are told as objects, ``whole`` by uid, or by uid alone."""
    if whole is None:
        by_uid = {each.node: _victims([{"UID": pod.uid} for pod in each.pods], each) for each in candidates}
        return msgspec.json.encode({"Pod": pod, "NodeNameToVictims": None, "NodeNameToMetaVictims": by_uid})
    told = {each.node: _victims([whole[pod.uid] for pod in each.pods], each) for each in candidates}
    return msgspec.json.encode({"Pod": pod, "NodeNameToVictims": told, "NodeNameToMetaVictims": None})


def _victims(pods: Sequence[object], candidate: Victims) -> Mapping[str, object]:
    return {"Pods": pods, "NumPDBViolations": candidate.violations}


def binding_question(pod: Pod, node: str) -> bytes:
    """To bind."""
    return msgspec.json.encode({"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node})


def read_filter(answer: bytes) -> FilterAnswer:
    """Raises msgspec.MsgspecError."""
    return _read(_folded(answer), FilterAnswer)


def read_scores(answer: bytes) -> list[Score]:
    """Raises msgspec.MsgspecError."""
    items = msgspec.json.decode(answer, type=list[Raw] | None) or []
    return [_read(_folded(item), Score) for item in items]


def read_victims(answer: bytes) -> Mapping[str, NodeVictims]:
    """Raises msgspec.MsgspecError."""
    folded = _folded(answer)
    by_node = msgspec.json.decode(folded.pop("nodenametometavictims", _NULL), type=dict[str, Raw] | None) or {}
    return {node: _read_victims(told) for node, told in by_node.items()}


def _read_victims(told: Raw) -> NodeVictims:
    folded = _folded(told)
    pods = msgspec.json.decode(folded.pop("pods", _NULL), type=list[Raw] | None) or []
    victims = _read(folded, NodeVictims)
    return msgspec.structs.replace(victims, Pods=tuple(_read(_folded(pod), Victim) for pod in pods))


def read_binding(answer: bytes) -> str:
    """Why the pod was not bound; empty when it was. Raises msgspec.MsgspecError."""
    return _read(_folded(answer), _BindingAnswer).Error or ""


_NULL = Raw(b"null")


def _folded(text: bytes | Raw) -> dict[str, Raw]:
    """The fields of an object, by their names in small letters."""
    fields = msgspec.json.decode(text, type=dict[str, Raw] | None) or {}
    return {name.lower(): value for name, value in fields.items()}


def _read(fields: Mapping[str, Raw], kind: type[T]) -> T:
    return msgspec.json.decode(msgspec.json.encode(fields), type=kind)
