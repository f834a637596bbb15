"""What a copy has yet to see of what was written before some instant, found out without reading everything again.

    the versions of all objects ──► those the copy lacks ──► its watch shows them ──► caught up

Versions alone are a small part of a list's work, and most often the copy lacks nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass

from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.watch.envelopes import ObjectIdentity, decode_identified_list
from scheduler_runtime.kube.watch.kinds import Kind, T, number, version_of
from scheduler_runtime.kube.watch.pagination import list_pages, with_full_list_fallback

ONLY_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


@dataclass(slots=True)
class MissingChanges:
    """What a copy lacked when it was compared."""

    until: int
    """The version up to which its watch has to come."""
    gone: Mapping[str, str]
    """What it holds that is no more: uids by key."""

    def is_left(self, objects: Mapping[str, T], version: int) -> bool:
        """Whether a copy that has come to ``version`` lacks something of it still."""
        self.gone = {key: uid for key, uid in self.gone.items() if key in objects and objects[key].metadata.uid == uid}
        return version < self.until or bool(self.gone)


async def find_missing_changes(client: Client, kind: Kind[T], objects: Mapping[str, T]) -> MissingChanges:
    """Compare ``objects``, which may change meanwhile, with what there is. Raises as ``list_pages`` does."""
    return await with_full_list_fallback(lambda limit: _compared(client, kind, objects, limit))


async def _compared(client: Client, kind: Kind[T], objects: Mapping[str, T], limit: int) -> MissingChanges:
    until, listed_at, present = 0, 0, set[str]()
    listed = list_pages(client, kind.path, kind.params, decode_identified_list, limit=limit, accept=ONLY_METADATA)
    async with aclosing(listed) as found:
        async for page in found:
            listed_at = listed_at or number(page.metadata.resource_version)
            for item in page.items or ():
                present.add(kind.key(item))
                if not _holds(objects, kind, item):
                    until = max(until, number(item.metadata.resource_version))
            await asyncio.sleep(0)
    held = {key: item for key, item in objects.items() if key not in present and version_of(item) <= listed_at}
    return MissingChanges(until, {key: item.metadata.uid for key, item in held.items()})


def _holds(objects: Mapping[str, T], kind: Kind[T], item: ObjectIdentity) -> bool:
    """Whether a copy has this version of an object, or a later one."""
    known = objects.get(kind.key(item))
    return known is not None and version_of(known) >= number(item.metadata.resource_version)
