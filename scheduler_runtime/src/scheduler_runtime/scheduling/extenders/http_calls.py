"""HTTP calls to extenders: addresses, TLS, connections, and what a failed call may have done.

URLs are written, credentials shown and certificates checked as by kube-scheduler's extender client.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, quote, unquote, urlsplit

from scheduler_runtime.catalog.masking import without_credentials
from scheduler_runtime.catalog.syntax import Duration
from scheduler_runtime.config import ExtenderConfig, ExtenderTLSConfig
from scheduler_runtime.kube.events import truncate_note
from scheduler_runtime.kube.http.http1 import ConnectionPool, Http1Connection
from scheduler_runtime.kube.http.transport import ConnectionLostError, Endpoint, Response
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.tls import Pem, client_context, load_certificate, stamps_of

logger = logging.getLogger(__name__)

DEFAULT_SECONDS = 5.0
CONNECTIONS = 16
"""How many calls to one extender are under way at a time; further ones wait until one of them is answered."""

LEAST_ANSWER = 8 << 20
"""Bytes that an answer may always have, enough for a reason for each of ten thousand nodes. Beside them it may be twice
as long as its question: if an extender is sent nodes as objects, it repeats them."""

SAFE_IN_PATHS = "/%:@!$&'()*+,;=~"
SAFE_IN_QUERIES = SAFE_IN_PATHS + "?"


class ExtenderError(Exception):
    """An extender could not be asked, or its answer makes no sense; the message names it.

    ``sent`` is whether the request may have been carried out.
    """

    def __init__(self, problem: str, *, sent: bool = True) -> None:
        super().__init__(truncate_note(problem))  # names and reasons in it are the extender's, and may be megabytes
        self.sent = sent


@dataclass(frozen=True, slots=True)
class Address:
    """The URL of an extender, how to verify who answers there, and how long to wait for an answer."""

    url_prefix: str
    certificates: ExtenderCertificates
    server_name: str | None
    seconds: float | None

    @classmethod
    def of(cls, config: ExtenderConfig) -> Address:
        """Return the address of an extender. Raises OSError or ValueError when its certificates cannot be used."""
        seconds = Duration(config.http_timeout).seconds or DEFAULT_SECONDS
        tls = config.tls_config
        has_authority = tls is not None and bool(tls.ca_data or tls.ca_file)
        return cls(
            config.url_prefix.rstrip("/"),
            ExtenderCertificates(config.shown_url, tls, verifies=not config.enable_https or has_authority),
            (tls.server_name if tls else "") or None,
            seconds if seconds > 0 else None,
        )

    def failed(self, verb: str, problem: object, *, sent: bool = True) -> ExtenderError:
        """Return the error that says that asking failed, in upstream's words."""
        url = without_credentials(self.url_prefix)
        return ExtenderError(f"failed {verb} with extender at URL {url}/{verb}{problem}", sent=sent)


