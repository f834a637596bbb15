"""An API server of one kind that says what a test has written down, and what a reflector made of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.credentials import Credentials
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.kube.watch import Change, Kind, Reflector
from scheduler_runtime.state.objects import Node
from scheduler_runtime.state.objects.kinds import NODES
from tests.support.ending import end

Play = Callable[[web.StreamResponse], Awaitable[None]]
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def node(name: str, version: int, uid: str = "", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version), "labels": labels}
    return {"kind": "Node", "metadata": metadata}


def listed(version: int, *items: dict[str, Any], more: str = "") -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"metadata": {"resourceVersion": str(version), "continue": more}, "items": items})

    return answer


def refused(status: int, reason: str = "", **headers: str) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"reason": reason, "message": "no"}, status=status, headers=headers)

    return answer


def line(type_: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": type_, "object": item}).encode() + b"\n"


def streamed(*parts: bytes, hold: bool = False, reset: bool = False) -> Answer:
    """Send ``parts``, then end the stream in good order, hold it open, or reset the connection."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in parts:
            await response.write(part)
            await asyncio.sleep(0.01)
        if hold:
            await asyncio.sleep(30)
        if reset and request.transport:
            request.transport.abort()
        return response

    return answer


@dataclass
class WatchScript:
    """What the server answers, in order; when the script is over it holds every watch open."""

    answers: list[Answer] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    """The form in which each answer was wanted."""
    version: int = 10**9
    """How far the server is, for who asks that before a watch is resumed."""
    version_requests: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("limit") == "1":
            self.version_requests.append(dict(request.query))
            return await listed(self.version)(request)
        self.requests.append(dict(request.query))
        self.accepted.append(request.headers["Accept"])
        answer = self.answers.pop(0) if self.answers else streamed(hold=True)
        return await answer(request)


@dataclass
class Watched:
    script: WatchScript
    client: Client
    reflector: Reflector[Node]
    changes: list[tuple[str, str]]
    copy: dict[str, int]
    """What a consumer that believes every change would hold."""

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110  the condition is about many things, an event is about one
                await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def serving(script: WatchScript) -> AsyncIterator[Client]:
    app = web.Application()
    app.router.add_get("/api/v1/nodes", script.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.01)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        async with Client(Credentials(f"http://{host}:{port}"), "test") as client:
            yield client
    finally:
        await end(runner)


@contextlib.asynccontextmanager
async def watching(
    *answers: Answer, script: WatchScript | None = None, kind: Kind[Node] = NODES, fails_for: Collection[str] = ()
) -> AsyncIterator[Watched]:
    """The sink raises for objects in the versions ``fails_for``."""
    script = script or WatchScript(list(answers))
    async with serving(script) as client:
        changes: list[tuple[str, str]] = []
        copy: dict[str, int] = {}

        def sink(change: Change[Node]) -> None:
            old, new = change.old, change.new
            if new is not None and new.metadata.resource_version in fails_for:
                raise ZeroDivisionError("so many")
            if old is not None and old.metadata.resource_version not in fails_for:
                assert copy.pop(old.metadata.uid) == int(old.metadata.resource_version)
            if new is not None:
                assert new.metadata.uid not in copy
                copy[new.metadata.uid] = int(new.metadata.resource_version)
            verb = "added" if old is None else "deleted" if new is None else "changed"
            changes.append((verb, (new or old).name))  # type: ignore[union-attr]

        reflector = Reflector(kind, client, sink, Backoff(0.01, 0.05))
        run = asyncio.create_task(reflector.run())
        yield Watched(script, client, reflector, changes, copy)
        if run.done():
            run.result()
        run.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await run


def levels(caplog: pytest.LogCaptureFixture, word: str) -> list[str]:
    return [record.levelname for record in caplog.records if word in record.getMessage()]
