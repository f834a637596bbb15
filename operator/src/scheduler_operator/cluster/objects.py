"""Requests about users' objects: lists that kopf cannot read, statuses, events; and what the operator asks besides."""

import asyncio
import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus

from scheduler_operator.cluster.api import APPLY, ApiConnection, RequestError
from scheduler_operator.cluster.crd_check import CrdCheck
from scheduler_operator.cluster.field_ownership import FORCED
from scheduler_operator.cluster.user_objects import StoredObject, UserObjects
from scheduler_operator.models import API_VERSION
from scheduler_operator.resources import kinds
from scheduler_operator.resources.kinds import ResourceKind
from scheduler_operator.resources.names import GRANT_LABEL, Object
from scheduler_operator.resources.user_object import Status, UserObject, with_transition_times
from scheduler_runtime.catalog import Version

MAX_DEPTH_EXCEEDED = "exceeded max depth"
"""In the API server's answer about an object that it stored and cannot read back."""
_PAGE = 25
_NAME_CHARACTERS = "-.0123456789abcdefghijklmnopqrstuvwxyz"
"""All that the API server admits in names of these objects, in the order in which objects are listed."""
_LONGEST_NAME = 253
_SEARCH_SECONDS = 60.0
"""How long a name that was sought is taken for the first one that cannot be read: seeking takes many requests."""


class ClusterObjects:
    """Requests to the API server but for those about generated objects. Every method raises RequestError."""

    def __init__(self, api: ApiConnection, namespace: str, users: UserObjects) -> None:
        self.users = users
        self.crds = CrdCheck(api)
        self._api = api
        self._namespace = namespace
        self._collections = {kind: kind.collection(namespace) for kind in kinds.ALL}
        """The path of each kind's objects."""
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
            live = await self._api.request("PATCH", path, manifest, query=FORCED, content_type=APPLY)
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
        await self._api.request("PATCH", path, manifest, query=FORCED, content_type=APPLY)

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


def is_unreadable(error: RequestError) -> bool:
    """Return whether the API server could not read an object that it has stored."""
    return error.status == HTTPStatus.INTERNAL_SERVER_ERROR and MAX_DEPTH_EXCEEDED in error.message


def _behind(name: str) -> str:
    """Return the first name behind ``name`` in the order of lists; nothing for the beginning."""
    return f"{name}\0" if name else ""
