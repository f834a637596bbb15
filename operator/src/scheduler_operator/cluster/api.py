"""Client of the API server: JSON in, JSON out, one exception for every failure."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from kubernetes.client import ApiClient, ApiException

from scheduler_operator.cluster.credentials import Credentials
from scheduler_operator.cluster.json_reading import read_json

TIMEOUT_SECONDS = 15.0
CONNECTIONS = 16

APPLY = "application/apply-patch+yaml"
JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""Accepted instead of JSON: an object without anything but its metadata."""

RequestNumbers = tuple[float, float, float, float]
"""The seconds that a request waited for its turn, those until its answer, and the sizes of both."""
CountRequest = Callable[[int, str, RequestNumbers | None], None]
"""Counts a request by the status of its answer, 0 without an answer, and its method. Called from any thread."""

PHRASES = {status.value: status.phrase for status in HTTPStatus}


class RequestError(Exception):
    """A request failed. ``status`` is the HTTP status, or 0 when there was no answer at all."""

    def __init__(self, request: str, status: int, reason: str, message: str) -> None:
        super().__init__(f"{request}: {message}" if status == 0 else f"{request}: {status} {reason}: {message}")
        self.request = request
        self.status = status
        self.reason = reason
        self.message = message

    @property
    def target(self) -> str:
        """The object of the request, as kubectl names it: ``clusterroles/berth-x``."""
        path = self.request.partition(" ")[2].partition("?")[0]
        return "/".join(path.rsplit("/", 2)[-2:])

    @property
    def is_missing(self) -> bool:
        """True if there is no such object."""
        return self.status == HTTPStatus.NOT_FOUND


class ApiConnection:
    """One connection pool to the API server. Requests block a thread each, not the event loop."""

    def __init__(self, credentials: Credentials, user_agent: str, count: CountRequest = lambda *_: None) -> None:
        credentials.configuration.connection_pool_maxsize = CONNECTIONS
        credentials.configuration.retries = 0  # the work queue decides when to try again
        self._credentials = credentials
        self._client = ApiClient(credentials.configuration)
        self._user_agent = user_agent
        self._count = count
        self._threads = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="api")

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Any:
        """Send a request and return the object in the answer.

        Raises RequestError for every answer that is not a success or not JSON, and when there is no answer.
        """
        types = (accept, content_type)
        return (await self.request_with_status(method, path, body, query=query, types=types))[1]

    async def request_with_status(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        types: tuple[str, str],
    ) -> tuple[int, Any]:
        """Send a request and return the status and the object of the answer. Raises RequestError as ``request``.

        ``types`` are those of the answer that is accepted, and of the body.
        """
        target = f"{quote(path)}?{urlencode(query)}" if query else quote(path)
        loop = asyncio.get_running_loop()
        asked_at = time.monotonic()
        return await loop.run_in_executor(
            self._threads, self._send_with_fresh_token, method, target, body, types, asked_at
        )

    def _send_with_fresh_token(
        self, method: str, target: str, body: Any, types: tuple[str, str], asked_at: float
    ) -> tuple[int, Any]:
        status, answer = self._send(method, target, body, types, asked_at)
        if status == HTTPStatus.UNAUTHORIZED:
            self._credentials.reread_soon()
            status, answer = self._send(method, target, body, types, time.monotonic())
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            refusal = answer if isinstance(answer, dict) else {}
            reason = refusal.get("reason") or PHRASES.get(status, "Unknown")
            raise RequestError(f"{method} {target}", status, reason, refusal.get("message") or str(answer))
        if not isinstance(answer, dict):
            message = f"the answer is not a JSON object; is this an API server? It begins: {str(answer)[:100]!r}"
            raise RequestError(f"{method} {target}", status, PHRASES.get(status, "Unknown"), message)
        return status, answer

    def _send(self, method: str, target: str, body: Any, types: tuple[str, str], asked_at: float) -> tuple[int, Any]:
        """``types`` are those of the answer that is accepted, and of the body."""
        configuration = self._credentials.configuration
        accept, content_type = types
        headers = {"Accept": accept, "User-Agent": self._user_agent}
        if authorization := configuration.get_api_key_with_prefix("BearerToken"):
            headers["Authorization"] = authorization
        if body is not None:
            headers["Content-Type"] = content_type
        sent_at = time.monotonic()
        try:
            response = self._client.call_api(
                method, configuration.host + target, headers, body, _request_timeout=TIMEOUT_SECONDS
            )
            payload: bytes = response.read()  # type: ignore[no-untyped-call]
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as error:
            self._count(0, method, None)
            cause = getattr(error, "reason", None) or error
            raise RequestError(f"{method} {target}", 0, "", f"no answer from the API server: {cause}") from error
        sizes = 0 if body is None else len(json.dumps(body)), len(payload)
        self._count(response.status, method, (sent_at - asked_at, time.monotonic() - sent_at, *sizes))
        try:
            return response.status, read_json(payload)
        except ValueError:
            return response.status, payload.decode(errors="replace").strip()

    async def finish(self) -> None:
        """Wait until every request has its answer, including those whose caller was cancelled."""
        await asyncio.to_thread(self._threads.shutdown)
        self._client.rest_client.close()
