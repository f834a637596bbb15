"""The gateway joins connections, in both directions and to their ends."""

import asyncio
import functools
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from devcluster.kind.gateway import relay

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer once the caller has said everything."""
    writer.write((await reader.read()).upper())
    writer.close()


@asynccontextmanager
async def joined(inner: Handler) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to ``inner`` through a relay."""
    async with await asyncio.start_server(inner, "127.0.0.1", 0) as behind:
        port = behind.sockets[0].getsockname()[1]
        async with await asyncio.start_server(functools.partial(relay, port), "127.0.0.1", 0) as before:
            reader, writer = await asyncio.open_connection(*before.sockets[0].getsockname())
            yield reader, writer
            writer.close()


async def ask(question: bytes) -> bytes:
    async with joined(shout) as (reader, writer):
        writer.write(question)
        writer.write_eof()
        return await reader.read()


def test_both_directions_pass_and_the_end_of_one_leaves_the_other_open() -> None:
    assert asyncio.run(ask(b"hello")) == b"HELLO"


def test_more_than_any_buffer_holds_passes_unchanged() -> None:
    assert asyncio.run(ask(b"abc" * 1_000_000)) == b"ABC" * 1_000_000


async def dial_nobody() -> bytes:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with await asyncio.start_server(
            functools.partial(relay, unused.getsockname()[1]), "127.0.0.1", 0
        ) as before:
            reader, writer = await asyncio.open_connection(*before.sockets[0].getsockname())
            answer = await reader.read()
            writer.close()
            return answer


def test_a_connection_is_closed_when_nothing_listens_behind() -> None:
    assert asyncio.run(dial_nobody()) == b""
