"""GET requests to a server on this machine, whatever its certificate."""

from __future__ import annotations

import http.client
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class FetchedPage:
    """A response."""

    status: int
    body: str
    content_type: str
    warning: str


def get(port: int, path: str, headers: Mapping[str, str] = NONE, *, scheme: str = "http") -> tuple[int, str]:
    """Return status and body of the response."""
    page = get_page(port, path, headers, scheme=scheme)
    return page.status, page.body


def get_page(
    port: int,
    path: str,
    headers: Mapping[str, str] = NONE,
    *,
    scheme: str = "https",
    host: str = "127.0.0.1",
    trust: ssl.SSLContext | None = None,
) -> FetchedPage:
    """Return the response; without ``trust`` any certificate will do. Raises OSError while nobody listens."""
    connection = http.client.HTTPConnection(host, port, timeout=10)
    if scheme == "https":
        trust = trust or ssl._create_unverified_context()  # noqa: S323 - servers of tests sign their certificates themselves
        connection = http.client.HTTPSConnection(host, port, timeout=10, context=trust)
    try:
        connection.request("GET", path, headers=dict(headers))
        response = connection.getresponse()
        read = response.headers.get
        return FetchedPage(response.status, response.read().decode(), read("Content-Type", ""), read("Warning", ""))
    finally:
        connection.close()


def listed_paths(port: int) -> list[str]:
    """Return every path that a process serves: its answer to any other path lists them."""
    return re.findall(r"/[a-z/]+", get_page(port, "/").body)


def bearer(token: str) -> Mapping[str, str]:
    """Return the header of somebody with this token; none without."""
    return {"Authorization": f"Bearer {token}"} if token else NONE
