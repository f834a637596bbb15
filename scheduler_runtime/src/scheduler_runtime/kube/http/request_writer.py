"""Serialization of requests, for HTTP/1.1 and for HTTP/2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from scheduler_runtime.kube.http2 import headers

JSON = "application/json"


class Request(NamedTuple):
    """One request, without the headers that authenticate it: these are added when it is sent."""

    method: str
    target: str
    accept: str = JSON
    content_type: str = ""
    body: bytes = b""


class RequestWriter:
    """Writes the requests of one client to one server. Parts that many requests share are encoded once."""

    def __init__(self, host: str, user_agent: str) -> None:
        self._common_headers = f"Host: {host}\r\nUser-Agent: {user_agent}\r\nAccept-Encoding: identity\r\n"
        self._host = host.encode()
        self._user_agent = user_agent.encode()
        self._around_path: dict[tuple[str, str, str], tuple[bytes, bytes]] = {}
        self._identity: tuple[Mapping[str, str], bytes] = {}, b""
        """The headers that authenticated the last request, and their encoding."""

    def http1_request(self, request: Request, identity: Mapping[str, str]) -> bytes:
        """Return the whole of ``request`` in HTTP/1.1, with the headers ``identity``."""
        method, target, accept, content_type, body = request
        typed = f"Content-Type: {content_type}\r\n" if content_type else ""
        who = "".join(f"{name}: {value}\r\n" for name, value in identity.items())
        head = (
            f"{method} {target} HTTP/1.1\r\n{self._common_headers}"
            f"Accept: {accept}\r\n{typed}Content-Length: {len(body)}\r\n"
        )
        return b"%b%b\r\n%b" % (head.encode(), who.encode(), body)

    def http2_headers(self, request: Request, identity: Mapping[str, str]) -> bytes:
        """Return the header block of ``request`` in HTTP/2, with the headers ``identity``. Its body is sent apart."""
        method, target, accept, content_type, body = request
        around = self._around_path.get((method, accept, content_type))
        if around is None:
            # Pseudo-headers, whose names begin with a colon, have to come first (RFC 9113, section 8.3).
            before = (headers.method(method), headers.HTTPS, headers.field(headers.AUTHORITY, self._host))
            after = (
                headers.field(headers.ACCEPT_ENCODING, b"identity"),
                headers.field(headers.ACCEPT, accept.encode()),
                headers.field(headers.USER_AGENT, self._user_agent),
                headers.field(headers.CONTENT_TYPE, content_type.encode()) if content_type else b"",
            )
            around = self._around_path[method, accept, content_type] = b"".join(before), b"".join(after)
        if identity != self._identity[0]:
            self._identity = identity, headers.never_indexed(identity)
        path = headers.field(headers.PATH, target.encode())
        length = headers.field(headers.CONTENT_LENGTH, b"%d" % len(body))
        return b"".join((around[0], path, around[1], length, self._identity[1]))
