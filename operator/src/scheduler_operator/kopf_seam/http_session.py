"""HTTP session for kopf that reports, and repairs, failures which kopf hides or ends by.

kopf repeats a failed request with an error in the log for each attempt, and some answers end it (ADR 6). When it
lists a kind again it reports nothing, and what was deleted before that list is in no event: so each list is reported.
"""

import asyncio
import json
import logging
import ssl
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

import aiohttp
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse

from scheduler_operator.cluster.api import CountRequest
from scheduler_operator.cluster.credentials import Credentials
from scheduler_operator.cluster.generated_objects import GeneratedObjects
from scheduler_operator.cluster.json_reading import read_json
from scheduler_operator.cluster.objects import MAX_DEPTH_EXCEEDED
from scheduler_operator.cluster.user_objects import StoredObject, UserObjects
from scheduler_operator.kopf_seam.watch_stream import SETTLED_SECONDS, EventStream, InterruptedStreams, WatchState
from scheduler_operator.resources import kinds
from scheduler_operator.resources.kinds import ResourceKind

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 15.0
REPORTED_FORBIDDEN_ANSWERS = 3

REPEATED = {HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}
"""The client errors after which kopf repeats the request. It respects Retry-After."""


NOT_AN_OBJECT = "the answer is not a JSON object; is this an API server?"


class UnusableError(aiohttp.ClientConnectionError):
    """An answer that would end kopf. kopf sees a connection error instead, and repeats the request."""


_USER_KINDS = (kinds.PROFILE, kinds.PLUGIN_CONFIG)


@dataclass(frozen=True, slots=True)
class ObjectFeed:
    """Takers of what kopf's lists and watches bring."""

    users: UserObjects
    generated: GeneratedObjects
    on_list: Callable[[], None]
    """Called whenever a kind was listed."""
    on_unlistable: Callable[[ResourceKind], None]
    """Called whenever a kind of users' objects could not be listed, because the API server cannot read one of them."""

    def take_list(self, kind: ResourceKind, document: dict[str, Any], is_first: bool) -> dict[str, Any]:
        """Take in a page, and return it with no more of the objects than kopf needs."""
        items = [{"apiVersion": kind.api_version, "kind": kind.name, **item} for item in document["items"]]
        is_last = not document.get("metadata", {}).get("continue")
        if kind not in _USER_KINDS:
            self.generated.put_page(kind, items, is_first, is_last)
            return {**document, "items": [*map(shorten, items)]}
        readable = {item["metadata"]["name"]: stored for item in items if (stored := self._read(kind, item))}
        # What was known of an object stays in use if its new version cannot be taken in.
        known = [self.users.of(kind).get(item["metadata"]["name"]) for item in items]
        kept = [stored for stored in known if stored and stored.name not in readable]
        self.users.put_page(kind, [*readable.values(), *kept], is_first, is_last)
        return {**document, "items": [shorten(item) for item in items if item["metadata"]["name"] in readable]}

    def take_event(self, kind: ResourceKind, event: Mapping[str, Any]) -> bytes:
        """Take in what a line of a watch tells, and return it with no more of the object than kopf needs, if any."""
        raw = event["object"]
        if kind not in _USER_KINDS:
            if event["type"] == "DELETED":
                self.generated.remove(kind, raw["metadata"]["name"], raw["metadata"]["uid"])
            elif not self.generated.put(kind, raw):
                return b""  # such as the renewal of a Lease
        elif event["type"] == "DELETED":
            self.users.remove(kind, raw["metadata"]["name"])
        elif (stored := self._read(kind, raw)) is None or not self.users.put(kind, stored):
            return b""
        return json.dumps({"type": event["type"], "object": shorten(raw)}).encode() + b"\n"

    def _read(self, kind: ResourceKind, raw: Mapping[str, Any]) -> StoredObject | None:
        """Read an object; log what is wrong with it and return nothing if it cannot be read (ADR 27)."""
        try:
            shorten(raw)
            return StoredObject.from_object(raw)
        except Exception:
            name = raw["metadata"]["name"]
            logger.exception(
                "%s %s cannot be taken in; what was known of it stays until its next version", kind.name, name
            )
            return None


