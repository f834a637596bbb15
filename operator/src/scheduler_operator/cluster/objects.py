"""Cluster access of the operator: read users' objects, apply generated ones, prune leftovers, report statuses."""

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Self

from scheduler_operator.cluster.api import APPLY, JSON_PATCH, ApiConnection, RequestError
from scheduler_operator.cluster.changes import note_applied, note_deleted
from scheduler_operator.cluster.crd_check import CrdCheck
from scheduler_operator.cluster.field_ownership import (
    FIELD_MANAGER,
    foreign_managers,
    is_applied_by_us,
    ownership_patch,
)
from scheduler_operator.cluster.user_objects import StoredObject, UserObjects
from scheduler_operator.models import API_VERSION
from scheduler_operator.resources import kinds
from scheduler_operator.resources.kinds import ResourceKind
from scheduler_operator.resources.names import (
    GRANT_LABEL,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    PROFILE_LABEL,
    generated_for,
    generated_name,
    pod_labels,
    with_uids,
)
from scheduler_operator.resources.user_object import Status, UserObject, with_transition_times
from scheduler_runtime.catalog import Version

Object = dict[str, Any]
Identity = tuple[str, str]
"""Kind and name of a generated object: all namespaced ones are in one namespace."""

ADOPTION_ATTEMPTS = 3
"""Attempts to adopt fields while others write to the same object."""

MAX_DEPTH_EXCEEDED = "exceeded max depth"
"""In the API server's answer about an object that it stored and cannot read back."""
_PAGE = 25
_NAME_CHARACTERS = "-.0123456789abcdefghijklmnopqrstuvwxyz"
"""All that the API server admits in names of these objects, in the order in which objects are listed."""
_LONGEST_NAME = 253
_SEARCH_SECONDS = 60.0
"""How long a name that was sought is taken for the first one that cannot be read: seeking takes many requests."""

_FORCED = {"fieldManager": FIELD_MANAGER, "force": "true"}
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
class AppliedVersion:
    """An object's version after our last apply, and a digest of what we applied: while both stay, nothing is to do."""

    uid: str
    resource_version: str
    digest: bytes

    @classmethod
    def of(cls, live: Object, digest: bytes) -> Self:
        return cls(live["metadata"]["uid"], live["metadata"]["resourceVersion"], digest)


class NameConflictError(Exception):
    """An object that has to be created exists already and belongs to somebody else."""


