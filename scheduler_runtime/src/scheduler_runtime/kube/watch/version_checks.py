"""Comparison of a watch cache with the API server by resource versions alone.

Finds changes that the cache still misses, and an API server whose data went back in time, because etcd was restored
from a backup. Only metadata is requested (PartialObjectMetadataList), a small part of the work of a list; most often
nothing is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass

from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.watch.kinds import (
    Kind,
    ListPage,
    ObjectIdentity,
    ObjectList,
    T,
    decode_identified,
    decode_identified_list,
    number,
    version_of,
)
from scheduler_runtime.kube.watch.lists import list_pages, with_full_list_fallback
from scheduler_runtime.kube.watch.unreadable import read_list_metadata, read_page

ONLY_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


class RolledBackError(Exception):
    """The API server is at an earlier version than one that it has shown."""


@dataclass(slots=True)
class MissingChanges:
    """The changes that a cache missed when it was compared."""

    until_version: int
    """The version that its watch has to reach."""
    deleted: Mapping[str, str]
    """Objects of the cache that do not exist any more: uids by key."""

    def any_remain(self, objects: Mapping[str, T], version: int) -> bool:
        """True if a cache of ``objects``, whose watch has reached ``version``, still misses one of them."""
        self.deleted = {
            key: uid for key, uid in self.deleted.items() if key in objects and objects[key].metadata.uid == uid
        }
        return version < self.until_version or bool(self.deleted)


async def find_missing_changes(client: Client, kind: Kind[T], objects: Mapping[str, T]) -> MissingChanges:
    """Compare ``objects``, which may change meanwhile, with those that exist. Raises as ``list_pages`` does."""

    async def compare(limit: int) -> MissingChanges:
        until_version, listed_at, existing, all_have_names = 0, 0, set[str](), True
        pages = list_pages(client, kind.path, kind.params, _read_identities, limit=limit, accept=ONLY_METADATA)
        async with aclosing(pages):
            async for page in pages:
                listed_at = listed_at or number(page.metadata.resource_version)
                for item in page.items:
                    key, version = kind.key(item), number(item.metadata.resource_version)
                    existing.add(key)
                    cached = objects.get(key)
                    if cached is None or version_of(cached) < version:
                        until_version = max(until_version, version)
                if isinstance(page, ListPage) and page.unidentified:
                    all_have_names = False
                await asyncio.sleep(0)
        # An object that the watch has shown since the list was taken is not missing in it for being deleted. Where an
        # item has no name, any missing one may be that item: no deletion comes, and a leader would wait for ever.
        deleted = {
            key: item.metadata.uid
            for key, item in objects.items()
            if all_have_names and key not in existing and version_of(item) <= listed_at
        }
        return MissingChanges(until_version, deleted)

    return await with_full_list_fallback(compare)


def _read_identities(raw: bytes) -> ObjectList[ObjectIdentity]:
    return read_page(raw, decode_identified_list, decode_identified)


async def check_not_rolled_back(client: Client, kind: Kind[T], version: str) -> None:
    """Raise RolledBackError when the API server has not reached ``version``; ApiError, NoResponseError, MsgspecError.

    An API server with a restored backup counts versions from the backup's on. A watch that resumes after a later
    version gets nothing at all, no bookmark either, until the count has come there: changes meanwhile would never be
    seen. So this is checked before a watch resumes. A list is never older than the last write before its request.
    """
    raw = await client.get(kind.path, {**kind.params, "limit": "1"}, ONLY_METADATA)
    current = read_list_metadata(raw).resource_version
    if 0 < number(current) < number(version):
        raise RolledBackError(f"the API server is at version {current} and was at {version} before")
