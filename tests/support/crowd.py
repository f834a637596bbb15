"""A crowd of clients that keep connections open and never complete anything, in a process of its own.

python -m tests.support.crowd PORT COUNT keeps so many connections to a port of this machine until its input ends. Who
is sent away comes again. It prints a line when all have connected for the first time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from tests.support.pages import get_page

TRUST = ssl._create_unverified_context()  # noqa: S323 - the server is what is attacked
Behaviour = Callable[[int], Awaitable[None]]


async def silent(port: int) -> None:
    """Connect and say nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await _until_sent_away(reader, writer)


async def half_a_handshake(port: int) -> None:
    """Send the beginning of a handshake byte by byte."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    await _trickle(writer, b"\x16\x03\x01\x02\x00" + bytes(500))


async def trickled_head(port: int) -> None:
    """Send a byte of the head now and then, after the handshake."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=TRUST)
    await _trickle(writer, b"GET /livez HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 10_000)


async def idle_after_a_request(port: int) -> None:
    """Read one page, and keep the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=TRUST)
    writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    await _until_sent_away(reader, writer)


async def unread_responses(port: int) -> None:
    """Ask again and again, and never read."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=TRUST, limit=1)
    with contextlib.suppress(AttributeError):
        writer.transport.pause_reading()  # type: ignore[attr-defined]
    while not writer.is_closing():
        writer.write(b"GET /livez?verbose HTTP/1.1\r\nHost: x\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.5)


async def _trickle(writer: asyncio.StreamWriter, data: bytes) -> None:
    for byte in data:
        if writer.is_closing():
            break
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(1)


async def _until_sent_away(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(1 << 16):
        pass
    writer.close()


BEHAVIOURS: tuple[Behaviour, ...] = (silent, half_a_handshake, trickled_head, idle_after_a_request, unread_responses)


async def crowd(port: int, count: int) -> None:
    """Keep ``count`` connections until standard input ends."""
    begun: list[int] = []

    async def client(number: int) -> None:
        behaviour = BEHAVIOURS[number % len(BEHAVIOURS)]
        await asyncio.sleep(number / 1000)
        while True:
            begun.append(number)
            if len(begun) == count:
                print("all are there", flush=True)  # noqa: T201 - this is what its parent waits for
            with contextlib.suppress(OSError, ssl.SSLError):
                await behaviour(port)

    clients = [asyncio.ensure_future(client(number)) for number in range(count)]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for task in clients:
        task.cancel()
    print(json.dumps({"connections": len(begun)}), flush=True)  # noqa: T201


@contextmanager
def crowding(port: int, count: int) -> Iterator[subprocess.Popen[str]]:
    """Have a crowd at ``port`` until the end of the ``with``; it is there when this begins."""
    command = [sys.executable, "-m", "tests.support.crowd", str(port), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "all are there\n"
            yield process
        finally:
            process.kill()


def seconds_of(port: int, path: str = "/livez") -> float:
    """Return how long a new connection takes to get an answer of 200."""
    begin = time.perf_counter()
    assert get_page(port, path).status == 200
    return time.perf_counter() - begin


def main(*arguments: str) -> None:
    """Run the command line."""
    port, count = map(int, arguments)
    asyncio.run(crowd(port, count))


if __name__ == "__main__":
    main(*sys.argv[1:])
