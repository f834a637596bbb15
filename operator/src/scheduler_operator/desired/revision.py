"""Revisions: all objects of a process, as they were rendered at one time (ADR 31). Pure.

The last good one is kept in a ControllerRevision. While another one is brought into force both are in play:
``together`` grants what either needs, and takes nothing away from the one that runs.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from scheduler_operator.resources.names import Identity, Object, UidOf, generated_name, identity, is_owned_by, metadata
from scheduler_operator.resources.user_object import Status, UserObject

DIGEST_ANNOTATION = "berth.dev/revision"
FAILED_ANNOTATION = "berth.dev/failed-revision"
CAUSE_ANNOTATION = "berth.dev/failed-because"
MADE_ANNOTATION = "berth.dev/made"
_UID_OF = "berth.dev/uid-of"
_ROLES = ("ClusterRole", "Role")


@dataclass(frozen=True)
class Revision:
    """All objects of a process."""

    objects: tuple[Object, ...]
    """In the order in which they are applied."""
    document: str
    """The hash of the document, by which processes report what they go by."""
    reports: Mapping[str, Status] = field(default_factory=dict)
    """What the status of each profile says of this configuration, by the profile's name."""

    @cached_property
    def digest(self) -> str:
        """Two revisions with the same objects have the same digest."""
        text = json.dumps(_encode(list(self.objects)), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:40]

    @property
    def identities(self) -> frozenset[Identity]:
        return frozenset(map(identity, self.objects))

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Read what ``to_data`` has written."""
        return cls(tuple(_decode(data["objects"])), data["document"], data["reports"])

    def to_data(self) -> dict[str, Any]:
        """Return the revision as JSON."""
        return {"objects": _encode(list(self.objects)), "document": self.document, "reports": dict(self.reports)}

    def together(self, other: "Revision") -> "Revision":
        """Return what is applied while this one, which runs, is replaced by the ``other``."""
        rules = {identity(role): role["rules"] for role in self.objects if role["kind"] in _ROLES}
        widened = [
            {**new, "rules": [*new["rules"], *(rule for rule in rules[identity(new)] if rule not in new["rules"])]}
            if identity(new) in rules
            else new
            for new in other.objects
        ]
        kept = [old for old in self.objects if identity(old) not in other.identities]
        return replace(other, objects=(*kept, *widened))


@dataclass(frozen=True)
class KeptRevision:
    """What a profile's ControllerRevision says without its data."""

    number: int
    """The name ends with it. One replaces the other: the API server refuses to change one with such data."""
    digest: str
    failed: str = ""
    """The digest of the revision that was rolled back to this one."""
    cause: str = ""
    """Why that one failed."""
    made: Mapping[Identity, str] = field(default_factory=dict)
    """The uids of its objects: what is ours although somebody took our reference away."""

    @classmethod
    def newest(cls, profile: UserObject, objects: Iterable[Object]) -> Self | None:
        """Return the newest of the ControllerRevisions that ``profile`` owns; None when there is none."""
        own = (item for item in objects if is_owned_by(profile, item))
        newest = max(own, key=lambda item: int(item["revision"]), default=None)
        if newest is None:
            return None
        annotations = newest["metadata"].get("annotations") or {}
        digest, failed, cause = (
            annotations.get(key, "") for key in (DIGEST_ANNOTATION, FAILED_ANNOTATION, CAUSE_ANNOTATION)
        )
        made = {(kind, name): uid for kind, name, uid in json.loads(annotations.get(MADE_ANNOTATION, "[]"))}
        return cls(int(newest["revision"]), digest, failed, cause, made)


def controller_revision(profile: UserObject, revision: Revision, kept: KeptRevision, namespace: str) -> Object:
    """Return the object that keeps ``revision``, and what is said of it in ``kept``."""
    about = metadata(profile, namespace)
    failure = {FAILED_ANNOTATION: kept.failed, CAUSE_ANNOTATION: kept.cause} if kept.failed else {}
    made = json.dumps(sorted([*key, uid] for key, uid in kept.made.items()))
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            **about,
            "name": f"{generated_name(profile.name)}.{kept.number}",
            "annotations": {DIGEST_ANNOTATION: revision.digest, MADE_ANNOTATION: made, **failure},
        },
        "revision": kept.number,
        "data": revision.to_data(),
    }


def _encode(value: Any) -> Any:
    match value:
        case UidOf(kind, name):
            return {_UID_OF: [kind, name]}
        case dict():
            return {key: _encode(below) for key, below in value.items()}
        case list() | tuple():
            return [_encode(below) for below in value]
    return value


def _decode(value: Any) -> Any:
    match value:
        case {"berth.dev/uid-of": [kind, name]}:
            return UidOf(kind, name)
        case dict():
            return {key: _decode(below) for key, below in value.items()}
        case list():
            return [_decode(below) for below in value]
    return value
