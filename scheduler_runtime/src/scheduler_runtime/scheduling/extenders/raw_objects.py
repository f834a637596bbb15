"""Pods and nodes as the API server writes them: extenders are told more than the scheduler itself reads."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Raw

from scheduler_runtime.api import Pod
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.watch import Change, Kind, Reflector
from scheduler_runtime.kube.watch.envelopes import WatchEvent, read_items
from scheduler_runtime.kube.watch.lists import list_pages, with_full_list_fallback
from scheduler_runtime.state.lru import LruCache
from scheduler_runtime.state.objects import ObjectMeta

REFRESH_SECONDS = 5.0
READ_SECONDS = 5.0
"""So long a pod is waited for, as for an extender by default: nobody else is decided about meanwhile."""
READS = 16
"""So many reads of pods are under way at a time: bindings take turns with them."""
KEPT_PODS = 4096
"""Of so many pods it is remembered how they are written: a few times as many as one pod may preempt."""


class RawObjectError(Exception):
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


class RawObjects:
    """Pods are read when an extender is asked about them; nodes are followed while one is to be told of them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._nodes: Reflector[_Whole] | None = None
        self._pods = LruCache[tuple[str, str], Raw](KEPT_PODS)
        self._reads = asyncio.Semaphore(READS)

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
                    await self._nodes.catch_up()
        there = self._nodes.objects if self._nodes else {}
        return [name for name in names if name in there]

    def nodes(self, names: Iterable[str]) -> dict[str, Raw]:
        """The nodes called ``names``, as far as they are there."""
        objects: Mapping[str, _Whole] = self._nodes.objects if self._nodes else {}
        found = ((name, objects.get(name)) for name in names)
        return {name: node.text for name, node in found if node is not None}

    async def pod(self, pod: Pod) -> Raw:
        """``pod``, as it is now or was a moment ago. Raises RawObjectError."""
        text = self._pods.get(_version(pod)) or (await self._read([pod])).get(pod.uid)
        if text is None:
            raise _no_original(pod, "is gone")
        return text

    async def pods(self, pods: Iterable[Pod]) -> dict[str, Raw]:
        """Those of ``pods`` that are still there, by their uids. Raises RawObjectError.

        Of those that were not read before in this version, all on one node are read with one request. One whose
        binding was not seen yet is read by its name: whether a list of its node has it already nobody knows.
        """
        found, unknown = dict[str, Raw](), defaultdict[str, list[Pod]](list)
        for pod in pods:
            text = self._pods.get(_version(pod))
            if text is None:
                unknown[pod.spec.node_name or pod.uid].append(pod)
            else:
                found[pod.uid] = text
        for read in await _all(self._read(together) for together in unknown.values()):
            found |= read
        return found

    async def _read(self, pods: Sequence[Pod]) -> dict[str, Raw]:
        """Those of ``pods``, one or all on one node, that are still there, by their uids. Raises RawObjectError."""
        try:
            async with self._reads, asyncio.timeout(READ_SECONDS):
                there = await (self._one(pods[0]) if len(pods) == 1 else self._on_node(pods[0].spec.node_name))
        except (ApiError, NoResponseError, msgspec.MsgspecError) as error:
            raise _no_original(pods[0], f"cannot be read: {error}") from error
        except TimeoutError as error:
            raise _no_original(pods[0], f"cannot be read: no answer within {READ_SECONDS:g} s") from error
        read = {pod.uid: there[pod.uid] for pod in pods if pod.uid in there}
        for pod in pods:
            if pod.uid in read:
                self._pods.put(_version(pod), read[pod.uid])
        return read

    async def _one(self, pod: Pod) -> dict[str, Raw]:
        try:
            found = _pod(await self._client.request("GET", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"))
        except ApiError as error:
            if error.status != 404:
                raise
            return {}
        return {found.metadata.uid: found.text}

    async def _on_node(self, node: str) -> dict[str, Raw]:
        return await with_full_list_fallback(lambda limit: self._listed(node, limit))

    async def _listed(self, node: str, limit: int) -> dict[str, Raw]:
        params = {"fieldSelector": f"spec.nodeName={node}"}
        listed = list_pages(self._client, "/api/v1/pods", params, lambda body: read_items(body, _pod), limit=limit)
        async with contextlib.aclosing(listed) as found:
            return {pod.metadata.uid: pod.text async for page in found for pod in page.items}


T = TypeVar("T")


async def _all(works: Iterable[Awaitable[T]]) -> list[T]:
    """What all of ``works`` come to. Once one has failed nobody waits for the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _pod(raw: bytes | Raw) -> _Whole:
    return _whole(raw, without="managedFields")


def _version(pod: Pod) -> tuple[str, str]:
    return pod.uid, pod.metadata.resource_version


def _nobody_is_told(_: Change[_Whole]) -> None:
    """Nothing follows from a change."""


def _no_original(pod: Pod, problem: str) -> RawObjectError:
    return RawObjectError(f"pod {pod.key}, of which an extender is to be told, {problem}")
