"""The ConfigMaps and Secrets that pods of this node use, each followed by one watch, however many pods use it.

One watch per object and not one per kind, because that is what the API server's node authorizer grants a node.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from devcluster.node.api import NodeApi, Object
from devcluster.node.watch import Changed, Deleted, Interrupted, Listed, watch

_PATHS = {"ConfigMap": "configmaps", "Secret": "secrets"}


class Reference(NamedTuple):
    """One object that a pod names."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f'{self.kind} "{self.namespace}/{self.name}"'


class NotAvailable(Exception):  # noqa: N818 - it reads as what it says
    """An object that the pod needs does not exist, or cannot be read."""


class NotReadYet(NotAvailable):
    """The API server has not answered yet whether an object that the pod needs exists."""


@dataclass(slots=True)
class _Followed:
    task: "asyncio.Task[None]"
    listeners: list[Callable[[], None]] = field(default_factory=list)
    is_read: bool = False
    interrupted_before: bool = False
    trouble: str = ""
    value: Object | None = None


class Objects:
    """The current state of every followed object."""

    def __init__(self, api: NodeApi) -> None:
        self._api = api
        self._followed: dict[Reference, _Followed] = {}

    def follow(self, reference: Reference, listener: Callable[[], None]) -> None:
        """Keep ``reference`` up to date and call ``listener`` whenever it changes."""
        if reference not in self._followed:
            self._followed[reference] = _Followed(asyncio.create_task(self._read(reference)))
        self._followed[reference].listeners.append(listener)

    def forget(self, reference: Reference, listener: Callable[[], None]) -> None:
        """Undo one ``follow``. The last one ends the watch."""
        followed = self._followed[reference]
        followed.listeners.remove(listener)
        if not followed.listeners:
            followed.task.cancel()
            del self._followed[reference]

    def find(self, reference: Reference) -> Object | None:
        """The object, or None when it does not exist. Raises NotAvailable while it cannot be read."""
        followed = self._followed[reference]
        if followed.is_read:
            return followed.value
        if followed.trouble:
            raise NotAvailable(f"{reference}: {followed.trouble}")
        raise NotReadYet(f"{reference} has not been read yet")

    async def _read(self, reference: Reference) -> None:
        path = f"/api/v1/namespaces/{reference.namespace}/{_PATHS[reference.kind]}"
        followed = self._followed[reference]
        async for event in watch(self._api, path, fieldSelector=f"metadata.name={reference.name}"):
            match event:
                case Listed(items):
                    followed.is_read, followed.value = True, items[0] if items else None
                case Changed(item):
                    followed.value = item
                case Deleted():
                    followed.value = None
                case Interrupted(reason) if followed.interrupted_before:
                    followed.trouble = reason
                case Interrupted():
                    followed.interrupted_before = True  # the node authorizer may learn of a new pod a moment after us
            for listener in followed.listeners:
                listener()
