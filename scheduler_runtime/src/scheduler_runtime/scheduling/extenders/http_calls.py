"""Calling extenders over HTTP, and how to know that it is they who answer."""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, quote, unquote, urlsplit

from scheduler_runtime.catalog.durations import Duration
from scheduler_runtime.config import Extender, ExtenderTLSConfig
from scheduler_runtime.kube.http.http1 import ConnectionPool, Http1Connection
from scheduler_runtime.kube.http.transport import ConnectionLostError, Endpoint, Response

DEFAULT_SECONDS = 5.0
CONNECTIONS = 16
"""As many calls to one extender are under way at a time; further ones wait for one of them to be answered."""

IN_PATHS = "/%:@!$&'()*+,;=~"
IN_QUERIES = IN_PATHS + "?"


class ExtenderError(Exception):
    """An extender could not be asked, or its answer makes no sense; the message names it.

    ``sent`` tells whether what it was asked to do may have been done.
    """

    def __init__(self, problem: str, *, sent: bool = True) -> None:
        super().__init__(problem)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class Address:
    """Where an extender is, how to know that it is there, and how long to wait for an answer."""

    url_prefix: str
    tls: ssl.SSLContext | None
    server_name: str | None
    seconds: float | None

    @classmethod
    def of(cls, written: Extender) -> Address:
        """The address of an extender. Raises OSError or ValueError when its certificates cannot be used."""
        seconds = Duration(written.http_timeout).seconds or DEFAULT_SECONDS
        tls = written.tls_config
        return cls(
            written.url_prefix.rstrip("/"),
            tls_context(tls, verifies=not written.enable_https or _has_authority(tls)),
            (tls.server_name if tls else "") or None,
            seconds if seconds > 0 else None,
        )

    def failed(self, verb: str, problem: object, *, sent: bool = True) -> ExtenderError:
        """That asking did not help."""
        return ExtenderError(f"failed {verb} with extender at URL {shown(self.url_prefix)}/{verb}{problem}", sent=sent)


class ExtenderClient:
    """The connections to one extender; there are none before the first call."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._pool: ConnectionPool | None = None
        self._is_closed = False

    def close(self) -> None:
        """Keep no connection open any more. What is under way is answered, and what is still asked opens its own."""
        self._is_closed = True
        if self._pool is not None:
            self._pool.close()

    async def post(self, verb: str, body: bytes, before_send: Callable[[], None] | None = None) -> bytes:
        """Ask something. What ``before_send`` raises is raised, at the last moment. Raises ExtenderError.

        With ``before_send`` it is sent once at most. A mere question is repeated when the extender ended a connection
        that was idle just as it was asked over it, as servers do that keep none open for long.
        """
        address, sent = self.address, False
        limit = asyncio.timeout(address.seconds)

        def sends() -> None:
            nonlocal sent
            if before_send is not None:
                before_send()
            sent = True

        try:
            target = _target(f"{address.url_prefix}/{verb}")
            async with limit:
                answer = await self._exchange(target, _request(target, body), sends, repeats=before_send is None)
        except (ConnectionLostError, OSError, ValueError) as error:
            late = f"no answer within {address.seconds:g} s" if limit.expired() else ""
            raise address.failed(verb, f": {late or str(error) or type(error).__name__}", sent=sent) from error
        if answer.status != 200:
            raise address.failed(verb, f", code {answer.status}")
        return answer.body

    async def _exchange(
        self, target: SplitResult, request: bytes, before_send: Callable[[], None], *, repeats: bool
    ) -> Response:
        async with self._connection(target) as connection:
            was_idle = connection.idle_since > 0
            try:
                return await connection.request(request, before_send)
            except ConnectionLostError:
                if not (repeats and was_idle):
                    raise
        return await self._exchange(target, request, before_send, repeats=False)

    @asynccontextmanager
    async def _connection(self, target: SplitResult) -> AsyncIterator[Http1Connection]:
        pool = self._pool = self._pool or ConnectionPool(_place(target, self.address), CONNECTIONS)
        try:
            connection = await pool.acquire()
        except TimeoutError as error:
            raise ConnectionLostError("no connection in time") from error
        try:
            yield connection
        finally:
            if self._is_closed:
                connection.close()
            pool.release(connection)


def shown(url_prefix: str) -> str:
    """An address as everybody may read it: who asks, and by which password, is nobody else's business."""
    return re.sub(r"^(\w+://)?.*@", r"\1***@", url_prefix)


def _target(url: str) -> SplitResult:
    """Raises ValueError, without a word of ``url``."""
    if "#" in url:
        raise ValueError("nothing after the # of an address is sent, and so not which verb is meant; write it as %23")
    try:
        target = urlsplit(url)
        if target.scheme in ("http", "https") and target.hostname and target.port != 0:
            return target
    except ValueError:  # It quotes what it cannot read.
        pass
    raise ValueError("it is no address of an HTTP server")


def _place(target: SplitResult, address: Address) -> Endpoint:
    is_secure = target.scheme == "https"
    tls = (address.tls or ssl.create_default_context()) if is_secure else None
    return Endpoint(target.hostname or "", target.port or (443 if is_secure else 80), tls, address.server_name)


def _request(target: SplitResult, body: bytes) -> bytes:
    """A POST of JSON. A name and a password in the address are shown, as kube-scheduler does it."""
    user, _, host = target.netloc.rpartition("@")
    who = unquote(user if ":" in user else f"{user}:")
    query = f"?{quote(target.query, safe=IN_QUERIES)}" if target.query else ""
    lines = [
        f"POST {quote(target.path, safe=IN_PATHS) or '/'}{query} HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *([f"Authorization: Basic {base64.b64encode(who.encode()).decode()}"] if user else []),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def tls_context(written: ExtenderTLSConfig | None, *, verifies: bool) -> ssl.SSLContext | None:
    """What ``tlsConfig`` means; None for what everybody trusts. Raises OSError or ValueError.

    Where nothing is said about whom to trust, HTTPS that was asked for explicitly ``verifies`` nothing, as upstream.
    """
    if written is None and verifies:
        return None
    written = written or ExtenderTLSConfig()
    if written.ca_data:
        context = ssl.create_default_context(cadata=base64.b64decode(written.ca_data).decode())
    else:
        context = ssl.create_default_context(cafile=written.ca_file or None)
    if written.insecure or not verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if (written.cert_data or written.cert_file) and (written.key_data or written.key_file):
        _load_certificate(context, written)
    return context


def _has_authority(written: ExtenderTLSConfig | None) -> bool:
    return written is not None and bool(written.ca_data or written.ca_file)


def _load_certificate(context: ssl.SSLContext, written: ExtenderTLSConfig) -> None:
    """Load what the scheduler says who it is with; OpenSSL reads it from files only, so data passes through one."""
    with tempfile.TemporaryDirectory(prefix="berth-") as scratch:
        files = [written.cert_file, written.key_file]
        for index, data in enumerate((written.cert_data, written.key_data)):
            if data:
                file = Path(scratch, str(index))
                file.touch(mode=0o600)
                file.write_bytes(base64.b64decode(data))
                files[index] = str(file)
        context.load_cert_chain(files[0], files[1])
