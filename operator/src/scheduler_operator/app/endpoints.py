"""HTTP endpoints of the operator: ``/livez``, ``/readyz`` and, by choice, ``/metrics``; also without leadership."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from scheduler_runtime.metrics import Metric, exposition

CONNECTIONS = 256
"""How many connections are open at a time; one more ends the oldest. Silent ones must not take all files that the
process may open, which are 1,024 in many containers: it could not connect to the API server any more."""


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


@asynccontextmanager
async def serve(
    health: Health, metrics: Callable[[], Iterable[Metric]] | None, address: str, port: int
) -> AsyncIterator[None]:
    """Serve the endpoints until the context ends. They are open to everyone who reaches them, without TLS."""

    async def livez(_: web.Request) -> web.Response:
        return _probe_response(health.not_alive())

    async def readyz(_: web.Request) -> web.Response:
        return _probe_response(health.not_ready, health.remark)

    app = web.Application()
    app.add_routes([web.get("/livez", livez), web.get("/readyz", readyz)])
    if metrics is not None:

        async def metrics_page(_: web.Request) -> web.Response:
            return web.Response(text=exposition(metrics()), headers={"Content-Type": "text/plain; version=0.0.4"})

        app.router.add_get("/metrics", metrics_page)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    create_connection: Callable[[], RequestHandler] = runner.server  # type: ignore[assignment]  # there since setup()
    connections: deque[RequestHandler] = deque()

    def accept() -> RequestHandler:
        connection = create_connection()
        connections.append(connection)
        if len(connections) > CONNECTIONS and (transport := connections.popleft().transport) is not None:
            transport.close()
        return connection

    server = await asyncio.get_running_loop().create_server(accept, address, port, backlog=CONNECTIONS)
    try:
        yield
    finally:
        server.close()
        await runner.cleanup()


def _probe_response(problem: str | None, remark: str = "") -> web.Response:
    ok = f"ok; but {remark}" if remark else "ok"
    return web.Response(text=problem or ok, status=503 if problem else 200)
