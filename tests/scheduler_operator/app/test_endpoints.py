"""Probes and metrics, over HTTP."""

import asyncio
import socket

import aiohttp

from scheduler_operator.app.endpoints import Health, exposition, serve


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def answers(health: Health) -> dict[str, tuple[int, str]]:
    found, port = {}, free_port()
    async with serve(health, lambda: {"up": 1}, "127.0.0.1", port), aiohttp.ClientSession() as session:
        for path in ("livez", "readyz", "metrics"):
            async with session.get(f"http://127.0.0.1:{port}/{path}") as response:
                found[path] = response.status, await response.text()
    return found


def test_a_process_that_waits_is_alive_and_not_ready_and_says_for_what() -> None:
    found = asyncio.run(answers(Health(not_ready="CRDs missing")))
    assert found["livez"] == (200, "ok")
    assert found["readyz"] == (503, "CRDs missing")
    assert found["metrics"] == (200, "# TYPE up gauge\nup 1\n")


def test_a_process_whose_lease_is_stuck_is_not_alive() -> None:
    found = asyncio.run(answers(Health(not_ready="", not_alive=lambda: "not renewed for 60 s")))
    assert found["livez"] == (503, "not renewed for 60 s")
    assert found["readyz"] == (200, "ok")


def test_series_of_one_name_share_a_header() -> None:
    assert exposition({'adds_total{queue="a"}': 2, 'adds_total{queue="b"}': 3, "depth": 0.5}).splitlines() == [
        "# TYPE adds_total counter",
        'adds_total{queue="a"} 2',
        'adds_total{queue="b"} 3',
        "# TYPE depth gauge",
        "depth 0.5",
    ]
