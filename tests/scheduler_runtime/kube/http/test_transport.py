"""Data that arrives while the event loop is stuck is in time, whichever of timers and sockets the loop runs first."""

from __future__ import annotations

import asyncio
import importlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scheduler_runtime.kube.client import Client, NoResponseError
from scheduler_runtime.kube.credentials import Credentials
from scheduler_runtime.kube.http import transport
from scheduler_runtime.kube.http.transport import READ_SECONDS, timeout
from tests.support.threads import in_a_thread

SHORT_SECONDS = 0.2
STANDSTILL_SECONDS = 0.7


class Answers(BaseHTTPRequestHandler):
    """Says yes, unless it is asked to be quiet."""

    is_over = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/quiet":
            self.is_over.wait(20)
            return
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"yes")

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def server() -> Iterator[str]:
    """A server in threads of its own."""
    Answers.is_over.clear()
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    with in_a_thread(serving):
        yield f"http://127.0.0.1:{serving.server_port}"
        Answers.is_over.set()


def stand_still(seconds: float = STANDSTILL_SECONDS) -> None:
    """Do what a plugin should not."""
    time.sleep(seconds)


async def request_during_stall(client: Client, path: str) -> bytes:
    """The answer to a request during which nothing goes on for long, as soon as it has left."""
    asking = asyncio.create_task(client.request("GET", path, seconds=SHORT_SECONDS))
    await asyncio.sleep(0.02)
    stand_still()
    return await asking


async def connect_during_stall(client: Client, path: str) -> bytes:
    """The same for one that has to connect meanwhile."""
    asking = asyncio.create_task(client.request("GET", path, seconds=5.0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stand_still()
    return await asking


def run(loop: str, ask: Callable[[Client, str], Awaitable[bytes]], server: str, path: str) -> bytes:
    async def ask_once() -> bytes:
        async with Client(Credentials(server), "test") as client:
            return await ask(client, path)

    answer: bytes = importlib.import_module(loop).run(ask_once())
    return answer


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("ask", [request_during_stall, connect_during_stall])
def test_an_answer_that_came_during_a_stall_is_returned(
    monkeypatch: pytest.MonkeyPatch, server: str, loop: str, ask: Callable[[Client, str], Awaitable[bytes]]
) -> None:
    monkeypatch.setattr(transport, "CONNECT_SECONDS", SHORT_SECONDS)
    assert run(loop, ask, server, "/x") == b"yes"


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_no_answer_is_no_answer_all_the_same(server: str, loop: str) -> None:
    with pytest.raises(NoResponseError, match="no answer in time"):
        run(loop, request_during_stall, server, "/quiet")


@pytest.mark.parametrize(
    ("seconds", "waits", "expected"), [(0.4, True, READ_SECONDS), (0.4, False, 0.0), (0.05, True, 0.0)]
)
async def test_a_limit_is_longer_only_after_a_standstill_and_only_where_nothing_has_still_to_leave(
    seconds: float, waits: bool, expected: float
) -> None:
    with pytest.raises(TimeoutError):  # noqa: PT012
        async with timeout(0.02, may_extend=lambda: waits):
            stand_still(seconds)
            began = time.monotonic()
            await asyncio.Event().wait()
    assert time.monotonic() - began >= expected