class ExtenderClient:
    """The connections to one extender; there are none before the first call."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._pool: ConnectionPool | None = None
        self._tls: ssl.SSLContext | None = None
        """The context of the connections of the pool."""
        self._is_closed = False

    def close(self) -> None:
        """Keep no connection open any more. Calls under way are answered; later ones open their own connections."""
        self._is_closed = True
        if self._pool is not None:
            self._pool.close()

    async def post(self, verb: str, body: bytes, before_send: Callable[[], None] | None = None) -> bytes:
        """Send a question and return the answer. Raises ExtenderError.

        ``before_send`` is called at the last moment; what it raises is raised, and nothing is sent then.

        With ``before_send``, as for a binding, it is sent once at most. A mere question is sent again when the extender
        ended an idle connection just as the question was sent, as servers do that keep none open for long.
        """
        address, sent = self.address, False
        limit = asyncio.timeout(address.seconds)

        def note_sending() -> None:
            nonlocal sent
            if before_send is not None:
                before_send()
            sent = True

        try:
            target = _parse_url(f"{address.url_prefix}/{verb}")
            request = _encode_request(target, body)
            async with limit:
                answer = await self._request(target, request, note_sending, may_repeat=before_send is None)
        except (ConnectionLostError, OSError, ValueError) as error:
            late = f"no answer within {address.seconds:g} s" if limit.expired() else ""
            raise address.failed(verb, f": {late or str(error) or type(error).__name__}", sent=sent) from error
        if answer.status != 200:
            raise address.failed(verb, f", code {answer.status}")
        return answer.body

    async def _request(
        self, target: SplitResult, request: bytes, before_send: Callable[[], None], *, may_repeat: bool
    ) -> Response:
        async with self._connection(target) as connection:
            was_idle = connection.idle_since > 0
            try:
                return await connection.request(request, before_send, LEAST_ANSWER + 2 * len(request))
            except ConnectionLostError:
                # Lost on a connection that was idle: most likely it was closed before the question arrived.
                if not (may_repeat and was_idle):
                    raise
        return await self._request(target, request, before_send, may_repeat=False)

    @asynccontextmanager
    async def _connection(self, target: SplitResult) -> AsyncIterator[Http1Connection]:
        is_secure = target.scheme == "https"
        tls = self.address.certificates.context() if is_secure else None
        if self._pool is None or tls is not self._tls:
            if self._pool is not None:
                self._pool.close()  # its connections show the old certificate
            port = target.port or (443 if is_secure else 80)
            endpoint = Endpoint(target.hostname or "", port, tls, self.address.server_name)
            self._pool, self._tls = ConnectionPool(endpoint, CONNECTIONS), tls
        pool = self._pool
        try:
            connection = await pool.acquire()
        except TimeoutError as error:
            raise ConnectionLostError("no connection in time") from error
        try:
            yield connection
        finally:
            # A call that outlives its document, or its certificate, must not leave a connection in the pool.
            if self._is_closed or pool is not self._pool:
                connection.close()
            pool.release(connection)


def _parse_url(url: str) -> SplitResult:
    """Parse the URL of a verb. Raises ValueError without a word of ``url``, which may contain a password."""
    if "#" in url:
        raise ValueError("nothing after the # of an address is sent, and so not which verb is meant; write it as %23")
    try:
        target = urlsplit(url)
        if target.scheme in ("http", "https") and target.hostname and target.port != 0:
            return target
    except ValueError:  # its message would quote the address
        pass
    raise ValueError("it is no address of an HTTP server")


def _encode_request(target: SplitResult, body: bytes) -> bytes:
    """Encode a POST of JSON, with user and password of the address as basic authentication, as kube-scheduler does."""
    credentials, _, host = target.netloc.rpartition("@")
    user = unquote(credentials if ":" in credentials else f"{credentials}:")
    query = f"?{quote(target.query, safe=SAFE_IN_QUERIES)}" if target.query else ""
    lines = [
        f"POST {quote(target.path, safe=SAFE_IN_PATHS) or '/'}{query} HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *([f"Authorization: Basic {base64.b64encode(user.encode()).decode()}"] if credentials else []),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class ExtenderCertificates:
    """The TLS context for a ``tlsConfig``, made anew when its files change: those of a mounted Secret are replaced.

    While changed files are unusable, the last usable ones stay in use.
    """

    def __init__(self, name: str, config: ExtenderTLSConfig | None, *, verifies: bool) -> None:
        """``name`` is that of the extender in the log. Raises OSError or ValueError if the certificates are unusable.

        As upstream, ``enableHTTPS`` without an authority ``verifies`` nothing.
        """
        self._name = name
        self._config = config or ExtenderTLSConfig()
        self._verifies = verifies
        files = (self._config.ca_file, self._config.cert_file, self._config.key_file)
        self._files = [Path(file) for file in files if file]
        self._trouble = LogOnce(logger)
        self._stamps = stamps_of(self._files)
        self._context = tls_context(self._config, verifies=verifies)

    def context(self) -> ssl.SSLContext:
        """Return the context for the next call, after reading the files again if they changed."""
        stamps = stamps_of(self._files)
        if stamps != self._stamps:
            try:
                self._context = tls_context(self._config, verifies=self._verifies)
            except (OSError, ValueError) as error:
                # The key may be written a moment after the certificate: the stamps stay, and the next call tries again.
                self._trouble.failing(f"the certificates for {self._name} cannot be read again", str(error))
            else:
                self._stamps = stamps
                self._trouble.recovered()
                logger.info("certificates read again", extra={"extender": self._name})
        return self._context


def tls_context(config: ExtenderTLSConfig, *, verifies: bool) -> ssl.SSLContext:
    """Return the TLS context for a ``tlsConfig``. Raises OSError or ValueError."""
    context = client_context(_pem(config.ca_data, config.ca_file), verifies=verifies and not config.insecure)
    certificate, key = _pem(config.cert_data, config.cert_file), _pem(config.key_data, config.key_file)
    if certificate is not None and key is not None:
        load_certificate(context, certificate, key)
    return context


def _pem(data: str, file: str) -> Pem | None:
    """Return what a ``tlsConfig`` says in one of two ways, as data in base64 or by a file; None for neither."""
    return base64.b64decode(data) if data else Path(file) if file else None
