"""Requests at the least cost in CPU: this client shares the machine with what it measures.

HTTP/1.1 on kept-alive connections, a request at a time on each; bodies and answers are bytes.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
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


@dataclass(frozen=True, slots=True)
class Server:
    """An API server and who asks it."""

    host: str
    port: int
    trust: ssl.SSLContext | None = field(repr=False)
    """None where it speaks plain HTTP."""
    token: str = field(repr=False)

    @classmethod
    def of(cls, kubeconfig: Path) -> Self:
        """The server of a kubeconfig as devcluster writes them."""
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
        """Hang up, without the farewells of TLS."""
        self._writer.transport.abort()
        await self._writer.wait_closed()

    async def post(self, path: str, body: bytes) -> bytes:
        """Create what ``body`` says. Raises RefusedError, and OSError or EOFError when the server goes away."""
        return await self._ask("POST", path, body)

    async def patch(self, path: str, body: bytes) -> bytes:
        """Change what is there by a merge patch. Raises as ``post`` does."""
        return await self._ask("PATCH", path, body, "application/merge-patch+json")

    async def get(self, path: str) -> Any:
        return json.loads(await self._ask("GET", path))

    async def stream(self, path: str, accept: str) -> AsyncIterator[bytes]:
        """What the server sends, as it comes. The connection is of no other use afterwards."""
        self._send("GET", path, b"", f"Accept: {accept}\r\n")
        head = await self._head()
        if status_of(head) >= 300:
            raise RefusedError(status_of(head), f"GET {path}", await self._body(head))
        while chunk := await self._chunk():
            yield chunk

    async def _ask(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> bytes:
        if self._reader.at_eof():  # The API server hangs up on who has not asked for a minute and a half.
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
        if (found := head.find(b"\r\nContent-Length: ")) >= 0:
            start = found + len(b"\r\nContent-Length: ")
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
