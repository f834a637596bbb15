"""Pods and nodes as the API server writes them: extenders are told more than the scheduler itself reads."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from ..api import Pod
from ..client import ApiError, Client, NoAnswerError
from ..watches import Change, Kind, Reflector
from ..wire import ListMeta, ObjectMeta, WatchEvent
from .calls import ExtenderError

REFRESH_SECONDS = 5.0


class _Whole(msgspec.Struct, frozen=True, gc=False):
    """An object, and how it is written."""

    metadata: ObjectMeta
    text: Raw


@dataclass(frozen=True, slots=True)
class _Page:
    metadata: ListMeta
    items: list[_Whole]


class _RawPage(msgspec.Struct, frozen=True):
    metadata: ListMeta = ListMeta()
    items: tuple[Raw, ...] = ()


class _Identity(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def _read_page(body: bytes) -> _Page:
    page = msgspec.json.decode(body, type=_RawPage)
    return _Page(page.metadata, [_whole(item) for item in page.items])


def _whole(raw: bytes | Raw, *, without: str = "") -> _Whole:
    """Read an object. What kind it is follows from where it is told, so that it is left out, as Go leaves it out."""
    identity = msgspec.json.decode(raw, type=_Identity)
    fields = msgspec.json.decode(raw, type=dict[str, Raw])
    for name in ("apiVersion", "kind"):
        fields.pop(name, None)
    if without:
        metadata = msgspec.json.decode(fields["metadata"], type=dict[str, Raw])
        metadata.pop(without, None)
        fields["metadata"] = Raw(msgspec.json.encode(metadata))
    return _Whole(identity.metadata, Raw(msgspec.json.encode(fields)))


NODES: Kind[_Whole] = Kind(
    "/api/v1/nodes",
    key=lambda node: node.metadata.name,
    read_list=_read_page,
    read_item=lambda event: _read_event(event),
)


def _read_event(event: WatchEvent) -> _Whole:
    return _whole(event.object)


class Originals:
    """Pods are read when an extender is asked about them; nodes are followed while one is to be told of them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._nodes: Reflector[_Whole] | None = None
        self._last: tuple[str, str, Raw] | None = None

    @property
    def reflectors(self) -> tuple[Reflector[_Whole], ...]:
        """What has to run for the nodes to be true."""
        return (self._nodes,) if self._nodes else ()

    def reflector_of_nodes(self) -> Reflector[_Whole]:
        """What has to run, and be adopted, before nodes can be told of."""
        return Reflector(NODES, self._client, _nobody_is_told)

    def adopt(self, nodes: Reflector[_Whole] | None) -> None:
        """Read nodes there from now on, if anywhere."""
        self._nodes = nodes

    async def known(self, names: Sequence[str]) -> Sequence[str]:
        """Those of the nodes that can be told of. One that is not there yet is waited for, unless that takes long."""
        if self._nodes is not None and any(name not in self._nodes.objects for name in names):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_SECONDS):
                    await self._nodes.refresh()
        there = self._nodes.objects if self._nodes else {}
        return [name for name in names if name in there]

    def nodes(self, names: Iterable[str]) -> dict[str, Raw]:
        """The nodes called ``names``, as far as they are there."""
        objects: Mapping[str, _Whole] = self._nodes.objects if self._nodes else {}
        found = ((name, objects.get(name)) for name in names)
        return {name: node.text for name, node in found if node is not None}

    async def pod(self, pod: Pod) -> Raw:
        """``pod``, as it is now or was a moment ago. Raises ExtenderError."""
        version = pod.metadata.resource_version
        if self._last is None or self._last[:2] != (pod.uid, version):
            self._last = pod.uid, version, await self._read(pod)
        return self._last[2]

    async def pods(self, pods: Sequence[Pod]) -> dict[str, Raw]:
        """``pods`` by their uids. Raises ExtenderError."""
        found = await asyncio.gather(*(self._read(pod) for pod in pods))
        return {pod.uid: text for pod, text in zip(pods, found, strict=True)}

    async def _read(self, pod: Pod) -> Raw:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        try:
            whole = _whole(await self._client.request("GET", path), without="managedFields")
        except (ApiError, NoAnswerError, msgspec.MsgspecError) as error:
            raise _no_original(pod, f"cannot be read: {error}") from error
        if whole.metadata.uid != pod.uid:
            raise _no_original(pod, "was replaced by another")
        return whole.text


def _nobody_is_told(_: Change[_Whole]) -> None:
    """Nothing follows from a change."""


def _no_original(pod: Pod, problem: str) -> ExtenderError:
    return ExtenderError(f"pod {pod.key}, of which an extender is to be told, {problem}", sent=False)
