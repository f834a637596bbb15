"""The API server over HTTP: typed failures, no models.

Short requests share one connection where the server speaks HTTP/2 (see ``http2``). Pages of lists, which are large, and
all requests to a server that does not, take turns on several (``connections``), and each watch has its own
(``streaming``). Bodies are bytes here; who asks knows how to decode them. A refused token is read again and the request
repeated once, because a request that was not let in has changed nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from time import perf_counter
from types import TracebackType
from typing import Protocol
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from scheduler_runtime.kube import http2
from scheduler_runtime.kube.credentials import Credentials, CredentialsError
from scheduler_runtime.kube.http.http1 import ConnectionLostError, Endpoint, Pool, Response, connect
from scheduler_runtime.kube.http.request_writer import JSON, Request, RequestWriter
from scheduler_runtime.kube.http.stream import Stream
from scheduler_runtime.kube.http.timeouts import limit
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.rate_limit import RateLimit

logger = logging.getLogger(__name__)

CONNECTIONS = 64
"""As many requests are under way at a time, in either way; further ones wait for one of them to be answered."""
LONGEST_PAUSE = 30.0
"""Whoever asks us to come later is obeyed so far: a proxy that says an hour would keep a whole cluster waiting."""
REQUEST_TIMEOUT = 30.0
ALONE_SECONDS = 300.0
"""So long a server that does not speak HTTP/2 is not asked again whether it does. Another may stand there by then."""
UNLIMITED = RateLimit(-1, 0)
_is_plain = re.compile(r"[\w./-]*", re.ASCII).fullmatch
"""Whether a path can be sent as it is, which nearly all can."""
SAID_AGAIN_SECONDS = 60.0


class ApiError(Exception):
    """The API server answered with a refusal; the message is its own."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class NoResponseError(Exception):
    """There was no answer. ``sent`` tells whether the request may have been carried out."""

    def __init__(self, message: str, *, sent: bool, cause: str = "") -> None:
        super().__init__(message)
        self.sent = sent
        self.cause = cause or message


def retry_after(error: Exception) -> float:
    """After how many seconds to ask again, if whoever refused has said so; otherwise 0."""
    return error.retry_after if isinstance(error, ApiError) else 0.0


class _Status(msgspec.Struct, gc=False):
    """The body of a refusal."""

    reason: str = ""
    message: str = ""


_decode_status = msgspec.json.Decoder(_Status).decode


class HostObserver(Protocol):
    """Told of each request to one host when it has ended."""

    def count(self, code: int, verb: str, numbers: tuple[float, float, float, float] | None = None) -> None:
        """``code`` 0: no answer. ``numbers``: seconds throttled, seconds until the answer, bytes sent and received."""


class RequestObserver(Protocol):
    """Counts requests, for metrics."""

    def for_host(self, host: str) -> HostObserver:
        """The observer of requests to ``host``."""
        ...


class Unobserved:
    """Counts nothing."""

    def for_host(self, host: str) -> Unobserved:
        """The same for every host."""
        return self

    def count(self, code: int, verb: str, numbers: tuple[float, float, float, float] | None = None) -> None:
        """Nothing."""


