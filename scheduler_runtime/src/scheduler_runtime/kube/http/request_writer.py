"""Requests as they are written, in HTTP/1.1 and in HTTP/2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from scheduler_runtime.kube import http2

JSON = "application/json"


class Request(NamedTuple):
    """What is asked, and in which formats. Who asks is said when it is sent."""

    method: str
    target: str
    accept: str = JSON
    content_type: str = ""
    body: bytes = b""


class RequestWriter:
    """Writes the requests of one client to one server. What is the same in many of them is written once."""

    def __init__(self, host: str, user_agent: str) -> None:
        self._always = f"Host: {host}\r\nUser-Agent: {user_agent}\r\nAccept-Encoding: identity\r\n"
        self._host = host.encode()
        self._user_agent = user_agent.encode()
        self._around_target: dict[tuple[str, str, str], tuple[bytes, bytes]] = {}
        self._who: tuple[Mapping[str, str], bytes] = {}, b""

    def http1_request(self, request: Request, identity: Mapping[str, str]) -> bytes:
        """The whole of ``request`` in HTTP/1.1, asked by ``identity``."""
        method, target, accept, content_type, body = request
        typed = f"Content-Type: {content_type}\r\n" if content_type else ""
        who = "".join(f"{name}: {value}\r\n" for name, value in identity.items())
        head = f"{method} {target} HTTP/1.1\r\n{self._always}Accept: {accept}\r\n{typed}Content-Length: {len(body)}\r\n"
        return b"%b%b\r\n%b" % (head.encode(), who.encode(), body)

    def http2_headers(self, request: Request, identity: Mapping[str, str]) -> bytes:
        """The header fields of ``request`` in HTTP/2, asked by ``identity``; its body goes apart."""
        method, target, accept, content_type, body = request
        around = self._around_target.get((method, accept, content_type))
        if around is None:
            around = self._around_target[method, accept, content_type] = self._around(method, accept, content_type)
        if identity != self._who[0]:
            self._who = identity, http2.never_kept(identity)
        path, length = http2.field(http2.PATH, target.encode()), http2.field(http2.CONTENT_LENGTH, b"%d" % len(body))
        return b"".join((around[0], path, around[1], length, self._who[1]))

    def _around(self, method: str, accept: str, content_type: str) -> tuple[bytes, bytes]:
        """The fields before the path, all of whose names begin with a colon, and those after it."""
        before = (http2.method(method), http2.HTTPS, http2.field(http2.AUTHORITY, self._host))
        after = (
            http2.field(http2.ACCEPT_ENCODING, b"identity"),
            http2.field(http2.ACCEPT, accept.encode()),
            http2.field(http2.USER_AGENT, self._user_agent),
            http2.field(http2.CONTENT_TYPE, content_type.encode()) if content_type else b"",
        )
        return b"".join(before), b"".join(after)
