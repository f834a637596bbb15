"""Asyncio client of the API server: requests and watches as one user, with typed errors and without models.

Short requests share one connection where the server speaks HTTP/2 (see ``http2``). Pages of lists, which are large, and
all requests to a server without HTTP/2 go over a pool of HTTP/1.1 connections (``http.http1``), and each watch has a
connection of its own (``http.stream``). Bodies are bytes here; callers decode them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from time import monotonic, perf_counter
from types import TracebackType
from typing import Protocol
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from scheduler_runtime.kube import http2
from scheduler_runtime.kube.credentials import Credentials, CredentialsError
from scheduler_runtime.kube.http.http1 import ConnectionPool
from scheduler_runtime.kube.http.request_writer import JSON, Request, RequestWriter
from scheduler_runtime.kube.http.stream import Stream
from scheduler_runtime.kube.http.transport import ConnectionLostError, Endpoint, Response, connect, timeout
from scheduler_runtime.kube.log_once import LogOnce

logger = logging.getLogger(__name__)

MAX_CONCURRENT_REQUESTS = 64
"""Requests under way at a time, over HTTP/2 and over HTTP/1.1 each; further ones wait for a response to one of them."""
REQUEST_TIMEOUT = 30.0
LONGEST_RETRY_AFTER = 30.0
NAMESPACE_TERMINATING = "NamespaceTerminating"
"""The limit up to which Retry-After is obeyed: a proxy that asks for an hour would stop a whole cluster."""
HTTP1_SECONDS = 300.0
"""After a server turned out not to speak HTTP/2, the time until it is tried again: it may have been replaced."""
ROLLBACK_SECONDS = 60.0
"""Rollbacks noticed within this time are the same one."""
_is_plain = re.compile(r"[\w./-]*", re.ASCII).fullmatch
"""True if a path can be sent without quoting, as nearly all can."""


class ApiError(Exception):
    """The API server refused a request; the message is its own.

    ``status`` is the HTTP status, ``reason`` that of the Status object, ``retry_after`` the seconds to wait before the
    request is sent again, 0 if the server does not say.
    """

    def __init__(
        self, status: int, reason: str, message: str, retry_after: float = 0.0, causes: Iterable[str] = ()
    ) -> None:
        """``causes`` are the reasons of the Status object's causes."""
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.is_namespace_ending = NAMESPACE_TERMINATING in causes
        """True if nothing can be created because the namespace is being deleted."""

    @property
    def is_final(self) -> bool:
        """True if the request itself is refused, and would be again; from 429 on it may be sent later."""
        return self.status < 429


class NoResponseError(Exception):
    """A request has no response. If ``sent`` is True it may have been carried out all the same.

    ``cause`` is the message without the request's own words, to be compared with other errors.
    """

    def __init__(self, message: str, *, sent: bool, cause: str = "") -> None:
        super().__init__(message)
        self.sent = sent
        self.cause = cause or message


def retry_after(error: Exception) -> float:
    """Return the seconds to wait before the next attempt, if ``error`` is a refusal that names them; otherwise 0."""
    return error.retry_after if isinstance(error, ApiError) else 0.0


class _Cause(msgspec.Struct, gc=False):
    reason: str = ""


class _Details(msgspec.Struct, gc=False):
    causes: tuple[_Cause, ...] | None = None


class _Status(msgspec.Struct, gc=False):
    """The body of a refusal."""

    reason: str = ""
    message: str = ""
    details: _Details | None = None


_decode_status = msgspec.json.Decoder(_Status).decode


class HostObserver(Protocol):
    """Counts requests to one host, for metrics."""

    def count(self, code: int, verb: str, numbers: tuple[float, float, float, float] | None = None) -> None:
        """Count a request that has ended, with status ``code``, or 0 without a response.

        ``numbers`` are the seconds it was throttled, the seconds until the response, the bytes sent and received.
        """


class RequestObserver(Protocol):
    """Source of observers, one for each host."""

    def for_host(self, host: str) -> HostObserver:
        """Return the observer of requests to ``host``."""
        ...


