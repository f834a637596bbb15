"""Probes and metrics, over HTTP."""

import asyncio
import socket

import aiohttp
import pytest

from devcluster.system.ports import free_port
from scheduler_operator.app import endpoints
from scheduler_operator.app.endpoints import Health, serve


async def answers(health: Health, *, serves_metrics: bool = True) -> dict[str, tuple[int, str]]:
    result, port = {}, free_port()
    metrics = (lambda: "up 1\n") if serves_metrics else None
    async with serve(health, metrics, "127.0.0.1", port), aiohttp.ClientSession() as session:
        for path in ("livez", "readyz", "metrics"):
            async with session.get(f"http://127.0.0.1:{port}/{path}") as response:
                result[path] = response.status, await response.text()
    return result


def test_a_process_that_waits_is_alive_and_not_ready_and_says_for_what() -> None:
    result = asyncio.run(answers(Health(not_ready="CRDs missing")))
    assert result["livez"] == (200, "ok")
    assert result["readyz"] == (503, "CRDs missing")
    assert result["metrics"] == (200, "up 1\n")


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


def test_connections_whose_clients_read_nothing_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "CONNECTIONS", 8)
    long_page = "x" * (16 << 20)

    async def crowded() -> list[BaseException | None]:
        port, loop = free_port(), asyncio.get_running_loop()

        async def connect() -> socket.socket:
            caller = socket.socket()
            caller.setblocking(False)
            await loop.sock_connect(caller, ("127.0.0.1", port))
            await loop.sock_sendall(caller, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await loop.sock_recv(caller, 4) == b"HTTP"
            return caller

        async def ask_without_end(caller: socket.socket) -> None:
            while True:
                await loop.sock_sendall(caller, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)

        async with serve(Health(not_ready=""), lambda: long_page, "127.0.0.1", port):
            callers = [await connect() for _ in range(16)]
            clients = [asyncio.create_task(ask_without_end(caller)) for caller in callers]
            ended, others = await asyncio.wait(clients[:8], timeout=10)
            assert not others
            for client in clients[8:]:
                client.cancel()
            await asyncio.wait(clients)
            for caller in callers:
                caller.close()
            return [client.exception() for client in ended]

    assert all(isinstance(problem, OSError) for problem in asyncio.run(crowded()))


def test_connections_that_have_ended_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "CONNECTIONS", 8)
    request = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"

    async def served_in_turn() -> bytes:
        port = free_port()
        async with serve(Health(not_ready=""), None, "127.0.0.1", port), aiohttp.ClientSession() as session:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(20):
                async with session.get(f"http://127.0.0.1:{port}/livez", headers={"Connection": "close"}) as response:
                    assert response.status == 200
            writer.write(request)
            answer = await reader.readline()
            writer.close()
            return answer

    assert asyncio.run(served_in_turn()) == b"HTTP/1.1 200 OK\r\n"


def test_only_get_and_head_are_answered() -> None:
    async def statuses() -> list[int]:
        port = free_port()
        async with serve(Health(not_ready=""), None, "127.0.0.1", port), aiohttp.ClientSession() as session:
            responses = [await session.request(method, f"http://127.0.0.1:{port}{path}")
                         for method, path in (("HEAD", "/livez"), ("POST", "/livez"), ("GET", "/x"))]  # fmt: skip
            return [response.status for response in responses]

    assert asyncio.run(statuses()) == [200, 405, 404]