class ClusterObjects:
    """All requests of the operator to the API server. Every method raises RequestError."""

    def __init__(self, api: ApiConnection, namespace: str, users: UserObjects) -> None:
        self.users = users
        self.crds = CrdCheck(api)
        self._api = api
        self._namespace = namespace
        self._collections = {kind: kind.collection(namespace) for kind in kinds.ALL}
        """The path of each kind's objects."""
        self._applied: dict[Identity, AppliedVersion] = {}
        self._sought: dict[tuple[ResourceKind, str], tuple[str, float]] = {}
        """The name that cannot be read behind another name, and when that was found out."""

    async def version(self) -> Version:
        """Return the API server's Kubernetes version."""
        return Version.parse((await self._api.request("GET", "/version"))["gitVersion"])

    async def absent_kinds(self) -> list[str]:
        """Return the names of those of our two CRDs that the API server does not serve."""
        try:
            answer = await self._api.request("GET", f"/apis/{API_VERSION}")
        except RequestError as error:
            if not error.is_missing:
                raise
            answer = {"resources": []}
        served = {resource["name"] for resource in answer["resources"]}
        return [kind.definition for kind in (kinds.PROFILE, kinds.PLUGIN_CONFIG) if kind.plural not in served]

    async def grants(self) -> list[Object]:
        """Return the ClusterRoles whose rules the operator may pass on to schedulers."""
        return await self._list(kinds.CLUSTER_ROLE, {"labelSelector": f"{GRANT_LABEL}=true"})

    async def list_around(self, kind: ResourceKind) -> None:
        """Take in all of a kind of users' objects of which the API server cannot read some.

        It cannot list them at once then, but from any name on, up to the first one that it cannot read. What was known
        of an object that it cannot read any more stays.
        """
        stored: list[StoredObject] = []
        unreadable: list[str] = []
        last, size = "", _PAGE
        while True:
            try:
                page = await self._page(kind, _behind(last), size)
            except RequestError as error:
                if not is_unreadable(error):
                    raise
                if size > 1:
                    size = 1
                    continue
                after, last = last, await self._unreadable_name(kind, last)
                known = self.users.of(kind)
                unreadable.append(last)
                stored.append(known.get(last) or StoredObject.unlistable(kind.name, last))
                # Others may stand between the two. A list can begin with each of them, if its name is known.
                for name in [name for name in known if after < name < last and known[name].relations.uid]:
                    try:
                        stored += map(StoredObject.from_object, await self._page(kind, name, 1))
                    except RequestError as error_of_one:
                        if not is_unreadable(error_of_one):
                            raise
                        stored.append(known[name])
            else:
                if not page:
                    break
                stored += [StoredObject.from_object(raw) for raw in page]
                last = page[-1]["metadata"]["name"]
            size = _PAGE
        self.users.put_page(kind, stored, is_first=True, is_last=True)
        self.users.unlistable[kind] = unreadable

    async def _unreadable_name(self, kind: ResourceKind, after: str) -> str:
        """Return the name of an object that the API server cannot read, the first one behind ``after`` if need be.

        No answer tells a name. But a page of one object fails if it begins between the object before and this one, and
        succeeds right behind it. So of each character the first is sought with whose successor the page succeeds. Of
        objects in a row that cannot be read it is the last one. Raises RequestError if all can be read by now.
        """

        async def fails_from(start: str) -> bool:
            try:
                await self._page(kind, max(start, _behind(after)), 1)
            except RequestError as error:
                if not is_unreadable(error):
                    raise
                return True
            return False

        now = asyncio.get_running_loop().time()
        self._sought = {key: value for key, value in self._sought.items() if now - value[1] < _SEARCH_SECONDS}
        sought, _ = self._sought.get((kind, after), ("", 0.0))
        if sought and await fails_from(sought) and not await fails_from(_behind(sought)):
            return sought
        name = ""
        while len(name) <= _LONGEST_NAME:
            readable = len(_NAME_CHARACTERS)
            for index, character in enumerate(_NAME_CHARACTERS):
                if not await fails_from(name + character):
                    readable = index
                    break
            if readable == 0:
                break
            name += _NAME_CHARACTERS[readable - 1]
        if name <= after or not await fails_from(name) or await fails_from(_behind(name)):
            path = f"GET {self._collections[kind]}"
            raise RequestError(path, 0, "", f"what cannot be read behind {after!r} has changed meanwhile")
        self._sought[kind, after] = name, now
        return name

    async def _page(self, kind: ResourceKind, start: str, size: int) -> list[Object]:
        """Return ``size`` objects whose names are ``start`` or behind it."""
        query = {"limit": str(size)}
        if start:
            # The API server's own token (k8s.io/apiserver/pkg/storage/continue.go): -1 is the newest version.
            token = json.dumps({"v": "meta.k8s.io/v1", "rv": -1, "start": start})
            query["continue"] = base64.urlsafe_b64encode(token.encode()).rstrip(b"=").decode()
        return await self._list(kind, query)

    async def apply(
        self, profile: UserObject, desired: Sequence[Object], on_repair: Callable[[Repair], Awaitable[None]]
    ) -> dict[Identity, Object]:
        """Make the objects of ``profile`` equal to ``desired``, in that order, and return them as they are then.

        Calls ``on_repair`` for each repair. Raises NameConflictError before anything is changed.
        """
        query = {"labelSelector": generated_for(profile.name)}
        lists = await asyncio.gather(*(self._list(kind, query) for kind in kinds.ALL_GENERATED))
        live = {_identity(item): item for items in lists for item in items}
        # Before the first change, so that a conflict leaves nothing half applied.
        unlisted = await self._find_unlisted(profile, [new for new in desired if _identity(new) not in live])
        live |= {_identity(item): item for item in unlisted}
        applied: dict[Identity, Object] = {}
        for manifest in desired:
            before = live.get(_identity(manifest))
            # Later objects may refer to the uid of earlier ones, which only the API server knows.
            uids = {identity: earlier["metadata"]["uid"] for identity, earlier in applied.items()}
            applied[_identity(manifest)] = await self._apply_one(with_uids(manifest, uids), before)
            # Reported after the apply, when the fields are ours again.
            if before is not None and not _is_shared(before):
                for other in foreign_managers(before):
                    await on_repair(Repair(*_identity(before), other.manager, other.fields))
        # Leftovers are found by listing, not remembered: a restart, or a missed event, loses none.
        leftovers = (leftover for identity, leftover in live.items() if identity not in applied)
        await asyncio.gather(*map(self._delete, leftovers))
        return applied

    async def pods(self, profile: str) -> list[Object]:
        """Return the pods of a profile's scheduler."""
        selector = ",".join(f"{label}={value}" for label, value in pod_labels(profile).items())
        return await self._list(kinds.POD, {"labelSelector": selector})

    async def report(self, user_object: UserObject, status: Status) -> bool:
        """Write ``status`` unless it is there already; return whether it was written.

        An object that was deleted meanwhile is no error.
        """
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        # Times of conditions that have not changed stay; otherwise every reconcile would write, and wake its own watch.
        status = with_transition_times(status, user_object.status, now)
        if status == user_object.status:
            return False
        kind = kinds.PROFILE if user_object.kind == kinds.PROFILE.name else kinds.PLUGIN_CONFIG
        manifest = {
            "apiVersion": API_VERSION,
            "kind": user_object.kind,
            "metadata": {"name": user_object.name, "uid": user_object.uid},
            "status": status,
        }
        path = f"{self._collections[kind]}/{user_object.name}/status"
        try:
            live = await self._api.request("PATCH", path, manifest, query=_FORCED, content_type=APPLY)
        except RequestError as error:
            if not error.is_missing:
                raise
            return False
        self.users.put_written(kind, StoredObject.from_object(live))
        return True

    async def post(self, event: Object) -> None:
        """Create an Event."""
        await self._api.request("POST", kinds.EVENT.collection(event["metadata"]["namespace"]), event)

    async def own_lease_by_deployment(self, name: str) -> None:
        """Make our Deployment, if there is one, the owner of our Lease: both are called ``name``.

        Garbage collection then deletes the Lease on uninstall, when our own rights may be gone already.
        """
        deployment = await self._get(kinds.DEPLOYMENT, name)
        if deployment is None:
            return
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": deployment["metadata"]["uid"]}
        metadata = {"name": name, "namespace": self._namespace, "ownerReferences": [owner]}
        manifest = {"apiVersion": kinds.LEASE.api_version, "kind": kinds.LEASE.name, "metadata": metadata}
        path = f"{self._collections[kinds.LEASE]}/{name}"
        await self._api.request("PATCH", path, manifest, query=_FORCED, content_type=APPLY)

    def _path(self, manifest: Object) -> str:
        return f"{self._collections[_kind_of(manifest)]}/{manifest['metadata']['name']}"

    async def _get(self, kind: ResourceKind, name: str) -> Object | None:
        try:
            return dict(await self._api.request("GET", f"{self._collections[kind]}/{name}"))
        except RequestError as error:
            if error.is_missing:
                return None
            raise

    async def _list(self, kind: ResourceKind, query: Mapping[str, str] | None = None) -> list[Object]:
        answer = await self._api.request("GET", self._collections[kind], query=query)
        # Items of a list carry neither apiVersion nor kind.
        return [{"apiVersion": kind.api_version, "kind": kind.name, **item} for item in answer["items"]]

    async def _find_unlisted(self, profile: UserObject, missing: Sequence[Object]) -> list[Object]:
        """Return those of the ``missing`` objects that exist. Raises NameConflictError if one of them is not ours.

        They were not listed, which goes by label: ours may have lost it, and an object of another may have the name.
        """
        answers = await asyncio.gather(*(self._get(_kind_of(new), new["metadata"]["name"]) for new in missing))
        existing = [live for live in answers if live]
        if foreign := [" ".join(_identity(live)) for live in existing if not self._is_ours(profile, live)]:
            raise NameConflictError(
                f"{', '.join(foreign)} is there already and was not made for this profile; "
                "give the profile another name, or delete what is in its way"
            )
        return existing

    def _is_ours(self, profile: UserObject, live: Object) -> bool:
        """Return whether ``live``, which has the name of an object of ``profile``, was made for that."""
        labels, owners = live["metadata"].get("labels", {}), live["metadata"].get("ownerReferences", ())
        has_our_labels = labels.get(MANAGED_BY_LABEL) == MANAGED_BY and labels.get(PROFILE_LABEL) == profile.name
        if has_our_labels or is_applied_by_us(live) or any(owner["uid"] == profile.uid for owner in owners):
            return True
        # Somebody took all of these away. What we made is remembered, and the status, which nobody else writes, names
        # the ConfigMap.
        made = self._applied.get(_identity(live))
        is_remembered = made is not None and made.uid == live["metadata"]["uid"]
        return is_remembered or _identity(live) == (kinds.CONFIG_MAP.name, profile.status.get("configMap"))

    def forget(self, profile: str) -> None:
        """Forget what was applied for ``profile``, which is deleted."""
        name = generated_name(profile)
        # What follows a dot or a colon distinguishes accounts, and several bindings, of one profile.
        self._applied = {key: value for key, value in self._applied.items() if re.split("[.:]", key[1])[0] != name}

    async def _apply_one(self, manifest: Object, live: Object | None) -> Object:
        """Apply ``manifest`` and return the object as it is then; ``live`` is the object until now."""
        digest = hashlib.sha256(json.dumps(manifest).encode()).digest()
        if live is not None:
            # Others may have added fields just before our last apply, which leaves these to them.
            has_foreign_fields = not _is_shared(live) and bool(ownership_patch(live))
            if self._applied.get(_identity(live)) == AppliedVersion.of(live, digest) and not has_foreign_fields:
                return live  # nothing was written since: a steady state costs no request
            if _immutable_value(manifest, manifest["kind"]) != _immutable_value(live, manifest["kind"]):
                await self._delete(live)  # the API server never changes that field: only a new object helps
            elif has_foreign_fields:
                await self._adopt(live)
        applied: Object = await self._api.request(
            "PATCH", self._path(manifest), manifest, query=_FORCED, content_type=APPLY
        )
        note_applied(live, applied, was_made=_identity(applied) in self._applied, is_shared=_is_shared(applied))
        self._applied[_identity(applied)] = AppliedVersion.of(applied, digest)
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

    async def _delete(self, live: Object) -> None:
        # By uid: an object that somebody made under the same name meanwhile stays.
        options = {"preconditions": {"uid": live["metadata"]["uid"]}, "propagationPolicy": "Background"}
        try:
            await self._api.request("DELETE", self._path(live), options)
        except RequestError as error:
            if not error.is_missing:
                raise
        else:
            note_deleted(live)
        self._applied.pop(_identity(live), None)