def shorten(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's name, version and profile: all that is needed of an object that is kept elsewhere."""
    metadata = {field: raw["metadata"][field] for field in ("name", "uid", "resourceVersion")}
    about = {field: raw["metadata"][field] for field in ("labels", "ownerReferences") if field in raw["metadata"]}
    if raw["kind"] in (kinds.PROFILE.name, kinds.PLUGIN_CONFIG.name):
        about = {}
    return {"apiVersion": raw["apiVersion"], "kind": raw["kind"], "metadata": {**metadata, **about}}


class KopfSession:
    """Sends kopf's lists and watches with the current token, and passes on to ``feed`` what they bring."""

    def __init__(
        self,
        credentials: Credentials,
        user_agent: str,
        interruptions: InterruptedStreams,
        feed: ObjectFeed,
        namespace: str,
        count: CountRequest = lambda *_: None,
    ) -> None:
        self.has_watch = asyncio.Event()
        self.requested_paths: set[str] = set()
        self._credentials = credentials
        self._user_agent = user_agent
        self._interruptions = interruptions
        self._feed = feed
        self._count = count
        self._kinds = {kind.collection(namespace): kind for kind in (*_USER_KINDS, *kinds.WATCHED)}
        """The kind of the objects at each path."""
        self._forbidden: Counter[str] = Counter()
        self._watches: defaultdict[str, WatchState] = defaultdict(WatchState)
        self._sessions: list[aiohttp.ClientSession] = []

    @property
    def server(self) -> str:
        """The address of the API server."""
        return str(self._credentials.configuration.host)

    def open_session(self) -> aiohttp.ClientSession:
        """Open an aiohttp session whose requests pass through here."""
        configuration = self._credentials.configuration
        tls = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
        if not configuration.verify_ssl:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        if configuration.cert_file:
            tls.load_cert_chain(configuration.cert_file, configuration.key_file)
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=tls),
            headers={"User-Agent": self._user_agent},
            proxy=configuration.proxy,
            middlewares=[self._send, self._send_counted],
        )
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        """Close the sessions: kopf does so only when it ends in good order."""
        for session in self._sessions:
            await session.close()

    async def _send(self, request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        """Pass on one request of kopf's: the middleware of the sessions."""
        path = request.url.path
        self.requested_paths.add(path)
        # A new request for a kind means that kopf has left the stream before it.
        if reason := self._watches[path].end(_now()):
            self._interruptions.begin(_plural(path), reason)
        if token := self._credentials.token:
            request.headers["Authorization"] = f"Bearer {token}"
        send_one = self._watch if "watch" in request.url.query else self._list
        return await send_one(path, request, send)

    async def _send_counted(self, request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        """Count one request by the status of its answer: the innermost middleware, which sees all there are."""
        status = 0
        try:
            answer = await send(request)
            status = answer.status
        finally:
            self._count(status, request.method, None)
        return answer

    async def _list(self, path: str, request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        async with self._report_failures(path):
            answer = await send(request)
            if await self._check_status(answer, path):
                try:
                    document = read_json(await answer.read())
                    if not isinstance(document, dict):
                        raise UnusableError(NOT_AN_OBJECT)
                    if (kind := self._kinds.get(path)) is not None:
                        document = self._feed.take_list(kind, document, "continue" not in request.url.query)
                except (ValueError, KeyError, TypeError, aiohttp.ClientPayloadError) as error:
                    raise UnusableError(f"{NOT_AN_OBJECT} {error}") from error
                # Neither larger nor deeper than what kopf needs.
                answer._body = json.dumps(document).encode()
                self._interruptions.end(path)
                self._feed.on_list()
        return answer

    async def _watch(self, path: str, request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        watch, loop = self._watches[path], asyncio.get_running_loop()

        def end_interruption(began_at: float) -> None:
            # Only if that very stream still flows: one that ended at once has ended no interruption.
            if self._watches[path].began_at == began_at:
                self._interruptions.end(_plural(path))

        # A stream that ended at once may do so again: without a pause, requests would follow each other at once.
        await asyncio.sleep(watch.not_before - _now())
        async with self._report_failures(_plural(path)):
            answer = await send(request)
            if answer.status == HTTPStatus.GONE:
                answer.status = HTTPStatus.OK  # EventStream understands the body; the status alone would end kopf
            if await self._check_status(answer, _plural(path)):
                kind = self._kinds.get(path)
                take = partial(self._feed.take_event, kind) if kind else None
                answer.content = EventStream(answer.content, watch, take)  # type: ignore[assignment]
                began_at = watch.begin(_now())
                loop.call_later(SETTLED_SECONDS, end_interruption, began_at)
                self.has_watch.set()
        return answer

    @asynccontextmanager
    async def _report_failures(self, stream: str) -> AsyncIterator[None]:
        """Report why there is no answer, or none in time."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                yield
        except UnusableError as error:
            self._interruptions.begin(stream, str(error))
            raise
        except (aiohttp.ClientError, OSError) as error:
            cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
            reason = str(cause) or f"none within {ANSWER_SECONDS:g} s"
            self._interruptions.begin(stream, f"no answer from the API server: {reason}")
            raise

    async def _check_status(self, answer: ClientResponse, stream: str) -> bool:
        """Return whether the request succeeded. Raises UnusableError when kopf would not repeat it."""
        if answer.ok:
            self._forbidden.pop(stream, None)
            return True
        text = await answer.text(errors="replace")
        try:
            message = json.loads(text)["message"]
        except (ValueError, KeyError, TypeError):
            message = text.strip()[:200]
        kind = self._kinds.get(answer.url.path)
        if MAX_DEPTH_EXCEEDED in str(message) and kind is not None and kind in _USER_KINDS:
            self._feed.on_unlistable(kind)
        reason = f"{answer.status} {answer.reason}: {message}"
        if answer.status == HTTPStatus.UNAUTHORIZED:
            self._credentials.reread_soon()
        if answer.status not in REPEATED and answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnusableError(reason)
        if answer.status == HTTPStatus.FORBIDDEN:
            # An API server that starts forbids everything until it has read its roles: too early to complain.
            self._forbidden[stream] += 1
            if self._forbidden[stream] < REPORTED_FORBIDDEN_ANSWERS:
                return False
        self._interruptions.begin(stream, reason)
        return False


def _now() -> float:
    return asyncio.get_running_loop().time()


def _plural(path: str) -> str:
    return path.rpartition("/")[2]
