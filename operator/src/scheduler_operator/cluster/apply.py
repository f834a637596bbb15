"""Applies generated objects: tries out all that would change, applies it in order, and removes what is left over.

Server-side apply with one field manager, by force. What others added to an object is adopted and removed. An object is
ours if the profile is its controller, or if we remember to have made it; that of somebody else is never taken over.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self

from scheduler_operator.cluster.api import APPLY, JSON, JSON_PATCH, ApiConnection, RequestError
from scheduler_operator.cluster.changes import note_applied, note_deleted
from scheduler_operator.cluster.field_ownership import FIELD_MANAGER, FORCED, foreign_managers, ownership_patch
from scheduler_operator.cluster.generated_objects import GeneratedObjects
from scheduler_operator.cluster.repair_brake import RepairBrake
from scheduler_operator.resources import kinds
from scheduler_operator.resources.kinds import ResourceKind
from scheduler_operator.resources.names import (
    Identity,
    Object,
    generated_name,
    identity,
    is_owned_by,
    with_uids,
)
from scheduler_operator.resources.user_object import UserObject

ADOPTION_ATTEMPTS = 3
"""Attempts to adopt fields while others write to the same object."""
UNKNOWN_UID = "00000000-0000-0000-0000-000000000000"
"""For the uid of an object that is only about to be made, when what refers to it is tried out."""

_TRIED = {**FORCED, "dryRun": "All"}
_ROLLOUT = "deployment.kubernetes.io/revision"
"""An annotation in which a Deployment's controller counts."""
_NO_DRY_RUN = "does not support dry run"
_IMMUTABLE = {
    "ConfigMap": ("immutable",),
    "ClusterRoleBinding": ("roleRef",),
    "RoleBinding": ("roleRef",),
    "Deployment": ("spec", "selector"),
    "Service": ("spec", "clusterIP"),
}


@dataclass(frozen=True, slots=True)
class Repair:
    """Fields of a generated object that another manager had written, and that are ours again."""

    kind: str
    name: str
    manager: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Removal:
    """Objects of a profile that were deleted, because it needs them no more."""

    objects: tuple[Identity, ...]


@dataclass(frozen=True, slots=True)
class Fight:
    """A generated object that others change again as often as it is changed back."""

    kind: str
    name: str
    managers: tuple[str, ...]


