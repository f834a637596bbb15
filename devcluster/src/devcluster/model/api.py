"""Requests of a cluster's administrator, on connections that stay open."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from typing import Any, Self
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 10.0
MERGE = "application/merge-patch+json"


class RefusedError(Exception):
    """The API server answered with an error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"HTTP {status}: {text}")
        self.status = status


class AdminApi:
    """An API server, as its administrator. Each thread has a connection of its own; leaving closes them all."""

    def __init__(self, server: str, ca: bytes, token: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self._timeout = timeout
        self._address = urlsplit(server)
        self._tls = ssl.create_default_context(cadata=ca.decode())
        self._headers = {"Authorization": f"Bearer {token}"}
        self._threads = threading.local()
        self._connections: list[http.client.HTTPSConnection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections:
            connection.close()

    def get(self, path: str) -> Any:
        """The object at ``path``. Raises RefusedError, or OSError when there is no server."""
        return self.request("GET", path)

    def post(self, path: str, body: object) -> None:
        self.request("POST", path, body)

    def merge(self, path: str, body: object) -> None:
        """Patch the object at ``path`` by a JSON merge patch."""
        self.request("PATCH", path, body, MERGE)

    def request(self, method: str, path: str, body: object = None, content: str = "application/json") -> Any:
        """Send one request and return the object of the answer. Raises as ``get`` does."""
        return json.loads(self._exchange(method, path, None if body is None else json.dumps(body), content))

    def stream(self, path: str) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
        """Begin a watch, on a connection without a time limit; closing both is up to the caller."""
        connection = self._connect(timeout=None)
        connection.request("GET", path, None, self._headers)
        return connection, connection.getresponse()

    def is_ready(self) -> bool:
        return self._answers("/readyz")

    def exists(self, path: str) -> bool:
        return self._answers(path)

    def _answers(self, path: str) -> bool:
        try:
            self._exchange("GET", path)
        except (RefusedError, OSError, http.client.HTTPException):
            return False
        return True

    def _exchange(self, method: str, path: str, body: str | None = None, content: str = "application/json") -> bytes:
        connection: http.client.HTTPSConnection | None = getattr(self._threads, "connection", None)
        if connection is None:
            connection = self._threads.connection = self._connect(self._timeout)
            self._connections.append(connection)
        try:
            connection.request(method, path, body, {**self._headers, "Content-Type": content})
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()  # it reconnects when it is used again
            raise
        if response.status >= 300:
            raise RefusedError(response.status, answer.decode(errors="replace")[:500])
        return answer

    def _connect(self, timeout: float | None) -> http.client.HTTPSConnection:
        host, port = self._address.hostname or "", self._address.port
        return http.client.HTTPSConnection(host, port, context=self._tls, timeout=timeout)
