"""Waiting for facts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

LOOK_SECONDS = 0.3


async def until(check: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    """Wait until ``check`` is true; whether that was in time."""
    latest = time.monotonic() + seconds
    while not await check():
        if time.monotonic() > latest:
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True