Record = Callable[[Repair | Removal | Fight], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class AppliedVersion:
    """What we applied last, and what became of it: while both stay, nothing is to do."""

    uid: str
    manifest: bytes
    became: bytes

    @classmethod
    def of(cls, manifest: Object, live: Object) -> Self:
        return cls(live["metadata"]["uid"], _digest(manifest), _digest(_own_content(live)))


@dataclass(frozen=True, slots=True)
class Trial:
    """Objects that the API server would accept, with those that exist already."""

    profile: UserObject
    desired: Sequence[Object]
    live: Mapping[Identity, Object]
    unchanged: frozenset[Identity]
    """Those that are left as they are: as we applied them last, or contested."""


class NameConflictError(Exception):
    """An object that has to be created exists already and belongs to somebody else."""


class Applier:
    """Makes the generated objects of profiles what they should be. Every method raises RequestError."""

    def __init__(
        self, api: ApiConnection, namespace: str, generated: GeneratedObjects, clock: Callable[[], float]
    ) -> None:
        self._api = api
        self._clock = clock
        self._brake = RepairBrake()
        self._generated = generated
        self._collections = {kind: kind.collection(namespace) for kind in kinds.ALL}
        """The path of each kind's objects."""
        self._applied: dict[Identity, AppliedVersion] = {}
        self._made: dict[Identity, str] = {}
        """The uids of what is known to be ours by something else than its owner reference."""

    def remember(self, made: Mapping[Identity, str]) -> None:
        """Know the objects with these uids as ours, even if somebody takes our reference away."""
        self._made = {**made, **self._made}  # what was made again since is known better here

    async def try_out(self, profile: UserObject, desired: Sequence[Object]) -> Trial:
        """Send a dry run of each of the ``desired`` objects that would change. Raises NameConflictError.

        So nothing has been changed when one of them is refused.
        """
        live = {identity(item): item for item in self._generated.of(profile.name, *kinds.ALL_GENERATED)}
        uids = {key: item["metadata"]["uid"] for key, item in live.items()}
        known = {key: uids.get(key, UNKNOWN_UID) for key in map(identity, desired)}
        manifests = [with_uids(manifest, known) for manifest in desired]
        unchanged = frozenset(identity(manifest) for manifest in manifests if self._stays(manifest, live))
        changing = [manifest for manifest in manifests if identity(manifest) not in unchanged]
        trials = (self._try_one(manifest, live, manifests) for manifest in changing)
        found = await asyncio.gather(*trials, return_exceptions=True)
        existing = {identity(item): item for item in found if isinstance(item, dict)}
        wanted = existing | {key: live[key] for key in known if key in live}
        if foreign := [" ".join(key) for key, item in wanted.items() if not self._is_ours(profile, item)]:
            raise NameConflictError(
                f"{', '.join(foreign)} is there already and was not made for this profile; "
                "give the profile another name, or delete what is in its way"
            )
        for error in found:
            if isinstance(error, BaseException):
                raise error
        return Trial(profile, desired, live | existing, unchanged)

    async def apply(self, trial: Trial, record: Record, keep: Collection[Identity] = ()) -> dict[Identity, Object]:
        """Apply the objects in their order, and return them as they are then; ``record`` is told of repairs.

        What is left over of the profile's is removed, but for what is in ``keep``.
        """
        applied: dict[Identity, Object] = {}
        for manifest in trial.desired:
            before = trial.live.get(identity(manifest))
            if before is not None and identity(manifest) in trial.unchanged:
                applied[identity(manifest)] = before  # a steady state costs no request
                continue
            # Later objects may refer to the uid of earlier ones, which only the API server knows.
            uids = {key: earlier["metadata"]["uid"] for key, earlier in applied.items()}
            applied[identity(manifest)] = await self._apply_one(with_uids(manifest, uids), before)
            # Reported after the apply, when the fields are ours again.
            if before is not None and not _is_shared(before):
                others = foreign_managers(before)
                for other in others:
                    await record(Repair(*identity(before), other.manager, other.fields))
                if others and self._brake.note(identity(before), self._clock()):
                    await record(Fight(*identity(before), tuple(other.manager for other in others)))
        # Leftovers are found by what exists, not remembered: a restart, or a missed event, loses none.
        leftovers = [
            item
            for key, item in trial.live.items()
            if key not in applied and key not in keep and is_owned_by(trial.profile, item)
        ]
        await asyncio.gather(*map(self.delete, leftovers))
        if leftovers:
            await record(Removal(tuple(map(identity, leftovers))))
        return applied

    def is_contested(self, profile: str) -> bool:
        """Return whether an object of the profile is left as others want it, for now."""
        return any(self._brake.rest(key, self._clock()) for key in self._generated.identities(profile))

    async def create(self, manifest: Object) -> None:
        """Create an object, which nobody else writes."""
        query = {"fieldManager": FIELD_MANAGER}
        created: Object = await self._api.request("POST", self._collections[kind_of(manifest)], manifest, query=query)
        note_applied(None, created, was_made=False, is_shared=False)
        self._generated.put_written(kind_of(manifest), created)

    async def read(self, kind: ResourceKind, name: str) -> Object:
        """Return an object."""
        return dict(await self._api.request("GET", f"{self._collections[kind]}/{name}"))

    async def _find(self, manifest: Object) -> Object | None:
        """Return the object that exists with the kind and name of ``manifest``, if there is one."""
        try:
            return await self.read(kind_of(manifest), manifest["metadata"]["name"])
        except RequestError as error:
            if error.is_missing:
                return None
            raise

    async def delete(self, live: Object) -> None:
        """Delete an object. By uid: one that somebody made under the same name meanwhile stays."""
        options = {"preconditions": {"uid": live["metadata"]["uid"]}, "propagationPolicy": "Background"}
        try:
            await self._api.request("DELETE", self._path(live), options)
        except RequestError as error:
            if not error.is_missing:
                raise
        else:
            note_deleted(live)
        self._applied.pop(identity(live), None)
        self._brake.forget(identity(live))
        self._generated.remove(kind_of(live), live["metadata"]["name"], live["metadata"]["uid"])

    def forget(self, profile: str) -> None:
        """Forget what was applied for ``profile``, which is deleted."""
        name = generated_name(profile)
        # What follows a dot or a colon distinguishes several objects of one profile.
        self._applied = {key: value for key, value in self._applied.items() if re.split("[.:]", key[1])[0] != name}
        self._made = {key: uid for key, uid in self._made.items() if re.split("[.:]", key[1])[0] != name}

    async def _try_one(
        self, manifest: Object, live: Mapping[Identity, Object], desired: Sequence[Object]
    ) -> Object | None:
        """Send a dry run of ``manifest``, if it can be tried; return the object if it exists but was not known."""
        before = live.get(identity(manifest))
        if before is not None and _must_be_new(manifest, before):
            return None
        role = manifest.get("roleRef", {})
        role_key = (role.get("kind"), role.get("name"))
        if role_key not in live and role_key in map(identity, desired):
            # The API server answers 404 to a binding whose role does not exist yet. What may be wrong is its name.
            return None if before else await self._find(manifest)
        try:
            status, _ = await self._api.request_with_status(
                "PATCH", self._path(manifest), manifest, query=_TRIED, types=(JSON, APPLY)
            )
        except RequestError as error:
            if error.status == HTTPStatus.BAD_REQUEST and _NO_DRY_RUN in error.message:
                return None if before else await self._find(manifest)  # a webhook has side effects: it cannot be tried
            # An object of somebody else may be the reason: with another controller, for one.
            if before is None and (unknown := await self._find(manifest)):
                return unknown
            raise
        # If it would be created it is known, without a further request, that nothing has the name.
        return await self._find(manifest) if before is None and status != HTTPStatus.CREATED else None

    def _is_ours(self, profile: UserObject, live: Object) -> bool:
        """Return whether ``live``, which has the name of an object of ``profile``, was made for that."""
        # Who takes our reference away does not take the object: what we made is remembered.
        return is_owned_by(profile, live) or self._made.get(identity(live)) == live["metadata"]["uid"]

    def _stays(self, manifest: Object, live: Mapping[Identity, Object]) -> bool:
        """Return whether the object is left as it is: it is what we applied last and desire still, or is contested."""
        before = live.get(identity(manifest))
        if before is None:
            return False
        if self._brake.rest(identity(manifest), self._clock()):
            return True
        # Others may have added fields just before our last apply, which leaves these to them.
        has_foreign_fields = not _is_shared(before) and bool(ownership_patch(before))
        return not has_foreign_fields and self._applied.get(identity(before)) == AppliedVersion.of(manifest, before)

    async def _apply_one(self, manifest: Object, live: Object | None) -> Object:
        """Apply ``manifest`` and return the object as it is then; ``live`` is the object until now."""
        if live is not None:
            if _must_be_new(manifest, live):
                await self.delete(live)  # the API server never changes that field: only a new object helps
            elif not _is_shared(live) and ownership_patch(live):
                await self._adopt(live)
        applied: Object = await self._api.request(
            "PATCH", self._path(manifest), manifest, query=FORCED, content_type=APPLY
        )
        note_applied(live, applied, was_made=identity(applied) in self._applied, is_shared=_is_shared(applied))
        self._applied[identity(applied)] = AppliedVersion.of(manifest, applied)
        self._made[identity(applied)] = applied["metadata"]["uid"]
        self._generated.put_written(kind_of(applied), applied)
        return applied

    async def _adopt(self, live: Object) -> None:
        """Take over fields that others added, so that the next apply removes those that are not desired."""
        path = self._path(live)
        for attempt in range(ADOPTION_ATTEMPTS):
            if not (patch := ownership_patch(live)):
                return
            try:
                query = {"fieldManager": FIELD_MANAGER}
                await self._api.request("PATCH", path, patch, query=query, content_type=JSON_PATCH)
            except RequestError as error:  # another writer, of its status for example, was faster
                if error.status != HTTPStatus.CONFLICT or attempt + 1 == ADOPTION_ATTEMPTS:
                    raise
                live = await self._api.request("GET", path)
            else:
                return

    def _path(self, manifest: Object) -> str:
        return f"{self._collections[kind_of(manifest)]}/{manifest['metadata']['name']}"


def kind_of(manifest: Object) -> ResourceKind:
    """Return the kind of a generated object."""
    key = (manifest["apiVersion"], manifest["kind"])
    # A RoleBinding in kube-system is another Kind than one in the operator's namespace, with a path of its own.
    in_own_namespace = _KINDS[(*key, "")]
    return _KINDS.get((*key, manifest["metadata"].get("namespace", "")), in_own_namespace)


_KINDS = {(kind.api_version, kind.name, kind.home): kind for kind in (*kinds.ALL_GENERATED, kinds.REVISION)}


def _digest(value: Any) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()


def _own_content(live: Object) -> Object:
    """Return the part of an object that nobody but us should write: controllers write its status again and again."""
    not_ours = {"status"} | ({"spec"} if _is_shared(live) else set())
    metadata = {
        key: value for key, value in live["metadata"].items() if key not in ("managedFields", "resourceVersion")
    }
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != _ROLLOUT}
    content = {key: value for key, value in live.items() if key not in not_ours}
    return {**content, "metadata": {**metadata, "annotations": annotations}}


def _is_shared(live: Object) -> bool:
    """Return whether others are meant to write to the object: a Lease is written by its holder."""
    return kind_of(live) is kinds.LEASE


def _must_be_new(manifest: Object, live: Object) -> bool:
    """Return whether ``manifest`` differs from ``live`` in a field that the API server never changes."""
    return bool(_immutable_value(manifest, manifest["kind"]) != _immutable_value(live, manifest["kind"]))


def _immutable_value(manifest: Object, kind: str) -> Any:
    """Return the value of the field that the API server never changes in this kind of object, if there is one."""
    value: Any = manifest if kind in _IMMUTABLE else None
    for field in _IMMUTABLE.get(kind, ()):
        value = value.get(field)
    return value
