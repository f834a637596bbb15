"""Probes and metrics, over HTTP."""

import asyncio

import aiohttp

from devcluster.system.ports import free_port
from scheduler_operator.app.endpoints import Health, serve
from scheduler_runtime.metrics import fixed_gauge


async def answers(health: Health) -> dict[str, tuple[int, str]]:
    result, port, metrics = {}, free_port(), [fixed_gauge("up", "Whether it runs.", 1)]
    async with serve(health, lambda: metrics, "127.0.0.1", port), aiohttp.ClientSession() as session:
        for path in ("livez", "readyz", "metrics"):
            async with session.get(f"http://127.0.0.1:{port}/{path}") as response:
                result[path] = response.status, await response.text()
    return result


def test_a_process_that_waits_is_alive_and_not_ready_and_says_for_what() -> None:
    result = asyncio.run(answers(Health(not_ready="CRDs missing")))
    assert result["livez"] == (200, "ok")
    assert result["readyz"] == (503, "CRDs missing")
    assert result["metrics"] == (200, "# HELP up Whether it runs.\n# TYPE up gauge\nup 1\n")


def test_a_process_whose_lease_is_stuck_is_not_alive() -> None:
    result = asyncio.run(answers(Health(not_ready="", not_alive=lambda: "not renewed for 60 s")))
    assert result["livez"] == (503, "not renewed for 60 s")
    assert result["readyz"] == (200, "ok")
