"""A proxy between a process and the API server that does to their exchanges what a test asks for.

It speaks HTTP/1.1 without TLS, so short requests go through it as they go to any server that does not speak HTTP/2.
What they meet over HTTP/2 is done to them by ``forwarder``, which passes on bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from devcluster import Cluster
from scheduler_runtime.kube import credentials
from tests.support.ending import end

Act = Callable[[web.Request, "Proxy"], Any]
"""Answers a request in the API server's place, or returns None to let it pass."""


@dataclass
class Proxy:
    """What passes through, and how it is disturbed. Without rules nothing is."""

    server: str
    session: aiohttp.ClientSession
    tls: Any
    rules: list[Act] = field(default_factory=list)
    bindings: list[tuple[str, str, int]] = field(default_factory=list)
    """Pod, node and the API server's answer, for each binding that reached it."""
    arrivals: list[float] = field(default_factory=list)
    """When each binding came, whatever became of it, on the monotonic clock that all processes of a machine share."""
    disturbed: Counter[str] = field(default_factory=Counter)
    """How often each collection or object was, by the last part of its path."""
    open: dict[int, web.Request] = field(default_factory=dict)
    port: int = 0
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if is_binding(request):
            self.arrivals.append(time.monotonic())
        for rule in list(self.rules):
            answer = await rule(request, self)
            if answer is not None:
                self.disturbed[request.path.rpartition("/")[2]] += 1
                return answer  # type: ignore[no-any-return]
        return await self.forward(request)

    async def forward(self, request: web.Request, path: str = "") -> web.StreamResponse:
        """Pass a request on, as if it had been for ``path`` if there is one, and its answer back as it comes."""
        async with self.sent(request, path) as answer:
            back = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
            await back.prepare(request)
            async for chunk in answer.content.iter_any():
                await back.write(chunk)
            return back

    async def break_watches(self) -> None:
        """Close the connections of all watches that pass through now."""
        for request in list(self.open.values()):
            if is_watch(request):
                _abort(request)

    def disturb(self, *rules: Act) -> None:
        """Have ``rules`` from now on, and watches asked for anew. For tests outside the event loop."""

        async def begin() -> None:
            self.rules[:] = rules
            self.disturbed.clear()
            await self.break_watches()

        asyncio.run_coroutine_threadsafe(begin(), self.loop).result(10)

    def calm(self) -> None:
        """Let everything pass from now on."""
        self.rules.clear()

    @contextlib.asynccontextmanager
    async def disturbing(self, *rules: Act) -> AsyncIterator[None]:
        """Have ``rules``, and watches asked for anew, for the length of an ``async with``."""
        self.rules[:] = rules
        await self.break_watches()
        try:
            yield
        finally:
            self.calm()

    async def break_watches_every(self, seconds: float) -> None:
        """Do so again and again, so that every rule about watches has its turn.

        More and more rarely: on a slow machine, a list between two breaks may take longer than ``seconds``.
        """
        while True:
            await self.break_watches()
            await asyncio.sleep(seconds)
            seconds *= 1.5

    @contextlib.asynccontextmanager
    async def sent(self, request: web.Request, path: str = "") -> AsyncIterator[aiohttp.ClientResponse]:
        """The API server's answer to a request, which it has carried out by then."""
        body = await request.read()
        headers = {name: request.headers[name] for name in ("Authorization", "Content-Type") if name in request.headers}
        url = f"{self.server}{path or request.path_qs}"
        async with self.session.request(
            request.method, url, data=body or None, headers=headers, ssl=self.tls
        ) as answer:
            if request.path.endswith("/binding"):
                binding = json.loads(body)
                self.bindings.append((binding["metadata"]["name"], binding["target"]["name"], answer.status))
            self.open[id(request)] = request
            try:
                yield answer
            finally:
                del self.open[id(request)]


