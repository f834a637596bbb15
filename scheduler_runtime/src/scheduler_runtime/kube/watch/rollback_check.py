"""Whether the API server still knows what it has shown before. After a backup was restored it does not.

It counts versions from the backup's on then, and a watch that is to resume after a later one says nothing at all, no
bookmark either, until the count has come there: what happens meanwhile is never seen. So before a watch is resumed
the API server is asked how far it is; a list is never older than what was written before it was asked for.
"""

from __future__ import annotations

from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.watch.catch_up import ONLY_METADATA
from scheduler_runtime.kube.watch.envelopes import decode_identified_list
from scheduler_runtime.kube.watch.kinds import Kind, T, number


class RolledBackError(Exception):
    """The API server is at an earlier version than one that it has shown."""


async def check_not_rolled_back(client: Client, kind: Kind[T], version: str) -> None:
    """Raise RolledBackError when the API server has not come to ``version``; ApiError, NoAnswerError, MsgspecError."""
    raw = await client.get(kind.path, {**kind.params, "limit": "1"}, ONLY_METADATA)
    current = decode_identified_list(raw).metadata.resource_version
    if 0 < number(current) < number(version):
        raise RolledBackError(f"the API server is at version {current} and was at {version} before")
