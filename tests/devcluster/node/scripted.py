"""An HTTP server that answers as a test says, where a real one could not be made to misbehave."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Step = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def served(answer: Step, address: str = "127.0.0.1") -> AsyncIterator[str]:
    """The address of a server whose every request is answered by ``answer``."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, 0).start()
        yield f"http://{address}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
