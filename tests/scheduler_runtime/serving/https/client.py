"""GET requests to a server on this machine, whatever its certificate."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from types import MappingProxyType

NONE: Mapping[str, str] = MappingProxyType({})


def get(port: int, path: str, headers: Mapping[str, str] = NONE, *, scheme: str = "http") -> tuple[int, str]:
    """Return status and body of the response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    if scheme == "https":
        trusting = ssl._create_unverified_context()  # noqa: S323 - nobody signs the certificates of these tests
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=trusting)
    try:
        connection.request("GET", path, headers=dict(headers))
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()
