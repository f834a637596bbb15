"""Waiting for facts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

LOOK_SECONDS = 0.3


async def until(check: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    """Wait until ``check`` is true; whether that was in time. Who cannot be reached now is asked again."""
    latest = time.monotonic() + seconds
    while time.monotonic() < latest:
        with contextlib.suppress(OSError):
            if await check():
                return True
        await asyncio.sleep(LOOK_SECONDS)
    return False
