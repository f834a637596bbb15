"""HTTP endpoints of the operator: ``/livez``, ``/readyz`` and ``/metrics``, served with and without leadership."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

Metrics = Mapping[str, float]


@dataclass(slots=True)
class Health:
    """Answers of the probes: each a sentence that says what is wrong, or nothing."""

    not_ready: str = "starting"
    not_alive: Callable[[], str | None] = lambda: None


@asynccontextmanager
async def serve(health: Health, metrics: Callable[[], Metrics], address: str, port: int) -> AsyncIterator[None]:
    """Serve the endpoints until the context ends."""

    async def livez(_: web.Request) -> web.Response:
        return _probe_response(health.not_alive())

    async def readyz(_: web.Request) -> web.Response:
        return _probe_response(health.not_ready)

    async def metrics_page(_: web.Request) -> web.Response:
        return web.Response(text=exposition(metrics()), headers={"Content-Type": "text/plain; version=0.0.4"})

    app = web.Application()
    app.add_routes([web.get("/livez", livez), web.get("/readyz", readyz), web.get("/metrics", metrics_page)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, port).start()
        yield
    finally:
        await runner.cleanup()


def _probe_response(problem: str | None) -> web.Response:
    return web.Response(text=problem or "ok", status=503 if problem else 200)


def exposition(metrics: Metrics) -> str:
    """Return ``metrics`` in Prometheus' text format; a name that ends in ``_total`` is a counter, any other a gauge."""
    lines: list[str] = []
    for series, value in metrics.items():
        name = series.partition("{")[0]
        kind = "counter" if name.endswith("_total") else "gauge"
        header = f"# TYPE {name} {kind}"
        if header not in lines:
            lines.append(header)
        lines.append(f"{series} {value:g}")
    return "\n".join(lines) + "\n"
