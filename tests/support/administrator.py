"""An API server as its administrator: objects by the dozen, and what became of them."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from devcluster import Cluster

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
MERGE = "application/merge-patch+json"


class RefusedError(Exception):
    """The API server refused a request; the message is its own."""


class Administrator:
    """Requests to one API server, each thread on a connection of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self._address = urlsplit(cluster.server)
        self._tls = ssl.create_default_context(cadata=cluster.ca.decode())
        self._headers = {"Authorization": f"Bearer {cluster.token}"}
        self._threads = threading.local()
        self._open: list[http.client.HTTPSConnection] = []
        self._pool = ThreadPoolExecutor(CONNECTIONS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        for connection in self._open:
            connection.close()

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
        connection = self._connection()
        try:
            headers = {**self._headers, "Content-Type": content}
            connection.request(method, where, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except BaseException:
            connection.close()  # it reconnects when it is used again
            raise
        if response.status >= 300:
            raise RefusedError(f"{method} {where}: {answer.get('message', answer)}\n{json.dumps(body)}")
        return answer

    def _connection(self) -> http.client.HTTPSConnection:
        connection: http.client.HTTPSConnection | None = getattr(self._threads, "connection", None)
        if connection is None:
            connection = self._threads.connection = self.connect()
            self._open.append(connection)
        return connection

    def connect(self, timeout: float | None = 20) -> http.client.HTTPSConnection:
        """A connection of one's own."""
        return http.client.HTTPSConnection(
            self._address.hostname or "", self._address.port, context=self._tls, timeout=timeout
        )

    def stream(self, connection: http.client.HTTPSConnection, where: str) -> http.client.HTTPResponse:
        """Begin a watch on ``connection``."""
        connection.request("GET", where, None, self._headers)
        return connection.getresponse()


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
        self._connection = administrator.connect(timeout=None)
        version = administrator.request("GET", where)["metadata"]["resourceVersion"]
        self._stream = administrator.stream(self._connection, f"{where}?watch=1&resourceVersion={version}")
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
