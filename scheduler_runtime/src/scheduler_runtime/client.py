"""The API server over HTTP: typed failures, no models.

Requests with an answer in one piece share connections (see ``connections``), each watch has its own (``streaming``).
Bodies are bytes here; who asks knows how to decode them. A refused token is read again and the
request repeated once, because a request that was not let in has changed nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from time import perf_counter
from types import TracebackType
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from scheduler_runtime.connections import Answer, Connection, LostError, Place, Pool, connect
from scheduler_runtime.credentials import Credentials, CredentialsError
from scheduler_runtime.metrics import Requests
from scheduler_runtime.streaming import Stream
from scheduler_runtime.throttle import Throttle
from scheduler_runtime.trouble import Trouble

logger = logging.getLogger(__name__)

JSON = "application/json"
CONNECTIONS = 64
"""As many requests are under way at a time; further ones wait for one of them to be answered."""
REQUEST_TIMEOUT = 30.0
UNLIMITED = Throttle(-1, 0)
SAID_AGAIN_SECONDS = 60.0

T = TypeVar("T")
Parts = tuple[bytes, Mapping[str, str], bytes]
"""A request: its beginning, the headers that say who asks, and its body."""


class ApiError(Exception):
    """The API server answered with a refusal; the message is its own."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class NoAnswerError(Exception):
    """There was no answer. ``sent`` tells whether the request may have been carried out."""

    def __init__(self, message: str, *, sent: bool, cause: str = "") -> None:
        super().__init__(message)
        self.sent = sent
        self.cause = cause or message


class _Status(msgspec.Struct, gc=False):
    """The body of a refusal."""

    reason: str = ""
    message: str = ""


_decode_status = msgspec.json.Decoder(_Status).decode


