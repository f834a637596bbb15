"""The end of a test's server."""

import asyncio

from aiohttp import web

ROUNDS = 20
"""Turns of the loop: more than it takes to accept a connection, which nothing could close before."""


async def end(runner: web.AppRunner) -> None:
    """End a server and close its connections, also those that it is accepting just now, however slow the machine is."""
    for site in tuple(runner.sites):
        await site.stop()
    for _ in range(ROUNDS):
        await asyncio.sleep(0)
    await runner.cleanup()
