"""Pods and nodes as the API server writes them: extenders are told more than the scheduler itself reads."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw

from ..api import Pod
from ..client import ApiError, Client, NoAnswerError
from ..recent import Recent
from ..watches import Change, Kind, Reflector
from ..wire import ObjectMeta, WatchEvent, read_items

REFRESH_SECONDS = 5.0
KEPT_PODS = 4096
"""Of so many pods it is remembered how they are written: a few times as many as one pod may preempt."""


class OriginalError(Exception):
    """An extender cannot be told of a pod, which the API server does not show; that is not the extender's failure."""


class _Whole(msgspec.Struct, frozen=True, gc=False):
    """An object, and how it is written."""

    metadata: ObjectMeta
    text: Raw


class _Identity(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


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
    read_list=lambda body: read_items(body, _whole),
    read_item=lambda event: _read_event(event),
)


def _read_event(event: WatchEvent) -> _Whole:
    return _whole(event.object)


class Originals:
    """Pods are read when an extender is asked about them; nodes are followed while one is to be told of them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._nodes: Reflector[_Whole] | None = None
        self._pods = Recent[tuple[str, str], Raw](KEPT_PODS)

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
        """``pod``, as it is now or was a moment ago. Raises OriginalError."""
        text = await self._text(pod)
        if text is None:
            raise _no_original(pod, "is gone")
        return text

    async def pods(self, pods: Sequence[Pod]) -> dict[str, Raw]:
        """Those of ``pods`` that are still there, by their uids. Raises OriginalError."""
        reads = [asyncio.ensure_future(self._text(pod)) for pod in pods]
        try:
            found = await asyncio.gather(*reads)
        finally:
            for read in reads:
                read.cancel()  # Once one has failed, nobody needs the others.
        return {pod.uid: text for pod, text in zip(pods, found, strict=True) if text is not None}

    async def _text(self, pod: Pod) -> Raw | None:
        """How ``pod`` is written; read once for each of its versions."""
        version = pod.uid, pod.metadata.resource_version
        text = self._pods.get(version)
        if text is None:
            text = await self._read(pod)
            if text is not None:
                self._pods.put(version, text)
        return text

    async def _read(self, pod: Pod) -> Raw | None:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        try:
            whole = _whole(await self._client.request("GET", path), without="managedFields")
        except (ApiError, NoAnswerError, msgspec.MsgspecError) as error:
            if isinstance(error, ApiError) and error.status == 404:
                return None
            raise _no_original(pod, f"cannot be read: {error}") from error
        return whole.text if whole.metadata.uid == pod.uid else None


def _nobody_is_told(_: Change[_Whole]) -> None:
    """Nothing follows from a change."""


def _no_original(pod: Pod, problem: str) -> OriginalError:
    return OriginalError(f"pod {pod.key}, of which an extender is to be told, {problem}")
