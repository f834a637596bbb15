"""``/livez``, ``/readyz`` and ``/metrics``: answered before, without and with leadership."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

Metrics = Mapping[str, float]


@dataclass(slots=True)
class Health:
    """What the probes answer. An empty sentence means that nothing is wrong."""

    not_ready: str = "starting"
    not_alive: Callable[[], str | None] = lambda: None


@asynccontextmanager
async def serving(health: Health, metrics: Callable[[], Metrics], address: str, port: int) -> AsyncIterator[None]:
    """Serve until the context ends."""

    async def livez(_: web.Request) -> web.Response:
        return _answer(health.not_alive())

    async def readyz(_: web.Request) -> web.Response:
        return _answer(health.not_ready)

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


def _answer(wrong: str | None) -> web.Response:
    return web.Response(text=wrong or "ok", status=503 if wrong else 200)


def exposition(metrics: Metrics) -> str:
    """Prometheus' text format; a name that ends in ``_total`` is a counter, any other a gauge."""
    lines: list[str] = []
    for series, value in metrics.items():
        name = series.partition("{")[0]
        kind = "counter" if name.endswith("_total") else "gauge"
        header = f"# TYPE {name} {kind}"
        if header not in lines:
            lines.append(header)
        lines.append(f"{series} {value:g}")
    return "\n".join(lines) + "\n"
