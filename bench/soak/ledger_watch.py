"""Has the ledger know what goes on, by watches of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from bench.cluster.client import Connection, Server
from bench.soak.ledger import Ledger
from bench.soak.objects import Node, Pod

Kind = TypeVar("Kind", bound=Pod | Node)


class WatchError(Exception):
    """The API server reports an error on a watch: what happened since is not known, so nothing can be judged."""


class Event(msgspec.Struct):
    """A line of a watch, whose object is read by what it is an event of."""

    type: str
    object: msgspec.Raw


class Version(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class Bookmark(msgspec.Struct):
    metadata: Version


class Watch(Generic[Kind]):
    """Follows one collection from its beginning; an interruption loses nothing."""

    def __init__(
        self, path: str, kind: type[Kind], seen: Callable[[Kind, float], None], gone: Callable[[Kind], None]
    ) -> None:
        self._path = path
        self._kind = kind
        self._objects = msgspec.json.Decoder(kind)
        self._seen = seen
        self._gone = gone
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
        """Enter what is told until the API server ends the watch."""
        if not self._version:
            await self._list(connection)
        rest = b""
        path = f"{self._path}?watch=true&allowWatchBookmarks=true&resourceVersion={self._version}"
        async for chunk in connection.stream(path, "application/json"):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take(msgspec.json.decode(line, type=Event))

    async def _list(self, connection: Connection) -> None:
        found = await connection.get(self._path)
        for each in found["items"]:
            self._seen(msgspec.convert(each, self._kind), time.monotonic())
        self._version = found["metadata"]["resourceVersion"]

    def _take(self, event: Event) -> None:
        if event.type == "ERROR":
            raise WatchError(f"the watch on {self._path} reports {bytes(event.object).decode()}")
        self._version = msgspec.json.decode(event.object, type=Bookmark).metadata.resource_version
        if event.type == "BOOKMARK":
            return
        found = self._objects.decode(event.object)
        if event.type == "DELETED":
            self._gone(found)
        else:
            self._seen(found, time.monotonic())


def watches(ledger: Ledger) -> tuple[Watch[Node], Watch[Pod]]:
    """Those that the ledger needs."""
    return (
        Watch("/api/v1/nodes", Node, ledger.node, lambda node: ledger.node_gone(node.name)),
        Watch("/api/v1/namespaces/default/pods", Pod, ledger.pod, lambda pod: ledger.pod_gone(pod.uid)),
    )