def is_unreadable(error: RequestError) -> bool:
    """Return whether the API server could not read an object that it has stored."""
    return error.status == HTTPStatus.INTERNAL_SERVER_ERROR and MAX_DEPTH_EXCEEDED in error.message


def _behind(name: str) -> str:
    """Return the first name behind ``name`` in the order of lists; nothing for the beginning."""
    return f"{name}\0" if name else ""


def _identity(manifest: Object) -> Identity:
    return manifest["kind"], manifest["metadata"]["name"]


_KINDS = {(kind.api_version, kind.name, kind.home): kind for kind in kinds.ALL_GENERATED}


def _kind_of(manifest: Object) -> ResourceKind:
    key = (manifest["apiVersion"], manifest["kind"])
    # A RoleBinding in kube-system is another Kind than one in the operator's namespace, with a path of its own.
    in_own_namespace = _KINDS[(*key, "")]
    return _KINDS.get((*key, manifest["metadata"].get("namespace", "")), in_own_namespace)


def _is_shared(live: Object) -> bool:
    """Return whether others are meant to write to the object: a Lease is written by its holder."""
    return _kind_of(live) is kinds.LEASE


def _immutable_value(manifest: Object, kind: str) -> Any:
    """Return the value of the field that the API server never changes in this kind of object, if there is one."""
    value: Any = manifest if kind in _IMMUTABLE else None
    for field in _IMMUTABLE.get(kind, ()):
        value = value.get(field)
    return value
