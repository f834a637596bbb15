"""Probes and metrics, over HTTP."""

import asyncio

import aiohttp
import pytest

from devcluster.system.ports import free_port
from scheduler_operator.app import endpoints
from scheduler_operator.app.endpoints import Health, serve
from scheduler_runtime.metrics import fixed_gauge


async def answers(health: Health, *, serves_metrics: bool = True) -> dict[str, tuple[int, str]]:
    result, port, gauges = {}, free_port(), [fixed_gauge("up", "Whether it runs.", 1)]
    metrics = (lambda: gauges) if serves_metrics else None
    async with serve(health, metrics, "127.0.0.1", port), aiohttp.ClientSession() as session:
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


def test_metrics_are_served_by_choice_only() -> None:
    result = asyncio.run(answers(Health(not_ready=""), serves_metrics=False))
    assert result["metrics"][0] == 404
    assert result["readyz"] == (200, "ok")


def test_silent_connections_keep_no_probe_out_and_take_not_all_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "CONNECTIONS", 8)

    async def crowded() -> tuple[int, list[bytes]]:
        port = free_port()
        async with serve(Health(not_ready=""), None, "127.0.0.1", port), aiohttp.ClientSession() as session:
            crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
            async with session.get(f"http://127.0.0.1:{port}/livez") as response:
                status = response.status
            ends = [await reader.read() for reader, _ in crowd[:32]]
            for _, writer in crowd:
                writer.close()
            return status, ends

    assert asyncio.run(crowded()) == (200, [b""] * 32)
