"""List and watch: everything that exists, then every change, until the caller is cancelled.

A watch that breaks is resumed where it was; where the server has forgotten that point (410), everything is listed
again, and the consumer compares.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass

from devcluster.node.api import ApiError, NodeApi, Object
from devcluster.node.clock import Backoff
from devcluster.node.decoding import decode

logger = logging.getLogger(__name__)

_IDLE_SECONDS = 75  # the server sends a bookmark about every minute
_GONE = 410


@dataclass(frozen=True, slots=True)
class Listed:
    """Everything that exists: an object of an earlier list that is not in here has been deleted."""

    items: list[Object]


@dataclass(frozen=True, slots=True)
class Changed:
    """An object was added or modified."""

    item: Object


@dataclass(frozen=True, slots=True)
class Deleted:
    """An object was deleted; ``item`` is its last state."""

    item: Object


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The server did not answer, or refused; the watch tries again."""

    reason: str


WatchEvent = Listed | Changed | Deleted | Interrupted


async def watch(api: NodeApi, path: str, **selectors: str) -> AsyncIterator[WatchEvent]:
    """Yield a Listed first, and again whenever the server has forgotten our version; in between each change."""
    version = ""
    backoff = Backoff(0.2, 10)
    trouble = ""
    while True:
        wait = 0.0
        try:
            if not version:
                listing = await api.get(path, **selectors)
                version = listing["metadata"]["resourceVersion"]
                yield Listed(listing["items"])
            async for change, reached in _changes(api, path, version, selectors):
                version = reached
                backoff.reset()
                trouble = ""
                if change is not None:
                    yield change
        except ApiError as error:
            wait = error.retry_after
            if error.status == _GONE:
                version = ""
            if str(error) != trouble:  # one line per outage, however many attempts it takes
                trouble = str(error)
                logger.warning("watch interrupted, trying again: %s", trouble)
            yield Interrupted(trouble)
        await asyncio.sleep(max(backoff.next(), wait))


async def _changes(
    api: NodeApi, path: str, version: str, selectors: dict[str, str]
) -> AsyncIterator[tuple[Changed | Deleted | None, str]]:
    """One watch request: each change with the version to resume from behind it."""
    seconds = str(random.randint(300, 600))  # noqa: S311 - spreads the load, keeps no secret
    query = {**selectors, "watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": seconds}
    async with api.stream(path, _IDLE_SECONDS, resourceVersion=version, **query) as lines:
        async for line in lines:
            try:
                event = decode(line, f"GET {path}")
            except ValueError as error:
                raise ApiError(0, f"GET {path}: a line of the watch is not JSON: {line[:80]!r}") from error
            kind, item = event["type"], event["object"]
            if kind == "ERROR":
                raise ApiError(item.get("code", 0), f"GET {path}: {item.get('message', 'error in the watch')}")
            change = _CHANGES[kind](item) if kind in _CHANGES else None  # None for a bookmark
            yield change, item["metadata"]["resourceVersion"]


_CHANGES: dict[str, type[Changed] | type[Deleted]] = {"ADDED": Changed, "MODIFIED": Changed, "DELETED": Deleted}