@contextlib.asynccontextmanager
async def proxied(cluster: Cluster, directory: Path, user: dict[str, Any] | None = None) -> AsyncIterator[Proxy]:
    """A proxy in front of ``cluster``; the kubeconfig in ``directory`` leads through it."""
    admin = credentials.load(str(cluster.kubeconfig))
    timeout = aiohttp.ClientTimeout(total=None)
    plain = {"Accept-Encoding": "identity"}  # what passes through is passed on as it is
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(timeout=timeout, headers=plain, connector=connector) as session:
        proxy = Proxy(cluster.server, session, admin.tls)
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", proxy.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            proxy.port = runner.addresses[0][1]
            write_kubeconfig(directory, proxy.url, user or {"token": cluster.token})
            yield proxy
        finally:
            await end(runner)


@contextlib.contextmanager
def proxied_in_a_thread(cluster: Cluster, directory: Path) -> Iterator[Proxy]:
    """The same for tests that are no coroutines."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="proxy")
    thread.start()
    context = proxied(cluster, directory)

    async def end() -> None:
        await context.__aexit__(None, None, None)
        await asyncio.sleep(0.25)  # TLS says goodbye

    try:
        yield asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result(10)
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def write_kubeconfig(directory: Path, url: str, user: dict[str, Any]) -> None:
    document = {
        "current-context": "proxy",
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "user"}}],
        "clusters": [{"name": "proxy", "cluster": {"server": url}}],
        "users": [{"name": "user", "user": user}],
    }
    (directory / "kubeconfig").write_text(yaml.safe_dump(document))


# What can be done to an exchange


def is_watch(request: web.Request, kind: str = "") -> bool:
    return request.query.get("watch") in ("1", "true") and (not kind or request.path.endswith(f"/{kind}"))


def is_binding(request: web.Request) -> bool:
    return request.path.endswith("/binding")


def is_lease(request: web.Request) -> bool:
    return "/leases/" in request.path or request.path.endswith("/leases")


def is_list(request: web.Request, *kinds: str) -> bool:
    """Whether a request is for a list, or for a page of one."""
    return request.method == "GET" and not is_watch(request) and request.path.rpartition("/")[2] in kinds


def every(number: int, is_affected: Callable[[web.Request], bool], act: Act) -> Act:
    """Do ``act`` to each ``number``-th of the requests that are affected."""
    count = 0

    async def rule(request: web.Request, proxy: Proxy) -> web.StreamResponse | None:
        nonlocal count
        if not is_affected(request):
            return None
        count += 1
        answer: web.StreamResponse | None = await act(request, proxy) if count % number == 0 else None
        return answer

    return rule


def every_other_watch(act: Act) -> Act:
    """Do ``act`` to each second watch of every kind, so that none meets it twice in a row."""
    of_kind: defaultdict[str, Act] = defaultdict(lambda: every(2, is_watch, act))

    async def rule(request: web.Request, proxy: Proxy) -> web.StreamResponse | None:
        answer: web.StreamResponse | None = await of_kind[request.path](request, proxy)
        return answer

    return rule


def at(number: int, is_affected: Callable[[web.Request], bool], happen: Callable[[], object]) -> Act:
    """Have something happen when the ``number``-th of the affected requests comes. All of them pass."""
    count = 0

    async def rule(request: web.Request, proxy: Proxy) -> None:
        nonlocal count
        if is_affected(request):
            count += 1
            if count == number:
                happen()

    return rule


def but(passing: Callable[[web.Request], bool], act: Act) -> Act:
    """Do ``act`` to every request but those that are let pass."""
    return every(1, lambda request: not passing(request), act)


def slowed(seconds: float) -> Act:
    """Let a request pass after so long. Nobody waits for it when who asked has gone away."""

    async def act(request: web.Request, proxy: Proxy) -> None:
        await asyncio.sleep(seconds)

    return act


async def hold(request: web.Request, proxy: Proxy) -> None:
    """Keep a request, and let it pass when nothing is to be disturbed any more."""
    while proxy.rules:  # noqa: ASYNC110  the rules are a list, which nobody can wait for
        await asyncio.sleep(0.05)


async def never(request: web.Request, proxy: Proxy) -> web.StreamResponse:
    """Take a request and say nothing until who asked goes away."""
    await asyncio.Event().wait()
    raise AssertionError


def paged(limit: int) -> Act:
    """Let a list pass in pages of at most so many objects."""

    async def act(request: web.Request, proxy: Proxy) -> web.StreamResponse:
        return await proxy.forward(request, str(request.rel_url.update_query(limit=limit)))

    return act


def refuse(status: int, reason: str = "", **headers: str) -> Act:
    async def act(request: web.Request, proxy: Proxy) -> web.StreamResponse:
        body = {"kind": "Status", "code": status, "reason": reason, "message": f"{status} by the test"}
        return web.json_response(body, status=status, headers=headers)

    return act


async def reset(request: web.Request, proxy: Proxy) -> web.StreamResponse:
    """Close the connection; the API server never hears of the request."""
    return _abort(request)


async def carry_out_and_reset(request: web.Request, proxy: Proxy) -> web.StreamResponse:
    """Let the API server do it, and close the connection instead of telling."""
    async with proxy.sent(request) as answer:
        await answer.read()
    return _abort(request)


async def carry_out_and_cut(request: web.Request, proxy: Proxy) -> web.StreamResponse:
    """Let the API server do it, and close the connection before the last byte of its answer."""
    async with proxy.sent(request) as answer:
        back = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
        await back.prepare(request)
        await back.write((await answer.read())[:-1])
    return _abort(request)


def carry_out_and_say(status: int) -> Act:
    """Let the API server do it, and tell that it failed."""

    async def act(request: web.Request, proxy: Proxy) -> web.StreamResponse:
        async with proxy.sent(request) as answer:
            await answer.read()
        failed: web.StreamResponse = await refuse(status)(request, proxy)
        return failed

    return act


def cut_after(lines: int, more: int = 60) -> Act:
    """Cut a watch ``more`` bytes into the line after so many lines."""

    async def act(request: web.Request, proxy: Proxy) -> web.StreamResponse:
        async with _followed(request, proxy, lines) as (answer, back):
            await back.write((await answer.content.readline())[:more])
            await asyncio.sleep(0.01)
        return _abort(request)

    return act


def garble_after(lines: int, garbage: bytes) -> Act:
    """Follow a watch for so many lines, then say ``garbage`` and end the stream in good order."""

    async def act(request: web.Request, proxy: Proxy) -> web.StreamResponse:
        async with _followed(request, proxy, lines) as (_, back):
            await back.write(garbage)
        return back

    return act


def reorder(order: Callable[[list[bytes]], list[bytes]]) -> Act:
    """Pass on a watch, what happens within a moment in another ``order``, which may have some lines twice."""

    async def act(request: web.Request, proxy: Proxy) -> web.StreamResponse:
        async with _followed(request, proxy, 0) as (answer, back):
            rest = b""
            while chunk := await answer.content.readany():
                await asyncio.sleep(0.2)
                *lines, rest = (rest + chunk + answer.content.read_nowait()).split(b"\n")
                await back.write(b"".join(line + b"\n" for line in order(lines)))
        return back

    return act


@contextlib.asynccontextmanager
async def _followed(
    request: web.Request, proxy: Proxy, lines: int
) -> AsyncIterator[tuple[aiohttp.ClientResponse, web.StreamResponse]]:
    """A watch of which so many lines are passed on: the API server's answer and the one that the client gets."""
    async with proxy.sent(request) as answer:
        back = web.StreamResponse(status=answer.status)
        await back.prepare(request)
        for _ in range(lines):
            await back.write(await answer.content.readline())
        yield answer, back


def _abort(request: web.Request) -> web.StreamResponse:
    if request.transport:
        request.transport.abort()
    return web.Response()