class Client:
    """Requests to one API server, as one user."""

    def __init__(
        self,
        credentials: Credentials,
        user_agent: str,
        throttle: Throttle = UNLIMITED,
        requests: Requests | None = None,
    ) -> None:
        """``requests`` counts what is asked."""
        self.server = credentials.server
        self._credentials = credentials
        self._throttle = throttle
        self._trouble = Trouble(logger)
        self._behind_since = float("-inf")
        base = urlsplit(credentials.server)
        self._path = base.path.rstrip("/")
        self._requests = (requests or Requests()).to(base.netloc)
        self._headers = f"Host: {base.netloc}\r\nUser-Agent: {user_agent}\r\nAccept-Encoding: identity\r\n"
        self._place = Place(
            base.hostname or "",
            base.port or (443 if base.scheme == "https" else 80),
            (credentials.tls or ssl.create_default_context()) if base.scheme == "https" else None,
            credentials.server_name,
        )
        self._pool = Pool(self._place, CONNECTIONS)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.close()

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
        """Send one request and return the body of its answer. Raises ApiError or NoAnswerError.

        ``before_send`` is called when nothing stands between it and the sending any more, again before
        a repetition; what it raises is raised, and nothing is sent. ``seconds`` count from its first call
        and cover a repetition.
        """
        data = msgspec.json.encode(body) if body is not None else b""
        head = self._head(method, path, params, (JSON, content_type if data else ""), len(data))
        return await self._ask((method, path), head, data, seconds, before_send)

    async def get(self, path: str, params: Mapping[str, str], accept: str) -> bytes:
        """Return what is at ``path`` as ``accept`` has it. Raises ApiError or NoAnswerError."""
        head = self._head("GET", path, params, (accept, ""), 0)
        return await self._ask(("GET", path), head, b"", REQUEST_TIMEOUT, lambda: None)

    async def _ask(
        self, what: tuple[str, str], head: bytes, data: bytes, seconds: float, before_send: Callable[[], None]
    ) -> bytes:
        """Send a request of which ``what`` are the method and the path."""
        asked, (method, path) = perf_counter(), what
        await self._throttle.wait()
        identity = await self._identity()
        connection = await self._reached(self._pool.take())
        sent = perf_counter()
        try:
            answer = await self._exchange(connection, (head, identity, data), seconds, before_send)
        except (LostError, TimeoutError, ssl.SSLError, OSError) as error:
            cause = _cause(error)
            self._requests.ended(0, method)
            raise NoAnswerError(f"{method} {path}: {cause}", sent=True, cause=cause) from error
        finally:
            self._pool.give(connection)
        numbers = (sent - asked, perf_counter() - sent, len(data), len(answer.body))
        self._requests.ended(answer.status, method, numbers)
        if answer.status >= 400:
            raise self._refusal(answer)
        self._trouble.ends()
        return answer.body

    def _head(
        self, method: str, path: str, params: Mapping[str, str] | None, types: tuple[str, str], length: int
    ) -> bytes:
        """A request up to the headers that say who asks; ``types`` are of the answer and of what is sent."""
        target = quote(self._path + path)
        if params:
            target += f"?{urlencode(params)}"
        accept, content_type = types
        typed = f"Accept: {accept}\r\n" + (f"Content-Type: {content_type}\r\n" if content_type else "")
        return f"{method} {target} HTTP/1.1\r\n{self._headers}{typed}Content-Length: {length}\r\n".encode()

    async def _reached(self, connecting: Awaitable[T]) -> T:
        try:
            return await connecting
        except (OSError, TimeoutError) as error:
            text, cause = f"API server {self.server} cannot be reached", _cause(error)
            self._trouble.begins(text, cause)
            raise NoAnswerError(f"{text}: {cause}", sent=False) from error

    async def _exchange(
        self, connection: Connection, parts: Parts, seconds: float, before_send: Callable[[], None]
    ) -> Answer:
        head, identity, data = parts
        before_send()
        async with asyncio.timeout(seconds):
            answer = await connection.exchange(_request(head, identity, data))
            if answer.status != 401:
                return answer
            self._credentials.refused()
            if not connection.is_open:
                return answer
            identity = await self._identity()
            before_send()
            return await connection.exchange(_request(head, identity, data))

    def fell_behind(self, how: str) -> None:
        """Say that the API server has forgotten what it had shown: once, however many find out at about that time."""
        now = perf_counter()
        if now - self._behind_since > SAID_AGAIN_SECONDS:
            self._behind_since = now
            logger.warning(
                "API server %s has older data than before, such as a backup that was restored (%s): "
                "everything is listed again",
                self.server,
                how,
            )

    @contextlib.asynccontextmanager
    async def stream(self, path: str, *, params: Mapping[str, str], quiet_seconds: float) -> AsyncIterator[Stream]:
        """Open a watch. Reading from it raises LostError when it breaks; after ``quiet_seconds`` of silence it ends.

        Within the ``with`` that becomes NoAnswerError, which opening it raises too, as well as ApiError.
        """
        await self._throttle.wait()
        head = self._head("GET", path, params, (JSON, ""), 0)
        stream = await self._begun(path, head, quiet_seconds)
        try:
            if stream.status == 401:
                stream.close()
                self._credentials.refused()
                stream = await self._begun(path, head, quiet_seconds)
            self._requests.ended(stream.status, "GET")
            if stream.status >= 400:
                raise self._refusal(Answer(stream.status, await stream.rest(), stream.retry_after))
            self._trouble.ends()
            yield stream
        except LostError as error:
            raise NoAnswerError(f"GET {path}: {error}", sent=True, cause=str(error)) from error
        finally:
            stream.close()

    async def _begun(self, path: str, head: bytes, quiet_seconds: float) -> Stream:
        identity = await self._identity()
        stream = Stream(quiet_seconds)
        try:
            await self._reached(connect(self._place, stream))
            await stream.begin(_request(head, identity, b""))
        except LostError as error:
            self._requests.ended(0, "GET")
            raise NoAnswerError(f"GET {path}: {error}", sent=True, cause=str(error)) from error
        except BaseException:
            stream.close()
            raise
        return stream

    async def _identity(self) -> dict[str, str]:
        """Return the headers that say who asks, however long getting them takes."""
        try:
            if self._credentials.slow:
                return await asyncio.to_thread(self._credentials.headers)
            return self._credentials.headers()
        except CredentialsError as error:
            self._trouble.begins(str(error))
            raise NoAnswerError(str(error), sent=False) from error

    def _refusal(self, answer: Answer) -> ApiError:
        try:
            said = _decode_status(answer.body)
        except msgspec.MsgspecError:
            said = _Status(message=answer.body[:200].decode(errors="replace").strip())
        try:
            retry_after = float(answer.retry_after or 0)
        except ValueError:
            retry_after = 0.0
        if answer.status == 401:
            self._trouble.begins(f"API server {self.server} refuses our credentials (401); waiting for new ones")
        else:
            self._trouble.ends()
        return ApiError(answer.status, said.reason, said.message, retry_after)


def _request(head: bytes, identity: Mapping[str, str], data: bytes) -> bytes:
    who = "".join(f"{name}: {value}\r\n" for name, value in identity.items())
    return b"%b%b\r\n%b" % (head, who.encode(), data)


def _cause(error: BaseException) -> str:
    """Name what went wrong without the parts that differ from one try to the next."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.errno and error.errno > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return str(error) or type(error).__name__
