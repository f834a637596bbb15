"""A server that answers by a script and remembers what it was asked: for what a real API server does rarely."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.credentials import Credentials
from tests.support.ending import end

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def says(body: Any, status: int = 200) -> Answer:
    """Answer with ``body`` as JSON."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status)

    return answer


def listed(*items: Any) -> Answer:
    """Answer a list, as of version 10."""
    return says({"metadata": {"resourceVersion": "10"}, "items": items})


def watched(*events: tuple[str, Any]) -> Answer:
    """Tell the events, then keep the stream open."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for kind, item in events:
            await response.write(json.dumps({"type": kind, "object": item}).encode() + b"\n")
        await asyncio.sleep(30)
        return response

    return answer


def refuses(status: int, reason: str = "", message: str = "no", **headers: str) -> Answer:
    """Answer as the API server refuses."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"reason": reason, "message": message}, status=status, headers=headers)

    return answer


def granting(answer: Answer) -> Answer:
    """Answer that the caller has any right that it asks for, and everything else as ``answer`` does."""

    async def grants(request: web.Request) -> web.StreamResponse:
        is_review = request.path.endswith("/selfsubjectaccessreviews")
        return web.json_response({"status": {"allowed": True}}, status=201) if is_review else await answer(request)

    return grants


async def resets(request: web.Request) -> web.StreamResponse:
    """Close the connection without an answer."""
    if request.transport:
        request.transport.abort()
    return web.Response()


async def hangs(request: web.Request) -> web.StreamResponse:
    """Never answer."""
    await asyncio.sleep(3600)
    raise AssertionError("unreachable")


@dataclass(frozen=True)
class ReceivedRequest:
    """One request."""

    method: str
    path: str
    body: Any
    content_type: str
    authorization: str


@dataclass
class Script:
    """What the server answers, in order, and then always ``otherwise``."""

    answers: list[Answer] = field(default_factory=list)
    otherwise: Answer = field(default_factory=lambda: says({}))
    received: list[ReceivedRequest] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        self.received.append(
            ReceivedRequest(
                request.method,
                request.path,
                json.loads(text) if text else None,
                request.content_type,
                request.headers.get("Authorization", ""),
            )
        )
        answer = self.answers.pop(0) if self.answers else self.otherwise
        return await answer(request)

    def requests(self, method: str) -> list[ReceivedRequest]:
        return [request for request in self.received if request.method == method]


@contextlib.asynccontextmanager
async def served(script: Script) -> AsyncIterator[str]:
    """Serve ``script``; where it is served."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", script.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.01, handler_cancellation=True, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await end(runner)


@contextlib.asynccontextmanager
async def serving(script: Script, **credentials: Any) -> AsyncIterator[Client]:
    """Serve ``script``, and give a client that speaks to it."""
    async with served(script) as url, Client(Credentials(url, **credentials), "tests") as client:
        yield client
