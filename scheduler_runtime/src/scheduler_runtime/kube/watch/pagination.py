"""Lists, page by page: the API server prepares the next one while one is taken in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TypeVar

from scheduler_runtime.kube.client import ApiError, Client
from scheduler_runtime.kube.http.request_writer import JSON
from scheduler_runtime.kube.watch.envelopes import continue_token

PAGE = 2000
"""Of pods the API server prepares one in some 80 ms, and we take it in about as long."""

P = TypeVar("P")
R = TypeVar("R")
Read = Callable[[bytes], P]


async def with_full_list_fallback(work: Callable[[int], Awaitable[R]]) -> R:
    """What ``work`` makes of a list by pages of a size, or of all of it at once when the list outlives its snapshot."""
    try:
        return await work(PAGE)
    except ApiError as error:
        if error.status != 410:
            raise
        return await work(0)


async def list_pages(
    client: Client, path: str, params: Mapping[str, str], read: Read[P], *, limit: int = PAGE, accept: str = JSON
) -> AsyncGenerator[P, None]:
    """The pages of a list, of ``limit`` objects each, or one of all when it is 0.

    To be closed by who does not read it to its end. Raises ApiError, NoAnswerError, and what ``read`` raises.
    """
    params = {**params, **({"limit": str(limit)} if limit else {})}

    def ask(more: Mapping[str, str]) -> asyncio.Task[bytes]:
        return asyncio.create_task(client.get(path, {**params, **more}, accept))

    asked = ask({})
    try:
        while True:
            raw = await asked
            token = continue_token(raw)
            if token:
                asked = ask({"continue": token})
            yield read(raw)
            if not token:
                return
    finally:
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
