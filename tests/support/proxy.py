"""A proxy between a process and the API server that does to their exchanges what a test asks for."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from devcluster import Cluster
from scheduler_runtime import credentials

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
    disturbed: Counter[str] = field(default_factory=Counter)
    """How often each collection or object was, by the last part of its path."""
    open: dict[int, web.Request] = field(default_factory=dict)
    port: int = 0
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        for rule in list(self.rules):
            answer = await rule(request, self)
            if answer is not None:
                self.disturbed[request.path.rpartition("/")[2]] += 1
                return answer  # type: ignore[no-any-return]
        return await self.forward(request)

    async def forward(self, request: web.Request) -> web.StreamResponse:
        """Pass a request on, and its answer back as it comes."""
        async with self.sent(request) as answer:
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

    async def break_watches_every(self, seconds: float) -> None:
        """Do so again and again, so that every rule about watches has its turn."""
        while True:
            await asyncio.sleep(seconds)
            await self.break_watches()

    @contextlib.asynccontextmanager
    async def sent(self, request: web.Request) -> AsyncIterator[aiohttp.ClientResponse]:
        """The API server's answer to a request, which it has carried out by then."""
        body = await request.read()
        headers = {name: request.headers[name] for name in ("Authorization", "Content-Type") if name in request.headers}
        url = f"{self.server}{request.path_qs}"
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
            await runner.cleanup()


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


def every(number: int, chosen: Callable[[web.Request], bool], act: Act) -> Act:
    """Do ``act`` to each ``number``-th of the requests that are ``chosen``."""
    seen = 0

    async def rule(request: web.Request, proxy: Proxy) -> web.StreamResponse | None:
        nonlocal seen
        if not chosen(request):
            return None
        seen += 1
        answer: web.StreamResponse | None = await act(request, proxy) if seen % number == 0 else None
        return answer

    return rule


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
