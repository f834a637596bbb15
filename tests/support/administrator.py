"""An API server as its administrator: objects by the dozen, and what became of them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse, HTTPSConnection
from typing import Any, Self, TypeVar

from devcluster import Cluster
from devcluster.model.api import MERGE, AdminApi, RefusedError

T = TypeVar("T")
Object = dict[str, Any]

CONNECTIONS = 4
PLURALS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Service": "/api/v1/namespaces/{}/services",
    "ReplicationController": "/api/v1/namespaces/{}/replicationcontrollers",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
}


class Administrator:
    """Requests to one API server, each thread on a connection of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self._api = AdminApi(cluster.server, cluster.ca, cluster.token, timeout=20)
        self._pool = ThreadPoolExecutor(CONNECTIONS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self._pool.shutdown()
        self._api.__exit__(*details)

    def all_of(self, act: Callable[[T], object], items: Iterable[T]) -> None:
        """Do ``act`` to every item, a few at a time. Raises what one of them raises."""
        list(self._pool.map(act, items))

    def create(self, item: Object) -> Object:
        """Create ``item`` and, where it has one, its status. Raises RefusedError."""
        created: Object = self.request("POST", collection(item), item)
        if "status" in item and item["kind"] in ("Pod", "PodDisruptionBudget"):
            created = self.request("PATCH", f"{path(item)}/status", {"status": item["status"]}, MERGE)
        return created

    def patch(self, item: Object, change: Object, subresource: str = "") -> Object:
        """Change ``item`` by a merge patch and return it as it is now. Raises RefusedError."""
        answer: Object = self.request("PATCH", f"{path(item)}{subresource}", change, MERGE)
        return answer

    def find(self, item: Object) -> Object | None:
        """The object of ``item``'s kind and name as it is; None when there is none."""
        return next(
            (existing for existing in map(json.loads, self.items(collection(item))) if _is_named(existing, item)), None
        )

    def items(self, where: str) -> list[bytes]:
        """The objects of a collection, each as JSON."""
        return [json.dumps(item).encode() for item in self.request("GET", where)["items"]]

    def request(self, method: str, where: str, body: Object | None = None, content: str = "application/json") -> Any:
        """Send one request and return the answer's object. Raises RefusedError."""
        try:
            return self._api.request(method, where, body, content)
        except RefusedError as error:
            error.add_note(f"{method} {where}\n{json.dumps(body)}")
            raise

    def stream(self, where: str) -> tuple[HTTPSConnection, HTTPResponse]:
        """Begin a watch, on a connection of its own."""
        return self._api.stream(where)


def collection(item: Object) -> str:
    """Where objects like ``item`` are."""
    return PLURALS[item["kind"]].format(item["metadata"].get("namespace", ""))


def _is_named(one: Object, other: Object) -> bool:
    return bool(one["metadata"]["name"] == other["metadata"]["name"])


def path(item: Object) -> str:
    """Where ``item`` is."""
    return f"{collection(item)}/{item['metadata']['name']}"


class Followed:
    """The objects of one collection as a watch shows them, newest state each; those deleted are left out."""

    def __init__(self, administrator: Administrator, where: str) -> None:
        self.objects: dict[str, Object] = {}
        self.states: dict[str, list[Object]] = {}
        """All states of each of them, in order."""
        self._changed = threading.Condition()
        version = administrator.request("GET", where)["metadata"]["resourceVersion"]
        self._connection, self._stream = administrator.stream(f"{where}?watch=1&resourceVersion={version}")
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection.sock:
            self._connection.sock.close()

    def wait(self, check: Callable[[dict[str, Object]], T | None], seconds: float = 30) -> T:
        """What ``found`` returns about the objects once it is neither None nor false. Raises TimeoutError."""
        end = time.monotonic() + seconds
        with self._changed:
            while not (answer := check(self.objects)):
                if not self._changed.wait(end - time.monotonic()) and time.monotonic() > end:
                    raise TimeoutError(f"the watch did not show it within {seconds:g} s")
            return answer

    def _follow(self) -> None:
        try:
            while line := self._stream.readline():
                self._take(json.loads(line))
        except (OSError, ValueError):
            return  # the connection was closed from our side

    def _take(self, event: Object) -> None:
        item = event["object"]
        key = f"{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
        with self._changed:
            if event["type"] == "DELETED":
                self.objects.pop(key, None)
                self.states.pop(key, None)
            else:
                self.objects[key] = item
                self.states.setdefault(key, []).append(item)
            self._changed.notify_all()
