"""What kopf asks the API server, overheard. Only there can be seen, and mended, what kopf does not tell.

It repeats a request that failed, with an error in the log for each attempt, and of some failures it dies. When it has
to list a kind again it does so without a word, and what was deleted before that is in no event.
"""

import asyncio
import json
import ssl
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

import aiohttp
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse
from kubernetes.client import Configuration

from scheduler_operator.cluster.credentials import Credentials
from scheduler_operator.kopf_seam.interruption_log import InterruptionLog
from scheduler_operator.kopf_seam.watch_stream import SETTLED_SECONDS, Events, Watch

ANSWER_SECONDS = 15.0
FORBIDDEN_BEFORE_SAID = 3

REPEATED = {HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}
"""Of the answers that blame the request, those after which kopf asks again. It heeds Retry-After."""


class UnusableError(aiohttp.ClientConnectionError):
    """An answer that kopf would die of. To kopf it looks as if nobody had answered, so that it asks again."""


class KopfSession:
    """Lists and watches with the token of the moment. ``listed`` is called whenever a kind was listed."""

    def __init__(
        self, credentials: Credentials, user_agent: str, interruptions: InterruptionLog, listed: Callable[[], None]
    ) -> None:
        self.watched = asyncio.Event()
        self.asked: set[str] = set()
        self._credentials = credentials
        self._user_agent = user_agent
        self._interruptions = interruptions
        self._listed = listed
        self._forbidden: Counter[str] = Counter()
        self._watches: defaultdict[str, Watch] = defaultdict(Watch)
        self._sessions: list[aiohttp.ClientSession] = []

    @property
    def server(self) -> str:
        """The address of the API server."""
        return str(self._credentials.configuration.host)

    def session(self) -> aiohttp.ClientSession:
        """A new session, whose requests pass through here."""
        configuration = self._credentials.configuration
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=_tls(configuration)),
            headers={"User-Agent": self._user_agent},
            proxy=configuration.proxy,
            middlewares=[self._pass],
        )
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        """Close the sessions. kopf does so only when it ends well."""
        for session in self._sessions:
            await session.close()

    async def _pass(self, request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        path = request.url.path
        self.asked.add(path)
        if because := self._watches[path].ends(_now()):
            self._interruptions.begins(_kind(path), because)
        if token := self._credentials.token:
            request.headers["Authorization"] = f"Bearer {token}"
        pass_on = self._watch if "watch" in request.url.query else self._list
        return await pass_on(path, request, send)

    async def _list(self, path: str, request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        async with self._telling(path):
            answer = await send(request)
            if await self._is_good(answer, path):
                await _check_document(answer)
                self._interruptions.ends(path)
                self._listed()
        return answer

    async def _watch(self, path: str, request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        watch = self._watches[path]
        await asyncio.sleep(watch.not_before - _now())
        async with self._telling(_kind(path)):
            answer = await send(request)
            if answer.status == HTTPStatus.GONE:
                answer.status = HTTPStatus.OK  # `Events` understands what it says, kopf would not
            if await self._is_good(answer, _kind(path)):
                answer.content = Events(answer.content, watch)  # type: ignore[assignment]
                watch.began = _now()
                asyncio.get_running_loop().call_later(SETTLED_SECONDS, self._settle, path, watch.began)
                self.watched.set()
        return answer

    def _settle(self, path: str, began: float) -> None:
        if self._watches[path].began == began:
            self._interruptions.ends(_kind(path))

    @asynccontextmanager
    async def _telling(self, stream: str) -> AsyncIterator[None]:
        """Say why there is no answer, or none in time."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                yield
        except UnusableError as error:
            self._interruptions.begins(stream, str(error))
            raise
        except (aiohttp.ClientError, OSError) as error:
            self._interruptions.begins(stream, f"no answer from the API server: {_cause(error)}")
            raise

    async def _is_good(self, answer: ClientResponse, stream: str) -> bool:
        """Whether it is what was asked for. Raises UnusableError when kopf would not ask again."""
        if answer.ok:
            self._forbidden.pop(stream, None)
            return True
        because = await _refusal(answer)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            self._credentials.refused()
        if answer.status not in REPEATED and answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnusableError(because)
        if not self._may_pass(answer.status, stream):
            self._interruptions.begins(stream, because)
        return False

    def _may_pass(self, status: int, stream: str) -> bool:
        """Whether it is early to complain: an API server that starts forbids everything until it knows its roles."""
        if status != HTTPStatus.FORBIDDEN:
            return False
        self._forbidden[stream] += 1
        return self._forbidden[stream] < FORBIDDEN_BEFORE_SAID


def _now() -> float:
    return asyncio.get_running_loop().time()


def _kind(path: str) -> str:
    return path.rpartition("/")[2]


def _cause(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        return str(error.os_error)
    return str(error) or f"none within {ANSWER_SECONDS:g} s"


async def _refusal(answer: ClientResponse) -> str:
    """What the API server says instead of what it was asked for."""
    text = await answer.text(errors="replace")
    try:
        message = json.loads(text)["message"]
    except (ValueError, KeyError, TypeError):
        message = text.strip()[:200]
    return f"{answer.status} {answer.reason}: {message}"


async def _check_document(answer: ClientResponse) -> None:
    """Read the whole answer. Raises UnusableError unless it is a JSON object."""
    try:
        document = await answer.json()
    except (ValueError, aiohttp.ClientPayloadError, aiohttp.ContentTypeError) as error:
        raise UnusableError(f"the answer is not a JSON object; is this an API server? {error}") from error
    if not isinstance(document, dict):
        raise UnusableError("the answer is not a JSON object; is this an API server?")


def _tls(configuration: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context
