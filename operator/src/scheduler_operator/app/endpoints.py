"""HTTP endpoints of the operator: ``/livez``, ``/readyz`` and, by choice, ``/metrics``; also without leadership."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

CONNECTIONS = 256
"""How many connections are open at a time; one more ends the oldest. Silent ones must not take all files that the
process may open, which are 1,024 in many containers: it could not connect to the API server any more."""
BACKLOG = 128
"""Connections that the kernel accepts for us, and that are taken from it at once, before others end for them."""


@dataclass(slots=True)
class Health:
    """Answers of the probes: each a sentence that says what is wrong, or nothing."""

    not_ready: str = "starting"
    remark: str = ""
    """Something that is wrong, although the process works."""
    not_alive: Callable[[], str | None] = lambda: None

    def become_ready(self) -> None:
        """From now on, and to the end, say that the process is ready."""
        self.not_ready = ""

    def wait_for(self, reason: str) -> None:
        """Say what the process waits for, if it is not ready yet."""
        if self.not_ready:
            self.not_ready = reason


class LimitedServer(web.Server):
    """Has ``CONNECTIONS`` connections open at most: one more ends the oldest, also if its client reads nothing."""

    def __init__(self, respond: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        super().__init__(respond, access_log=None)
        self._open: dict[RequestHandler, asyncio.Transport] = {}

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Count a connection."""
        super().connection_made(handler, transport)
        self._open[handler] = transport
        if len(self._open) > CONNECTIONS:
            self._open.pop(next(iter(self._open))).abort()  # close() would wait until the client has read all

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """Forget a connection."""
        super().connection_lost(handler, exc)
        self._open.pop(handler, None)


@asynccontextmanager
async def serve(health: Health, metrics: Callable[[], str] | None, address: str, port: int) -> AsyncIterator[None]:
    """Serve the endpoints until the context ends. They are open to everyone who reaches them, without TLS."""

    async def respond(request: web.BaseRequest) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            raise web.HTTPMethodNotAllowed(request.method, ("GET", "HEAD"))
        if request.path == "/livez":
            return _probe_response(health.not_alive())
        if request.path == "/readyz":
            return _probe_response(health.not_ready, health.remark)
        if request.path == "/metrics" and metrics is not None:
            return web.Response(text=metrics(), headers={"Content-Type": "text/plain; version=0.0.4"})
        raise web.HTTPNotFound

    connections = LimitedServer(respond)
    runner = web.ServerRunner(connections, shutdown_timeout=1.0)
    await runner.setup()
    server = await asyncio.get_running_loop().create_server(connections, address, port, backlog=BACKLOG)
    try:
        yield
    finally:
        server.close()
        await runner.cleanup()


def _probe_response(problem: str | None, remark: str = "") -> web.Response:
    ok = f"ok; but {remark}" if remark else "ok"
    return web.Response(text=problem or ok, status=503 if problem else 200)