class Unobserved:
    """Observer that counts nothing."""

    def for_host(self, host: str) -> Unobserved:
        """Return itself."""
        return self

    def count(self, code: int, verb: str, numbers: tuple[float, float, float, float] | None = None) -> None:
        """Do nothing."""


class RateLimit:
    """A token bucket, as client-go's util/flowcontrol. Callers wait in the order in which they came.

    ``qps`` below zero means no limit.
    """

    def __init__(self, qps: float, burst: int, clock: Callable[[], float] = monotonic) -> None:
        self._interval = 1 / qps if qps > 0 else 0.0
        self._burst = max(burst, 1)
        self._clock = clock
        self._next_free = float("-inf")

    def reserve(self) -> float:
        """Take the next token, and return the seconds to wait before using it."""
        if not self._interval:
            return 0.0
        now = self._clock()
        # The bucket is kept as one instant: when its last token will have been there. It lies at most a burst back.
        self._next_free = max(self._next_free, now - self._burst * self._interval) + self._interval
        return max(0.0, self._next_free - now)

    async def wait(self) -> None:
        """Take the next token, and return when it may be used."""
        delay = self.reserve()
        if delay:
            await asyncio.sleep(delay)


UNLIMITED = RateLimit(-1, 0)


class Client:
    """Requests to one API server, as one user. An async context manager, which closes its connections."""

    def __init__(
        self,
        credentials: Credentials,
        user_agent: str,
        rate_limit: RateLimit = UNLIMITED,
        observer: RequestObserver | None = None,
        unreachable_log: LogOnce | None = None,
    ) -> None:
        """``observer`` counts requests. ``unreachable_log`` may be shared by several clients of the same server."""
        self.server = credentials.server
        self._credentials = credentials
        self._rate_limit = rate_limit
        # Recovers with the next connection that is opened, not with a response: open connections may go on while no new
        # one can be opened.
        self._unreachable = unreachable_log or LogOnce(logger)
        self._unauthorized = LogOnce(logger)
        self._refusing = LogOnce(logger)
        self._rolled_back_at = float("-inf")
        url = urlsplit(credentials.server)
        self._path_prefix = url.path.rstrip("/")
        self._observer = (observer or Unobserved()).for_host(url.netloc)
        self._writer = RequestWriter(url.netloc, user_agent)
        is_secure = url.scheme == "https"
        self._endpoint = Endpoint(
            url.hostname or "",
            url.port or (443 if is_secure else 80),
            (credentials.tls or ssl.create_default_context()) if is_secure else None,
            credentials.server_name,
            self._unreachable.recovered,
        )
        self._pool = ConnectionPool(self._endpoint, MAX_CONCURRENT_REQUESTS)
        self._shared: http2.SharedConnection | None = None
        self._http1_until = 0.0
        if is_secure and credentials.http2_tls is not None:
            endpoint = replace(self._endpoint, tls=credentials.http2_tls)
            self._shared = http2.SharedConnection(endpoint, MAX_CONCURRENT_REQUESTS)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.close()
        if self._shared is not None:
            self._shared.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
        seconds: float = REQUEST_TIMEOUT,
        before_send: Callable[[], None] = lambda: None,
    ) -> bytes:
        """Send one request and return the body of the response. Raises ApiError or NoResponseError.

        ``before_send`` is called right before the request is written, and again before a repetition; what it raises is
        raised, and nothing is sent. ``seconds`` count from its first call and include a repetition.
        """
        data = msgspec.json.encode(body) if body is not None else b""
        request = Request(method, self._target(path, params), JSON, content_type if data else "", data)
        return await self._request(path, request, self._send, seconds, before_send)

    async def get(self, path: str, params: Mapping[str, str], accept: str) -> bytes:
        """Return ``path`` in the format ``accept``, over a connection for large responses.

        Raises ApiError or NoResponseError.
        """
        request = Request("GET", self._target(path, params), accept)
        return await self._request(path, request, self._send_pooled, REQUEST_TIMEOUT, lambda: None)

    async def _request(
        self, path: str, request: Request, send: _Send, seconds: float, before_send: Callable[[], None]
    ) -> bytes:
        started_at, method, guard = perf_counter(), request.method, _SendGuard(before_send, seconds)
        if delay := self._rate_limit.reserve():
            await asyncio.sleep(delay)
        throttled = perf_counter() - started_at
        try:
            response = await send(request, await self._auth_headers(), guard)
            if response.status == 401:
                # The token has expired, or was replaced. A request that was not let in has changed nothing, so it can
                # be repeated, once, with the token read again.
                self._credentials.reject_token()
                response = await send(request, await self._auth_headers(), guard)
        except (ConnectionLostError, TimeoutError, OSError, http2.StreamRefusedError) as error:
            self._observer.count(0, method)
            if isinstance(error, http2.StreamRefusedError):
                text = f"API server {self.server} takes no requests"
                self._refusing.failing(text, str(error))
                raise NoResponseError(f"{text}: {error}", sent=False) from error
            if guard.sent_at is None:
                raise self._unreachable_error(error) from error
            cause = _cause(error)
            raise NoResponseError(f"{method} {path}: {cause}", sent=True, cause=cause) from error
        latency = perf_counter() - guard.sent_at if guard.sent_at is not None else 0.0
        self._observer.count(response.status, method, (throttled, latency, len(request.body), len(response.body)))
        if self._refusing.sentence:
            self._refusing.recovered()
        if response.status >= 400:
            raise self._api_error(response)
        if self._unauthorized.sentence:
            self._unauthorized.recovered()
        return response.body

    async def _send(self, request: Request, auth_headers: Mapping[str, str], guard: _SendGuard) -> Response:
        """Send over the shared connection if the server speaks HTTP/2, otherwise over one of the pool."""
        if self._shared is not None and perf_counter() >= self._http1_until:
            header_block = self._writer.http2_headers(request, auth_headers)
            try:
                return await self._shared.request(header_block, request.body, guard)
            except http2.Http2UnsupportedError:
                self._http1_until = perf_counter() + HTTP1_SECONDS
                logger.debug("API server %s does not speak HTTP/2", self.server)
        return await self._send_pooled(request, auth_headers, guard)

    async def _send_pooled(self, request: Request, auth_headers: Mapping[str, str], guard: _SendGuard) -> Response:
        """Send over a connection that no other request uses meanwhile."""
        connection = await self._pool.acquire()
        try:
            async with timeout(guard.remaining(), may_extend=lambda: connection.write_buffer_is_empty):
                return await connection.request(self._writer.http1_request(request, auth_headers), guard)
        finally:
            self._pool.release(connection)

    def _target(self, path: str, params: Mapping[str, str] | None) -> str:
        target = self._path_prefix + path
        if not _is_plain(target):
            target = quote(target)
        return f"{target}?{urlencode(params)}" if params else target

    def report_rollback(self, detail: str) -> bool:
        """Log that the API server's data went back in time; return False if that was reported a moment ago.

        Every watch notices by itself: this is about the first of them.
        """
        now = perf_counter()
        if now - self._rolled_back_at <= ROLLBACK_SECONDS:
            return False
        self._rolled_back_at = now
        logger.warning(
            "API server %s has older data than before, such as a backup that was restored (%s): "
            "everything is listed again",
            self.server,
            detail,
        )
        return True

    @contextlib.asynccontextmanager
    async def stream(self, path: str, *, params: Mapping[str, str], silence_seconds: float) -> AsyncIterator[Stream]:
        """Open a watch, or a list that is read while it comes. Raises ApiError or NoResponseError.

        A connection that breaks raises ConnectionLostError in the reader, which becomes NoResponseError at the end of
        the ``with`` block. After ``silence_seconds`` without data the stream ends.
        """
        await self._rate_limit.wait()
        request = Request("GET", self._target(path, params))
        stream = await self._open_stream(path, request, silence_seconds)
        try:
            if stream.status == 401:
                stream.close()
                self._credentials.reject_token()
                stream = await self._open_stream(path, request, silence_seconds)
            self._observer.count(stream.status, "GET")
            if stream.status >= 400:
                raise self._api_error(Response(stream.status, await stream.read_all(), stream.retry_after))
            self._unauthorized.recovered()
            yield stream
        except ConnectionLostError as error:
            raise NoResponseError(f"GET {path}: {error}", sent=True, cause=str(error)) from error
        finally:
            stream.close()

    async def _open_stream(self, path: str, request: Request, silence_seconds: float) -> Stream:
        auth_headers = await self._auth_headers()
        stream = Stream(silence_seconds)
        try:
            await connect(self._endpoint, stream)
        except (OSError, TimeoutError) as error:
            raise self._unreachable_error(error) from error
        try:
            await stream.send_request(self._writer.http1_request(request, auth_headers))
        except ConnectionLostError as error:
            self._observer.count(0, "GET")
            raise NoResponseError(f"GET {path}: {error}", sent=True, cause=str(error)) from error
        except BaseException:
            stream.close()
            raise
        return stream

    async def _auth_headers(self) -> dict[str, str]:
        """Return the headers that authenticate a request. Raises NoResponseError.

        An exec plugin may run for seconds, and so does not run in the event loop.
        """
        try:
            if self._credentials.is_slow:
                return await asyncio.to_thread(self._credentials.headers)
            return self._credentials.headers()
        except CredentialsError as error:
            self._unauthorized.failing(str(error))
            raise NoResponseError(str(error), sent=False) from error

    def _unreachable_error(self, error: BaseException) -> NoResponseError:
        """Log that the server cannot be reached, and return the error to raise."""
        text, cause = f"API server {self.server} cannot be reached", _cause(error)
        self._unreachable.failing(text, cause)
        return NoResponseError(f"{text}: {cause}", sent=False)

    def _api_error(self, response: Response) -> ApiError:
        """Return the refusal as an error; log it if it is about our credentials."""
        try:
            status = _decode_status(response.body)
        except (ValueError, RecursionError):  # from a proxy, perhaps, and not JSON
            status = _Status(message=response.body[:200].decode(errors="replace").strip())
        if response.status == 401:
            self._unauthorized.failing(f"API server {self.server} refuses our credentials (401); waiting for new ones")
        else:
            self._unauthorized.recovered()
        # Retry-After may also be a date (RFC 9110, section 10.2.3); the API server writes seconds.
        digits = response.retry_after
        seconds = min(float(digits), LONGEST_RETRY_AFTER) if digits.isascii() and digits.isdigit() else 0.0
        causes = (status.details.causes if status.details else None) or ()
        return ApiError(response.status, status.reason, status.message, seconds, [cause.reason for cause in causes])