class Client:
    """Requests to one API server, as one user."""

    def __init__(
        self,
        credentials: Credentials,
        user_agent: str,
        throttle: RateLimit = UNLIMITED,
        requests: RequestObserver | None = None,
        out_of_reach: LogOnce | None = None,
    ) -> None:
        """``requests`` counts what is asked; ``out_of_reach`` says once what other clients of the server meet, too."""
        self.server = credentials.server
        self._credentials = credentials
        self._throttle = throttle
        self._out_of_reach = out_of_reach or LogOnce(logger)
        """Over with the next connection that is opened: those that are open may go on meanwhile."""
        self._not_let_in = LogOnce(logger)
        self._refusing = LogOnce(logger)
        self._behind_since = float("-inf")
        base = urlsplit(credentials.server)
        self._path = base.path.rstrip("/")
        self._requests = (requests or Unobserved()).for_host(base.netloc)
        self._writer = RequestWriter(base.netloc, user_agent)
        is_secure = base.scheme == "https"
        self._place = Endpoint(
            base.hostname or "",
            base.port or (443 if is_secure else 80),
            (credentials.tls or ssl.create_default_context()) if is_secure else None,
            credentials.server_name,
            self._out_of_reach.recovered,
        )
        self._pool = Pool(self._place, CONNECTIONS)
        self._shared: http2.SharedConnection | None = None
        self._alone_until = 0.0
        if is_secure and credentials.http2_tls is not None:
            self._shared = http2.SharedConnection(replace(self._place, tls=credentials.http2_tls), CONNECTIONS)

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
        """Send one request and return the body of its answer. Raises ApiError or NoResponseError.

        ``before_send`` is called when nothing stands between it and the sending any more, again before
        a repetition; what it raises is raised, and nothing is sent. ``seconds`` count from its first call
        and cover a repetition.
        """
        data = msgspec.json.encode(body) if body is not None else b""
        request = Request(method, self._target(path, params), JSON, content_type if data else "", data)
        return await self._ask(path, request, self._send, seconds, before_send)

    async def get(self, path: str, params: Mapping[str, str], accept: str) -> bytes:
        """Return what is at ``path`` as ``accept`` has it, which may be much. Raises ApiError or NoResponseError."""
        request = Request("GET", self._target(path, params), accept)
        return await self._ask(path, request, self._send_alone, REQUEST_TIMEOUT, lambda: None)

    async def _ask(
        self, path: str, request: Request, send: _Send, seconds: float, before_send: Callable[[], None]
    ) -> bytes:
        """Send a request by ``send``, and see what comes of it."""
        asked, method, leaving = perf_counter(), request.method, _SendGuard(before_send, seconds)
        if delay := self._throttle.reserve():
            await asyncio.sleep(delay)
        waited = perf_counter() - asked
        try:
            answer = await self._exchange(request, send, leaving)
        except (ConnectionLostError, TimeoutError, OSError, http2.StreamRefusedError) as error:
            self._requests.count(0, method)
            if isinstance(error, http2.StreamRefusedError):
                raise self._refused(error) from error
            if leaving.at is None:
                raise self._unreachable(error) from error
            cause = _cause(error)
            raise NoResponseError(f"{method} {path}: {cause}", sent=True, cause=cause) from error
        numbers = (waited, leaving.took(), len(request.body), len(answer.body))
        self._requests.count(answer.status, method, numbers)
        self._refusing.recovered()
        if answer.status >= 400:
            raise self._refusal(answer)
        self._not_let_in.recovered()
        return answer.body

    async def _exchange(self, request: Request, send: _Send, leaving: _SendGuard) -> Response:
        answer = await send(request, await self._identity(), leaving)
        if answer.status != 401:
            return answer
        self._credentials.reject_token()
        return await send(request, await self._identity(), leaving)

    async def _send(self, request: Request, identity: Mapping[str, str], leaving: _SendGuard) -> Response:
        """Send it over the connection that is shared, if the server speaks HTTP/2."""
        if self._shared is not None and perf_counter() >= self._alone_until:
            fields = self._writer.http2_headers(request, identity)
            try:
                return await self._shared.request(fields, request.body, leaving)
            except http2.Http2UnsupportedError:
                self._alone_until = perf_counter() + ALONE_SECONDS
                logger.debug("API server %s does not speak HTTP/2", self.server)
        return await self._send_alone(request, identity, leaving)

    async def _send_alone(self, request: Request, identity: Mapping[str, str], leaving: _SendGuard) -> Response:
        """Send it over a connection that nobody else has meanwhile."""
        connection = await self._pool.acquire()
        try:
            async with limit(leaving.left(), waits=lambda: connection.has_sent_all):
                return await connection.request(self._writer.http1_request(request, identity), leaving)
        finally:
            self._pool.release(connection)

    def _target(self, path: str, params: Mapping[str, str] | None) -> str:
        target = self._path + path
        if not _is_plain(target):
            target = quote(target)
        return f"{target}?{urlencode(params)}" if params else target

    def _unreachable(self, error: BaseException) -> NoResponseError:
        text, cause = f"API server {self.server} cannot be reached", _cause(error)
        self._out_of_reach.failing(text, cause)
        return NoResponseError(f"{text}: {cause}", sent=False)

    def _refused(self, error: http2.StreamRefusedError) -> NoResponseError:
        text = f"API server {self.server} takes no requests"
        self._refusing.failing(text, str(error))
        return NoResponseError(f"{text}: {error}", sent=False)

    def report_rollback(self, how: str) -> bool:
        """Log that the API server's data went back in time, once however many watches notice. Return whether it was."""
        now = perf_counter()
        if now - self._behind_since <= SAID_AGAIN_SECONDS:
            return False
        self._behind_since = now
        logger.warning(
            "API server %s has older data than before, such as a backup that was restored (%s): "
            "everything is listed again",
            self.server,
            how,
        )
        return True

    @contextlib.asynccontextmanager
    async def stream(self, path: str, *, params: Mapping[str, str], quiet_seconds: float) -> AsyncIterator[Stream]:
        """Open a watch. Reads raise ConnectionLostError when it breaks; after ``quiet_seconds`` of silence it ends.

        Within the ``with`` that becomes NoResponseError, which opening it raises too, as well as ApiError.
        """
        await self._throttle.wait()
        request = Request("GET", self._target(path, params))
        stream = await self._begun(path, request, quiet_seconds)
        try:
            if stream.status == 401:
                stream.close()
                self._credentials.reject_token()
                stream = await self._begun(path, request, quiet_seconds)
            self._requests.count(stream.status, "GET")
            if stream.status >= 400:
                raise self._refusal(Response(stream.status, await stream.read_all(), stream.retry_after))
            self._not_let_in.recovered()
            yield stream
        except ConnectionLostError as error:
            raise NoResponseError(f"GET {path}: {error}", sent=True, cause=str(error)) from error
        finally:
            stream.close()

    async def _begun(self, path: str, request: Request, quiet_seconds: float) -> Stream:
        identity = await self._identity()
        stream = Stream(quiet_seconds)
        try:
            await connect(self._place, stream)
        except (OSError, TimeoutError) as error:
            raise self._unreachable(error) from error
        try:
            await stream.send_request(self._writer.http1_request(request, identity))
        except ConnectionLostError as error:
            self._requests.count(0, "GET")
            raise NoResponseError(f"GET {path}: {error}", sent=True, cause=str(error)) from error
        except BaseException:
            stream.close()
            raise
        return stream

    async def _identity(self) -> dict[str, str]:
        """Return the headers that say who asks, however long getting them takes."""
        try:
            if self._credentials.is_slow:
                return await asyncio.to_thread(self._credentials.headers)
            return self._credentials.headers()
        except CredentialsError as error:
            self._not_let_in.failing(str(error))
            raise NoResponseError(str(error), sent=False) from error

    def _refusal(self, answer: Response) -> ApiError:
        try:
            said = _decode_status(answer.body)
        except msgspec.MsgspecError:
            said = _Status(message=answer.body[:200].decode(errors="replace").strip())
        if answer.status == 401:
            self._not_let_in.failing(f"API server {self.server} refuses our credentials (401); waiting for new ones")
        else:
            self._not_let_in.recovered()
        return ApiError(answer.status, said.reason, said.message, _seconds(answer.retry_after))


