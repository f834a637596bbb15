"""List and watch: what there is, then what changes, for as long as the caller wants to know.

Nothing ends it but cancellation. A watch that breaks is resumed where it was; where the server no longer knows
(410) everything is listed again, and the consumer compares.
"""

import asyncio
import json
import logging
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass

from devcluster.node.api import Api, ApiError, Object
from devcluster.node.retry import Backoff

logger = logging.getLogger(__name__)

_IDLE_SECONDS = 75  # the server sends a bookmark about every minute
_GONE = 410


@dataclass(frozen=True, slots=True)
class Listed:
    """Everything there is: what was known and is not in here has been deleted."""

    items: list[Object]


@dataclass(frozen=True, slots=True)
class Changed:
    """An object was added or modified."""

    item: Object


@dataclass(frozen=True, slots=True)
class Deleted:
    """An object is gone; ``item`` is its last state."""

    item: Object


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The server does not answer, or not with what was asked for; it is asked again."""

    reason: str


Seen = Listed | Changed | Deleted | Interrupted


async def watch(api: Api, path: str, **selectors: str) -> AsyncIterator[Seen]:
    """Yield a Listed first, and again whenever the thread was lost; in between what changed."""
    version = ""
    backoff = Backoff(0.2, 10)
    said = ""
    while True:
        wait = 0.0
        try:
            if not version:
                listing = await api.get(path, **selectors)
                version = listing["metadata"]["resourceVersion"]
                yield Listed(listing["items"])
            async for seen, reached in _changes(api, path, version, selectors):
                version = reached
                backoff.reset()
                said = ""
                if seen is not None:
                    yield seen
        except ApiError as error:
            wait = error.retry_after
            if error.status == _GONE:
                version = ""
            if str(error) != said:
                said = str(error)
                logger.warning("watch interrupted, trying again: %s", said)
            yield Interrupted(said)
        await asyncio.sleep(max(backoff.next(), wait))


async def _changes(
    api: Api, path: str, version: str, selectors: dict[str, str]
) -> AsyncIterator[tuple[Changed | Deleted | None, str]]:
    """One watch request: each change with the version to resume from behind it."""
    seconds = str(random.randint(300, 600))  # noqa: S311 - spreads the load, keeps no secret
    query = {**selectors, "watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": seconds}
    async with api.stream(path, _IDLE_SECONDS, resourceVersion=version, **query) as lines:
        async for line in lines:
            kind, item = _parse(path, line)
            yield _CHANGES[kind](item) if kind in _CHANGES else None, item["metadata"]["resourceVersion"]


_CHANGES: dict[str, type[Changed] | type[Deleted]] = {"ADDED": Changed, "MODIFIED": Changed, "DELETED": Deleted}


def _parse(path: str, line: bytes) -> tuple[str, Object]:
    try:
        event = json.loads(line)
    except ValueError as error:
        raise ApiError(0, f"GET {path}: a line of the watch is not JSON: {line[:80]!r}") from error
    if event["type"] == "ERROR":
        status = event["object"]
        raise ApiError(status.get("code", 0), f"GET {path}: {status.get('message', 'error in the watch')}")
    return event["type"], event["object"]
