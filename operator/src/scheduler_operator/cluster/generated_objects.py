"""Generated objects, and the pods made of them, as the watches and the answers to our own writes last told of them.

A look at a profile reads these copies, and the API server only where they cannot know: no watch shows an object that
lost its label. An answer to a write counts at once, so no look sees less than the one before it has done.

Objects stay text until somebody looks at their profile: there may be thousands.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_operator.cluster.field_ownership import ownership_patch
from scheduler_operator.cluster.json_reading import read_json
from scheduler_operator.cluster.lease_renewals import LeaseRenewals
from scheduler_operator.resources import kinds
from scheduler_operator.resources.kinds import ResourceKind
from scheduler_operator.resources.names import Identity, Object, profile_of

_REMEMBERED_DELETIONS = 1000


@dataclass(frozen=True, slots=True)
class GeneratedObject:
    """One object, as text."""

    profile: str
    uid: str
    version: int
    looked_at: Any
    """The part of it that a look reads, where others write the rest of it often; None for all of it."""
    text: bytes

    @classmethod
    def from_object(cls, kind: ResourceKind, raw: Mapping[str, Any]) -> "GeneratedObject":
        """Store an object as the API server sends it."""
        metadata = raw["metadata"]
        kept = dict(raw)
        if kind in _WITHOUT:
            kept["metadata"] = {key: value for key, value in metadata.items() if key != "managedFields"}
            kept.pop("data", None)
        return cls(
            profile_of(metadata),
            metadata["uid"],
            int(metadata["resourceVersion"]),
            _looked_at(kind, raw),
            json.dumps({"apiVersion": kind.api_version, "kind": kind.name, **kept}).encode(),
        )

    def decode(self) -> Object:
        """Return the whole object."""
        return dict(read_json(self.text))


_WITHOUT = (kinds.REVISION, kinds.POD)
"""Who owns which field of these nobody asks; the data of a revision is large, and read from the API server."""


def _looked_at(kind: ResourceKind, raw: Mapping[str, Any]) -> Any:
    """A scheduler renews its Lease every two seconds: that is no reason to look, another leader is."""
    if kind is kinds.LEASE:
        metadata = {
            key: value for key, value in raw["metadata"].items() if key not in ("resourceVersion", "managedFields")
        }
        return json.dumps([metadata, str((raw.get("spec") or {}).get("holderIdentity") or "")])
    return None


class GeneratedObjects:
    """All of them, by profile, kind and name."""

    def __init__(self) -> None:
        self._objects: dict[ResourceKind, dict[str, GeneratedObject]] = {
            kind: {} for kind in (*kinds.WATCHED, kinds.READER_BINDING)
        }
        self.renewals = LeaseRenewals()
        self._names: dict[str, set[tuple[ResourceKind, str]]] = {}
        """The kinds and names of each profile's objects."""
        self._listed: dict[ResourceKind, set[str]] = {}
        """The names in the pages of a list that is under way."""
        self._known: set[ResourceKind] = set()
        self._deleted: deque[str] = deque(maxlen=_REMEMBERED_DELETIONS)
        """The uids of what was deleted last: an answer to a write may come after the news of the deletion."""

    @property
    def is_complete(self) -> bool:
        """True once every kind has been listed."""
        return self._known == self._objects.keys()

    def of(self, profile: str, *wanted: ResourceKind) -> list[Object]:
        """Return the objects of ``profile`` that are of one of the ``wanted`` kinds."""
        names = sorted(self._names.get(profile, ()), key=lambda key: (key[0].plural, key[1]))
        return [self._objects[kind][name].decode() for kind, name in names if kind in wanted]

    def identities(self, profile: str) -> list[Identity]:
        """Return the kind and name of each object of ``profile``."""
        return [(kind.name, name) for kind, name in self._names.get(profile, ())]

    def put(self, kind: ResourceKind, raw: Mapping[str, Any]) -> bool:
        """Keep an object, unless a newer version is here; return whether that is worth a look at its profile."""
        name, stored = raw["metadata"]["name"], GeneratedObject.from_object(kind, raw)
        before = self._objects[kind].get(name)
        if before is not None:
            if before.uid == stored.uid and before.version > stored.version:
                return False
            if before.uid == stored.uid and before.version == stored.version:
                # What we wrote ourselves is known, but not what somebody else had added just before that.
                return kind is not kinds.LEASE and bool(ownership_patch(raw))
            if before.profile != stored.profile:
                self._forget(kind, name, before.profile)
        speaks_again = kind is kinds.LEASE and self.renewals.note(raw, stored.profile)
        self._objects[kind][name] = stored
        self._names.setdefault(stored.profile, set()).add((kind, name))
        return speaks_again or before is None or stored.looked_at is None or before.looked_at != stored.looked_at

    def put_written(self, kind: ResourceKind, raw: Mapping[str, Any]) -> None:
        """Keep what an answer to a write of ours contained, unless the object was deleted meanwhile."""
        if kind in self._objects and raw["metadata"]["uid"] not in self._deleted:
            self.put(kind, raw)

    def remove(self, kind: ResourceKind, name: str, uid: str) -> None:
        """Forget an object that was deleted; another one of its name stays."""
        self._deleted.append(uid)
        stored = self._objects.get(kind, {}).get(name)
        if stored is not None and stored.uid == uid:
            del self._objects[kind][name]
            if kind is kinds.LEASE:
                self.renewals.forget(name)
            self._forget(kind, name, stored.profile)

    def put_page(self, kind: ResourceKind, page: Iterable[Mapping[str, Any]], is_first: bool, is_last: bool) -> None:
        """Keep the objects on a page of a list; after the last page forget what was on none."""
        if is_first:
            self._listed[kind] = set()
        names = self._listed.setdefault(kind, set())
        for raw in page:
            names.add(raw["metadata"]["name"])
            self.put(kind, raw)
        if is_last:
            for gone in self._objects[kind].keys() - names:
                self.remove(kind, gone, self._objects[kind][gone].uid)
            self._known.add(kind)

    def mark_listed(self, kind: ResourceKind) -> None:
        """Note that all objects of a kind are here."""
        self._known.add(kind)

    def _forget(self, kind: ResourceKind, name: str, profile: str) -> None:
        names = self._names.get(profile, set())
        names.discard((kind, name))
        if not names:
            self._names.pop(profile, None)
