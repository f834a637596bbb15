"""The cluster as the operator sees it: read what people wrote, apply what should be, prune what should not."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Self

from scheduler_operator import render
from scheduler_operator.cluster import field_ownership as drift
from scheduler_operator.cluster.api import APPLY, JSON_PATCH, Api, ApiError
from scheduler_operator.cluster.field_ownership import FIELD_MANAGER
from scheduler_operator.models import API_VERSION
from scheduler_operator.resources import kinds
from scheduler_operator.resources.authored import UserObject
from scheduler_operator.resources.conditions import Status, dated
from scheduler_operator.resources.kinds import Kind, kind_of
from scheduler_operator.resources.labels import MANAGED_BY, MANAGED_BY_LABEL, PROFILE_LABEL, generated_for, pod_labels
from scheduler_operator.resources.names import PLUGIN_PERMISSIONS, generated_name, with_uids
from scheduler_runtime.catalog import Version

Object = dict[str, Any]
Identity = tuple[str, str]
"""Kind and name: all namespaced objects are in one namespace."""

ADOPTIONS = 3
"""How often to try while somebody else writes to the same object."""

_FORCED = {"fieldManager": FIELD_MANAGER, "force": "true"}
_IMMUTABLE = {
    "ClusterRoleBinding": ("roleRef",),
    "RoleBinding": ("roleRef",),
    "Deployment": ("spec", "selector"),
    "Service": ("spec", "clusterIP"),
}


@dataclass(frozen=True, slots=True)
class Repair:
    """Fields of a generated object that somebody else had written, and that are ours again."""

    kind: str
    name: str
    manager: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """What an object was when we last applied to it, and what we applied: while both stay, nothing has to be done."""

    uid: str
    resource_version: str
    digest: bytes

    @classmethod
    def to(cls, live: Object, digest: bytes) -> Self:
        return cls(live["metadata"]["uid"], live["metadata"]["resourceVersion"], digest)


class NameTakenError(Exception):
    """An object that has to be made exists already and belongs to somebody else."""


class Cluster:
    """Everything the operator asks of the API server. Every method raises ApiError."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._applied: dict[Identity, Applied] = {}

    async def version(self) -> Version:
        """The API server's Kubernetes version."""
        return Version.parse((await self._api.request("GET", "/version"))["gitVersion"])

    async def absent_kinds(self) -> list[str]:
        """The CRDs that are not there, of the two that people write."""
        try:
            answer = await self._api.request("GET", f"/apis/{API_VERSION}")
        except ApiError as error:
            if not error.is_missing:
                raise
            answer = {"resources": []}
        served = {resource["name"] for resource in answer["resources"]}
        return [f"{k.plural}.{k.group}" for k in (kinds.PROFILE, kinds.PLUGIN_CONFIG) if k.plural not in served]

    async def profile(self, name: str) -> UserObject | None:
        """The profile called ``name``; None when there is none."""
        found = await self._get(kinds.PROFILE, name)
        return UserObject.from_object(found) if found else None

    async def plugin_config(self, name: str) -> UserObject | None:
        """The PluginConfig called ``name``; None when there is none."""
        found = await self._get(kinds.PLUGIN_CONFIG, name)
        return UserObject.from_object(found) if found else None

    async def profiles(self) -> list[UserObject]:
        """Every profile."""
        return [UserObject.from_object(each) for each in await self._list(kinds.PROFILE)]

    async def joiners(self, name: str) -> list[UserObject]:
        """The profiles that want to run in the process of the one called ``name``, who came first first."""
        found = await self._list(kinds.PROFILE, {"fieldSelector": f"spec.joins={name}"})
        return render.joiners(name, map(UserObject.from_object, found))

    async def plugin_permissions(self) -> list[Object]:
        """The rules that the operator may pass on to schedulers."""
        found = await self._get(kinds.CLUSTER_ROLE, PLUGIN_PERMISSIONS)
        return list((found or {}).get("rules") or [])

    async def plugin_configs(self) -> dict[str, UserObject]:
        """Every PluginConfig, by name."""
        found = [UserObject.from_object(each) for each in await self._list(kinds.PLUGIN_CONFIG)]
        return {each.name: each for each in found}

    async def apply(
        self, profile: UserObject, wanted: Sequence[Object], tell: Callable[[Repair], Awaitable[None]]
    ) -> dict[Identity, Object]:
        """Make what exists for ``profile`` equal to ``wanted``, and return it as it is then.

        Calls ``tell`` for each repair. Raises NameTakenError, before anything is changed.
        """
        live = await self._generated(profile.name)
        await self._refuse_strangers(profile, [each for each in wanted if _identity(each) not in live])
        applied: dict[Identity, Object] = {}
        for each in wanted:
            before = live.get(_identity(each))
            uids = {key: earlier["metadata"]["uid"] for key, earlier in applied.items()}
            applied[_identity(each)] = await self._apply(with_uids(each, uids), before)
            for repair in _repairs(before):
                await tell(repair)
        await asyncio.gather(*(self._delete(gone) for key, gone in live.items() if key not in applied))
        return applied

    async def pods(self, profile: str) -> list[Object]:
        """The pods of a profile's scheduler."""
        selector = ",".join(f"{label}={value}" for label, value in pod_labels(profile).items())
        return await self._list(kinds.POD, {"labelSelector": selector})

    async def report(self, authored: UserObject, status: Status) -> bool:
        """Write ``status`` unless it is what stands there already; return whether it was written.

        An object that was deleted meanwhile has nobody to tell.
        """
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = dated(status, authored.status, now)
        if status == authored.status:
            return False
        kind = kinds.PROFILE if authored.kind == kinds.PROFILE.name else kinds.PLUGIN_CONFIG
        manifest = {
            "apiVersion": API_VERSION,
            "kind": authored.kind,
            "metadata": {"name": authored.name, "uid": authored.uid},
            "status": status,
        }
        path = f"{kind.path(self._namespace, authored.name)}/status"
        try:
            await self._api.request("PATCH", path, manifest, query=_FORCED, content_type=APPLY)
        except ApiError as error:
            if not error.is_missing:
                raise
            return False
        return True

    async def post(self, event: Object) -> None:
        """Create an Event."""
        await self._api.request("POST", kinds.EVENT.collection(event["metadata"]["namespace"]), event)

    async def let_go_with_us(self, name: str) -> None:
        """Make the Lease called ``name`` go with the Deployment of that name, which is ours; without one it stays.

        Whoever takes the Deployment away may take our rights away first, so that we could not delete the Lease.
        """
        deployment = await self._get(kinds.DEPLOYMENT, name)
        if deployment is None:
            return
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": deployment["metadata"]["uid"]}
        metadata = {"name": name, "namespace": self._namespace, "ownerReferences": [owner]}
        manifest = {"apiVersion": kinds.LEASE.api_version, "kind": kinds.LEASE.name, "metadata": metadata}
        path = kinds.LEASE.path(self._namespace, name)
        await self._api.request("PATCH", path, manifest, query=_FORCED, content_type=APPLY)

    async def _get(self, kind: Kind, name: str) -> Object | None:
        try:
            found: Object = await self._api.request("GET", kind.path(self._namespace, name))
        except ApiError as error:
            if error.is_missing:
                return None
            raise
        return found

    async def _list(self, kind: Kind, query: Mapping[str, str] | None = None) -> list[Object]:
        answer = await self._api.request("GET", kind.collection(self._namespace), query=query)
        return [{"apiVersion": kind.api_version, "kind": kind.name, **each} for each in answer["items"]]

    async def _generated(self, profile: str) -> dict[Identity, Object]:
        query = {"labelSelector": generated_for(profile)}
        lists = await asyncio.gather(*(self._list(kind, query) for kind in kinds.ALL_GENERATED))
        return {_identity(each): each for found in lists for each in found}

    async def _refuse_strangers(self, profile: UserObject, missing: Sequence[Object]) -> None:
        found = await asyncio.gather(*(self._get(kind_of(each), each["metadata"]["name"]) for each in missing))
        taken = [each for each in found if each and not _belongs_to(each, profile)]
        if taken:
            names = ", ".join(f"{each['kind']} {each['metadata']['name']}" for each in taken)
            raise NameTakenError(
                f"{names} is there already and was not made for this profile; "
                "give the profile another name, or delete what is in its way"
            )

    def forget(self, profile: str) -> None:
        """The profile is gone: there will be nothing to apply for it."""
        name = generated_name(profile)
        self._applied = {key: applied for key, applied in self._applied.items() if key[1].partition(":")[0] != name}

    async def _apply(self, wanted: Object, live: Object | None) -> Object:
        digest = hashlib.sha256(json.dumps(wanted).encode()).digest()
        if live is not None and self._applied.get(_identity(live)) == Applied.to(live, digest):
            return live
        applied = await self._apply_anew(wanted, live)
        self._applied[_identity(applied)] = Applied.to(applied, digest)
        return applied

    async def _apply_anew(self, wanted: Object, live: Object | None) -> Object:
        path = kind_of(wanted).path(self._namespace, wanted["metadata"]["name"])
        if live is not None and _differs_for_ever(wanted, live):
            await self._delete(live)
        elif live is not None:
            await self._adopt(path, live)
        applied: Object = await self._api.request("PATCH", path, wanted, query=_FORCED, content_type=APPLY)
        return applied

    async def _adopt(self, path: str, live: Object) -> None:
        """Make fields that others added ours, so that the next apply removes those we do not want."""
        query = {"fieldManager": FIELD_MANAGER}
        for attempt in range(ADOPTIONS):
            patch = [] if _is_shared(live) else drift.ownership_patch(live)
            if not patch:
                return
            try:
                await self._api.request("PATCH", path, patch, query=query, content_type=JSON_PATCH)
            except ApiError as error:  # whoever else writes to it, its status for example, was faster
                if error.status != HTTPStatus.CONFLICT or attempt + 1 == ADOPTIONS:
                    raise
                live = await self._api.request("GET", path)
            else:
                return

    async def _delete(self, gone: Object) -> None:
        path = kind_of(gone).path(self._namespace, gone["metadata"]["name"])
        options = {"preconditions": {"uid": gone["metadata"]["uid"]}, "propagationPolicy": "Background"}
        try:
            await self._api.request("DELETE", path, options)
        except ApiError as error:
            if not error.is_missing:
                raise


def _identity(manifest: Object) -> Identity:
    return manifest["kind"], manifest["metadata"]["name"]


def _is_shared(live: Object) -> bool:
    """Whether others are meant to write to it: a Lease is theirs who hold it."""
    return kind_of(live) is kinds.LEASE


def _repairs(live: Object | None) -> list[Repair]:
    if live is None or _is_shared(live):
        return []
    kind, name = _identity(live)
    return [Repair(kind, name, stranger.manager, stranger.fields) for stranger in drift.foreign_managers(live)]


def _belongs_to(live: Object, profile: UserObject) -> bool:
    metadata = live["metadata"]
    labels = metadata.get("labels", {})
    if labels.get(MANAGED_BY_LABEL) == MANAGED_BY and labels.get(PROFILE_LABEL) == profile.name:
        return True
    return any(owner["uid"] == profile.uid for owner in metadata.get("ownerReferences", ()))


def _differs_for_ever(wanted: Object, live: Object) -> bool:
    """Whether a field differs that the API server never changes, so that only a new object helps."""
    path = _IMMUTABLE.get(wanted["kind"], ())
    mine: Any = wanted
    theirs: Any = live
    for step in path:
        mine, theirs = mine[step], theirs.get(step)
    return bool(path) and mine != theirs
