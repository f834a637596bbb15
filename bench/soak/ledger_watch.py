"""Watches that enter all pods and nodes into the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from bench.cluster.client import Connection, Server, WatchError
from bench.soak.ledger import Ledger
from bench.soak.objects import Node, Pod

Kind = TypeVar("Kind", bound=Pod | Node)


class Event(msgspec.Struct):
    """A line of a watch; the type of the event decides how the object is decoded."""

    type: str
    object: msgspec.Raw


class Version(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class Bookmark(msgspec.Struct):
    metadata: Version


class Watch(Generic[Kind]):
    """Follows one collection from its beginning; an interruption loses nothing."""

    def __init__(
        self, path: str, kind: type[Kind], enter: Callable[[Kind, float], None], remove: Callable[[Kind], None]
    ) -> None:
        self._path = path
        self._kind = kind
        self._objects = msgspec.json.Decoder(kind)
        self._enter = enter
        self._remove = remove
        self._version = ""

    async def follow(self, server: Server) -> None:
        """Follow for as long as this task lives. Raises WatchError."""
        while True:
            connection = await Connection.open(server)
            try:
                await self._follow(connection)
            finally:
                await connection.close()

    async def _follow(self, connection: Connection) -> None:
        """Enter events until the API server ends the watch."""
        if not self._version:
            listing = await connection.get(self._path)
            for item in listing["items"]:
                self._enter(msgspec.convert(item, self._kind), time.monotonic())
            self._version = listing["metadata"]["resourceVersion"]
        rest = b""
        path = f"{self._path}?watch=true&allowWatchBookmarks=true&resourceVersion={self._version}"
        async for chunk in connection.stream(path, "application/json"):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._handle_event(msgspec.json.decode(line, type=Event))

    def _handle_event(self, event: Event) -> None:
        if event.type == "ERROR":
            raise WatchError(f"the watch on {self._path} reports {bytes(event.object).decode()}")
        self._version = msgspec.json.decode(event.object, type=Bookmark).metadata.resource_version
        if event.type == "BOOKMARK":
            return
        item = self._objects.decode(event.object)
        if event.type == "DELETED":
            self._remove(item)
        else:
            self._enter(item, time.monotonic())


def watches(ledger: Ledger) -> tuple[Watch[Node], Watch[Pod]]:
    """The watches of the ledger."""
    return (
        Watch("/api/v1/nodes", Node, ledger.node, lambda node: ledger.remove_node(node.name)),
        Watch("/api/v1/namespaces/default/pods", Pod, ledger.pod, lambda pod: ledger.remove_pod(pod.uid)),
    )
