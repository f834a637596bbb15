"""The end of a test's server."""

import asyncio

from aiohttp import web

ROUNDS = 20
"""Turns of the loop: more than it takes to make of what was accepted a connection that can be closed."""


async def end(runner: web.AppRunner) -> None:
    """End a server and close its connections, also those that it is accepting just now, however slow the machine is.

    asyncio loses a socket that was accepted when its server is closed before the next turn: so first no more are
    accepted, and the server is closed when all that were are connections.
    """
    for site in runner.sites:
        for listening in getattr(site._server, "sockets", ()):
            asyncio.get_running_loop().remove_reader(listening.fileno())
    for _ in range(ROUNDS):
        await asyncio.sleep(0)
    await runner.cleanup()