class _SendGuard:
    """Asked right before a request leaves. From the first time on ``seconds`` may pass, repetitions included."""

    __slots__ = ("_allow", "_seconds", "at")

    def __init__(self, allow: Callable[[], None], seconds: float) -> None:
        """``allow`` raises when the request may not leave any more."""
        self._allow = allow
        self._seconds = seconds
        self.at: float | None = None

    def __call__(self) -> None:
        self._allow()
        if self.at is None:
            self.at = perf_counter()

    def took(self) -> float:
        """How many seconds ago it left."""
        return 0.0 if self.at is None else perf_counter() - self.at

    def left(self) -> float:
        """How many seconds remain. Raises TimeoutError when there are none."""
        seconds = self._seconds - self.took()
        if seconds <= 0:
            raise TimeoutError
        return seconds


class _Send(Protocol):
    """A way to send a request. Raises what connections raise; ``leaving`` was not asked if none was reached."""

    async def __call__(self, request: Request, identity: Mapping[str, str], leaving: _SendGuard, /) -> Response: ...


def _seconds(retry_after: str) -> float:
    """After how long to ask again; 0 if that is not said in seconds."""
    return min(float(retry_after), LONGEST_PAUSE) if retry_after.isascii() and retry_after.isdigit() else 0.0


def _cause(error: BaseException) -> str:
    """Name what went wrong without the parts that differ from one try to the next."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.errno and error.errno > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return str(error) or type(error).__name__
