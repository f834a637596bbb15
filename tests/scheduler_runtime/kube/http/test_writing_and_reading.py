"""Writes leave at once; reads are complete and take only the memory that they need, over TLS, too."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler_runtime.component.https.self_signed import self_signed
from scheduler_runtime.kube.http.http1 import Http1Connection
from scheduler_runtime.kube.http.transport import Endpoint, connect

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
STANDSTILL_SECONDS = 0.3
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": importlib.import_module("uvloop").new_event_loop}


@contextlib.contextmanager
def server(tls: ssl.SSLContext | None, came: list[float], answer: bytes = OK) -> Iterator[int]:
    """A server in a thread of its own, which notes when a request comes, and answers it; yields its port.

    It has closed its side of the connection when the answer can be read.
    """
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        plain, _ = listening.accept()
        with tls.wrap_socket(plain, server_side=True) if tls else plain as visitor:
            visitor.recv(len(REQUEST))
            came.append(time.monotonic())
            visitor.sendall(answer)
            visitor.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                visitor.recv(1)

    listening.settimeout(10)
    thread = threading.Thread(target=serve, daemon=True)
    with listening:
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            thread.join(10)


async def request_before_stall(place: Endpoint) -> float:
    """Ask in a turn in which something else then takes its time; return when that was over."""
    connection = await connect(place, Http1Connection())
    asking = asyncio.create_task(connection.request(REQUEST))
    over = asyncio.get_running_loop().create_future()

    def stand_still() -> None:
        time.sleep(STANDSTILL_SECONDS)
        over.set_result(time.monotonic())

    asyncio.get_running_loop().call_soon(stand_still)
    assert (await asking).status == 200
    connection.close()
    return float(await over)


def trusted(directory: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server offers, and what its clients trust."""
    certificate, key = self_signed("127.0.0.1", 1)
    (directory / "cert").write_bytes(certificate)
    (directory / "key").write_bytes(key)
    offered = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    offered.load_cert_chain(directory / "cert", directory / "key")
    return offered, ssl.create_default_context(cafile=str(directory / "cert"))


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_request_leaves_before_what_else_is_done_in_its_turn(loop: str, secure: bool, tmp_path: Path) -> None:
    offered, trusted_context = trusted(tmp_path) if secure else (None, None)
    came = list[float]()
    with server(offered, came) as port, asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        over = runner.run(request_before_stall(Endpoint("127.0.0.1", port, trusted_context)))
    assert came[0] < over - STANDSTILL_SECONDS / 2


async def peak_memory_while_reading(place: Endpoint) -> int:
    """Bytes that were asked of memory at most while an answer came."""
    connection = await connect(place, Http1Connection())
    tracemalloc.start()
    try:
        assert (await connection.request(REQUEST)).body == b"ok"
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        connection.close()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_short_answer_over_tls_takes_little_memory(loop: str, tmp_path: Path) -> None:
    offered, trusted_context = trusted(tmp_path)
    with server(offered, []) as port, asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        assert runner.run(peak_memory_while_reading(Endpoint("127.0.0.1", port, trusted_context))) < 64 << 10


async def read_late(place: Endpoint) -> int:
    """How many bytes come of an answer that is there as a whole, with the end of the connection, before it is read."""
    connection = await connect(place, Http1Connection())
    asyncio.get_running_loop().call_later(0.001, time.sleep, STANDSTILL_SECONDS)
    try:
        return len((await connection.request(REQUEST)).body)
    finally:
        connection.close()


@pytest.mark.parametrize("size", [400_000, 1_000_000])
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_of_an_answer_before_the_end_of_the_connection_nothing_is_lost(
    loop: str, secure: bool, size: int, tmp_path: Path
) -> None:
    offered, trusted_context = trusted(tmp_path) if secure else (None, None)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size
    with server(offered, [], answer) as port, asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        assert runner.run(read_late(Endpoint("127.0.0.1", port, trusted_context))) == size
