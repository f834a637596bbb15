"""The API server for the node: five verbs over JSON, one kind of error."""

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from devcluster.node.decoding import decode

Object = dict[str, Any]

MERGE = "application/merge-patch+json"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"

_CALL_SECONDS = 30


class ApiError(Exception):
    """The API server refused a request, or could not be reached (then ``status`` is 0)."""

    def __init__(self, status: int, message: str, retry_after: float = 0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after

    @property
    def is_final(self) -> bool:
        """The object does not exist, or another one has its name by now: trying again cannot help."""
        return self.status in (404, 409, 422)


class NodeApi:
    """A client that authenticates with whatever token the token file holds at the moment."""

    def __init__(self, server: str, ca_file: Path | None, token_file: Path) -> None:
        self._server = server.rstrip("/")
        self._token_file = token_file
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ca_file), limit=0)
        self._session = aiohttp.ClientSession(connector=connector, headers={"User-Agent": "devcluster-node"})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def get(self, path: str, **query: str) -> Object:
        return await self._call("GET", path, query=query)

    async def post(self, path: str, body: Object) -> Object:
        return await self._call("POST", path, body=body)

    async def put(self, path: str, body: Object) -> Object:
        return await self._call("PUT", path, body=body)

    async def patch(self, path: str, body: Object, form: str = STRATEGIC_MERGE) -> Object:
        return await self._call("PATCH", path, body=body, form=form)

    async def delete(self, path: str, options: Object) -> Object:
        return await self._call("DELETE", path, body=options)

    async def _call(
        self,
        verb: str,
        path: str,
        *,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
        form: str = "",
    ) -> Object:
        limit = aiohttp.ClientTimeout(total=_CALL_SECONDS)
        async with self._request(verb, path, body=body, query=query, form=form, limit=limit) as response:
            text = await response.read()
            try:
                return decode(text, f"{verb} {path}")
            except ValueError as error:
                raise ApiError(0, f"{verb} {path}: the answer is not JSON: {text[:80]!r}") from error

    @asynccontextmanager
    async def stream(self, path: str, idle_seconds: float, **query: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of an endless response. Raises ApiError when none arrives for ``idle_seconds``."""
        limit = aiohttp.ClientTimeout(total=None, sock_connect=_CALL_SECONDS, sock_read=idle_seconds)
        async with self._request("GET", path, query=query, limit=limit) as response:

            async def lines() -> AsyncIterator[bytes]:
                rest = b""
                async for chunk in response.content.iter_any():
                    *complete, rest = (rest + chunk).split(b"\n")
                    for line in complete:
                        yield line
                if rest:
                    raise ApiError(0, f"the answer to {response.url.path} was cut in the middle of a line")

            yield lines()

    @asynccontextmanager
    async def _request(
        self,
        verb: str,
        path: str,
        *,
        limit: aiohttp.ClientTimeout,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
        form: str = "",
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        data = None if body is None else json.dumps(body).encode()
        try:
            headers = {
                "Authorization": f"Bearer {self._token_file.read_text().strip()}",
                "Content-Type": form or "application/json",
            }
            async with self._session.request(
                verb, self._server + path, params=query, data=data, headers=headers, timeout=limit
            ) as response:
                if response.status >= 400:
                    raise await _refusal(response)
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiError(0, f"{verb} {path}: {str(error) or type(error).__name__}") from error


async def _refusal(response: aiohttp.ClientResponse) -> ApiError:
    text = await response.text(errors="replace")
    try:
        message = json.loads(text)["message"]
    except (ValueError, KeyError, TypeError):  # not from the API server itself
        message = text[:200].strip() or response.reason
    wait = response.headers.get("Retry-After", "")
    what = f"{response.method} {response.url.path}: {response.status} {message}"
    return ApiError(response.status, what, float(wait) if wait.isdecimal() else 0)
