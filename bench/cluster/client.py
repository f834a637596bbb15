"""Requests of the bench: to the API server at the least cost in CPU, and to the pages of a scheduler.

The bench shares the machine with what it measures, so this client is HTTP/1.1 on kept-alive connections, a request
at a time on each; bodies and answers are bytes. It shares no code with what it measures: a fault there cannot hide
here.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

READ_AT_ONCE = 1 << 20


class RefusedError(Exception):
    """The API server answered with an error."""

    def __init__(self, status: int, request: str, answer: bytes) -> None:
        super().__init__(f"{request}: HTTP {status}: {answer[:500].decode(errors='replace')}")
        self.status = status


class WatchError(Exception):
    """The API server reports an error on a watch: lines are missing, so nothing can be judged or counted any more."""


@dataclass(frozen=True, slots=True)
class Server:
    """An API server, with the token of a user."""

    host: str
    port: int
    trust: ssl.SSLContext | None = field(repr=False)
    """None for plain HTTP."""
    token: str = field(repr=False)

    @classmethod
    def of(cls, kubeconfig: Path) -> Self:
        """The server of a kubeconfig that devcluster wrote."""
        document = json.loads(kubeconfig.read_text())
        cluster = document["clusters"][0]["cluster"]
        address = urlsplit(cluster["server"])
        trust = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        return cls(address.hostname or "", address.port or 443, trust, document["users"][0]["user"]["token"])

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to it. Raises OSError."""
        return await asyncio.open_connection(self.host, self.port, ssl=self.trust, limit=READ_AT_ONCE)


class Connection:
    """One connection, and one request at a time on it."""

    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer
        self._common = f"Host: {server.host}\r\nAuthorization: Bearer {server.token}\r\n"

    @classmethod
    async def open(cls, server: Server) -> Self:
        return cls(server, *await server.connect())

    async def close(self) -> None:
        """Close the connection, without the closing messages of TLS."""
        self._writer.transport.abort()
        await self._writer.wait_closed()

    async def post(self, path: str, body: bytes) -> bytes:
        """Create the object ``body``. Raises RefusedError, and OSError or EOFError for a broken connection."""
        return await self._ask("POST", path, body)

    async def patch(self, path: str, body: bytes) -> bytes:
        """Change an object by a merge patch. Raises as ``post`` does."""
        return await self._ask("PATCH", path, body, "application/merge-patch+json")

    async def delete(self, path: str, body: bytes = b"") -> bytes:
        """Delete an object, or a collection, with ``body`` as the options. Raises as ``post`` does."""
        return await self._ask("DELETE", path, body)

    async def send(self, method: str, path: str, body: bytes, kind: str) -> bytes:
        """Send any request, with a body of any kind. Raises as ``post`` does."""
        return await self._ask(method, path, body, kind)

    async def get(self, path: str) -> Any:
        return json.loads(await self.page(path))

    async def page(self, path: str) -> bytes:
        """A page that is not of JSON."""
        return await self._ask("GET", path)

    async def stream(self, path: str, accept: str) -> AsyncIterator[bytes]:
        """Yield the chunks of an endless answer as they arrive. The connection cannot be used again."""
        self._send("GET", path, b"", f"Accept: {accept}\r\n")
        head = await self._head()
        if status_of(head) >= 300:
            raise RefusedError(status_of(head), f"GET {path}", await self._body(head))
        while chunk := await self._chunk():
            yield chunk

    async def _ask(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> bytes:
        if self._reader.at_eof():  # The API server closes connections that were idle for a minute and a half.
            await self.close()
            self._reader, self._writer = await self._server.connect()
        self._send(method, path, body, f"Content-Type: {kind}\r\n" if body else "")
        head = await self._head()
        answer = await self._body(head)
        if status_of(head) >= 300:
            raise RefusedError(status_of(head), f"{method} {path}", answer)
        return answer

    def _send(self, method: str, path: str, body: bytes, more: str) -> None:
        head = f"{method} {path} HTTP/1.1\r\n{self._common}{more}Content-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)

    async def _head(self) -> bytes:
        return await self._reader.readuntil(b"\r\n\r\n")

    async def _body(self, head: bytes) -> bytes:
        if (position := head.find(b"\r\nContent-Length: ")) >= 0:
            start = position + len(b"\r\nContent-Length: ")
            return await self._reader.readexactly(int(head[start : head.index(b"\r", start)]))
        chunks = []
        while chunk := await self._chunk():
            chunks.append(chunk)
        return b"".join(chunks)

    async def _chunk(self) -> bytes:
        """The next chunk of a chunked answer; empty at its end."""
        size = int(await self._reader.readuntil(b"\r\n"), 16)
        return (await self._reader.readexactly(size + 2))[:-2]


def status_of(head: bytes) -> int:
    """The status of an answer that begins with ``head``."""
    return int(head[9:12])


def read_page(address: str, seconds: float, token: str = "") -> str:
    """Read a page of a scheduler over loopback. Raises OSError when it does not answer, or answers with an error."""
    trusting = ssl._create_unverified_context()  # noqa: S323 - a scheduler signs its certificate itself
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=seconds, context=trusting) as answer:  # noqa: S310 - loopback
        return str(answer.read().decode())
