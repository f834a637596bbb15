"""Pods and nodes as the API server writes them: extenders get more fields than the scheduler itself decodes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw

from scheduler_runtime.api import Pod
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.watch import Kind, Reflector
from scheduler_runtime.kube.watch.kinds import ObjectList, read_items
from scheduler_runtime.kube.watch.lists import list_pages, with_full_list_fallback
from scheduler_runtime.kube.watch.unreadable import Unreadable, read_page, without_managed_fields
from scheduler_runtime.state.lru import LruCache
from scheduler_runtime.state.objects import ObjectMeta

REFRESH_SECONDS = 5.0
READ_SECONDS = 5.0
"""How long a read of pods may take, as a call of an extender by default: no other decision is made meanwhile."""
READS = 16
"""How many reads of pods are under way at a time, so that bindings are sent in between."""
MAX_PODS = 4096
"""How many pods stay in memory: a few times as many as one pod may preempt."""


class RawObjectError(Exception):
    """A pod that an extender is to be asked about cannot be read; that is not the extender's failure."""


class _RawObject(msgspec.Struct, frozen=True, gc=False):
    """An object's metadata, and the whole object as JSON."""

    metadata: ObjectMeta
    text: Raw


class _Identity(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def _read_object(raw: bytes | Raw, *, without: str = "") -> _RawObject:
    """Read an object, ``without`` one field of its metadata. Its kind is left out, as Go leaves it out in a field.

    Raises ValueError, and RecursionError if something other than that field is too deep.
    """
    if without == "managedFields":
        raw = without_managed_fields(raw)
    identity = msgspec.json.decode(raw, type=_Identity)
    fields = msgspec.json.decode(raw, type=dict[str, Raw])
    for name in ("apiVersion", "kind"):
        fields.pop(name, None)
    if without:
        metadata = msgspec.json.decode(fields["metadata"], type=dict[str, Raw])
        metadata.pop(without, None)
        fields["metadata"] = Raw(msgspec.json.encode(metadata))
    return _RawObject(identity.metadata, Raw(msgspec.json.encode(fields)))


NODES: Kind[_RawObject] = Kind(
    "/api/v1/nodes",
    key=lambda node: node.metadata.name,
    read_list=lambda body: read_items(body, _read_object),
    read_item=_read_object,
)


class RawObjects:
    """Raw pods and nodes. Pods are read when an extender is asked about them, nodes are watched while one needs them.

    A copy of every pod would be as large as that of the API server; of pods only those that are being scheduled, and
    possible victims, are needed.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._nodes: Reflector[_RawObject] | None = None
        self._pods = LruCache[tuple[str, str], Raw](MAX_PODS)
        """By uid and resource version."""
        self._reads = asyncio.Semaphore(READS)

    # Nodes

    @property
    def reflectors(self) -> tuple[Reflector[_RawObject], ...]:
        """The reflector that has to run for the nodes to be true, if there is one."""
        return (self._nodes,) if self._nodes else ()

    def create_nodes_reflector(self) -> Reflector[_RawObject]:
        """Return the reflector that has to run, and be passed to ``read_nodes_from``, before nodes can be sent."""
        return Reflector(NODES, self._client, lambda _: None)  # events of nodes come from the scheduler's own copy

    def read_nodes_from(self, reflector: Reflector[_RawObject] | None) -> None:
        """Read nodes there from now on; nowhere if it is None."""
        self._nodes = reflector

    async def wait_for_nodes(self, names: Sequence[str]) -> Sequence[str]:
        """Return those of the nodes that are here, after waiting a moment for those that are not.

        The copy here and the one that decisions are made by are two watches, and one may be behind the other.
        """
        if self._nodes is not None and any(name not in self._nodes.objects for name in names):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_SECONDS):
                    await self._nodes.catch_up()
        nodes = self._nodes.objects if self._nodes else {}
        return [name for name in names if name in nodes]

    def nodes(self, names: Iterable[str]) -> dict[str, Raw]:
        """Return the nodes called ``names``, as far as they are here."""
        objects: Mapping[str, _RawObject] = self._nodes.objects if self._nodes else {}
        nodes = ((name, objects.get(name)) for name in names)
        return {name: node.text for name, node in nodes if node is not None}

    # Pods

    async def pod(self, pod: Pod) -> Raw:
        """Return ``pod`` as it is now or was a moment ago. Raises RawObjectError."""
        text = self._pods.get(_version(pod)) or (await self._read([pod])).get(pod.metadata.uid)
        if text is None:
            raise _unreadable(pod, "is gone")
        return text

    async def pods(self, pods: Iterable[Pod]) -> dict[str, Raw]:
        """Return those of ``pods`` that still exist, by their uids. Raises RawObjectError.

        Of those that were not read before in this version, all on one node are read with one request. A pod whose
        binding was not seen yet is read by its name: a list of the pods of its node may not have it yet.
        """
        texts, missing = dict[str, Raw](), defaultdict[str, list[Pod]](list)
        for pod in pods:
            text = self._pods.get(_version(pod))
            if text is None:
                missing[pod.spec.node_name or pod.metadata.uid].append(pod)
            else:
                texts[pod.metadata.uid] = text
        reads = [asyncio.ensure_future(self._read(together)) for together in missing.values()]
        try:
            for read in await asyncio.gather(*reads):
                texts |= read
        finally:
            for task in reads:
                task.cancel()  # if one has failed, nobody needs the others
        return texts

    async def _read(self, pods: Sequence[Pod]) -> dict[str, Raw]:
        """Those of ``pods``, one or all on one node, that still exist, by their uids. Raises RawObjectError."""
        try:
            async with self._reads, asyncio.timeout(READ_SECONDS):
                existing = await (self._get(pods[0]) if len(pods) == 1 else self._list_node(pods[0].spec.node_name))
        except (ApiError, NoResponseError, ValueError, RecursionError) as error:
            raise _unreadable(pods[0], f"cannot be read: {error}") from error
        except TimeoutError as error:
            raise _unreadable(pods[0], f"cannot be read: no answer within {READ_SECONDS:g} s") from error
        read = {pod.metadata.uid: existing[pod.metadata.uid] for pod in pods if pod.metadata.uid in existing}
        for pod in pods:
            if pod.metadata.uid in read:
                self._pods.put(_version(pod), read[pod.metadata.uid])
        return read

    async def _get(self, pod: Pod) -> dict[str, Raw]:
        try:
            body = await self._client.request(
                "GET", f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"
            )
        except ApiError as error:
            if error.status != 404:
                raise
            return {}
        current = _read_pod(body)
        return {current.metadata.uid: current.text}

    async def _list_node(self, node: str) -> dict[str, Raw]:
        params = {"fieldSelector": f"spec.nodeName={node}"}

        async def read_pages(limit: int) -> dict[str, Raw]:
            pages = list_pages(self._client, "/api/v1/pods", params, _read_pods, limit=limit)
            async with contextlib.aclosing(pages):
                items = [item async for page in pages for item in page.items]
            return {item.metadata.uid: item.text for item in items if isinstance(item, _RawObject)}

        return await with_full_list_fallback(read_pages)


# managedFields is often the larger half of a pod; upstream's informers drop the field as well.
def _read_pod(raw: bytes | Raw) -> _RawObject:
    return _read_object(raw, without="managedFields")


def _read_pods(raw: bytes) -> ObjectList[_RawObject | Unreadable]:
    return read_page(raw, lambda body: read_items(body, _read_pod), _read_pod)


def _version(pod: Pod) -> tuple[str, str]:
    return pod.metadata.uid, pod.metadata.resource_version


def _unreadable(pod: Pod, problem: str) -> RawObjectError:
    return RawObjectError(f"pod {pod.key}, about which an extender is to be asked, {problem}")