class _SendGuard:
    """Called right before a request is written. ``seconds`` count from the first call, repetitions included."""

    __slots__ = ("_before_send", "_seconds", "sent_at")

    def __init__(self, before_send: Callable[[], None], seconds: float) -> None:
        """``before_send`` raises when the request may not be sent any more."""
        self._before_send = before_send
        self._seconds = seconds
        self.sent_at: float | None = None
        """When the request was written for the first time; None while it can be said that it was not."""

    def __call__(self) -> float:
        self._before_send()
        if self.sent_at is None:
            self.sent_at = perf_counter()
            return self._seconds
        return self.remaining()

    def remaining(self) -> float:
        """Return the seconds that remain. Raises TimeoutError when there are none."""
        seconds = self._seconds - (perf_counter() - self.sent_at if self.sent_at is not None else 0.0)
        if seconds <= 0:
            raise TimeoutError
        return seconds


class _Send(Protocol):
    """A way to send a request. Raises connection errors; ``guard`` was not called if no connection was opened."""

    async def __call__(self, request: Request, auth_headers: Mapping[str, str], guard: _SendGuard, /) -> Response: ...


def _cause(error: BaseException) -> str:
    """The cause of ``error`` without what differs from one attempt to the next, so that it is logged once."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.errno and error.errno > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return str(error) or type(error).__name__
