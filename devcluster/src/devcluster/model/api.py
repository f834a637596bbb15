"""Requests for making a cluster, on connections that stay open."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from typing import Any, Self
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 10.0


class RefusedError(Exception):
    """The API server answered with an error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"HTTP {status}: {text}")
        self.status = status


class Api:
    """An API server, as its administrator. Each thread has a connection of its own; leaving closes them all."""

    def __init__(self, server: str, ca: bytes, token: str) -> None:
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
        return json.loads(self._request("GET", path))

    def post(self, path: str, body: object) -> None:
        self._request("POST", path, json.dumps(body))

    def merge(self, path: str, body: object) -> None:
        """Patch the object at ``path`` by a JSON merge patch."""
        self._request("PATCH", path, json.dumps(body), "application/merge-patch+json")

    def is_ready(self) -> bool:
        return self._answers("/readyz")

    def exists(self, path: str) -> bool:
        return self._answers(path)

    def _answers(self, path: str) -> bool:
        try:
            self._request("GET", path)
        except (RefusedError, OSError, http.client.HTTPException):
            return False
        return True

    def _request(self, method: str, path: str, body: str | None = None, content: str = "application/json") -> bytes:
        connection: http.client.HTTPSConnection | None = getattr(self._threads, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                self._address.hostname or "", self._address.port, context=self._tls, timeout=TIMEOUT_SECONDS
            )
            self._threads.connection = connection
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
