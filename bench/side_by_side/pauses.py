"""Our scheduler with a record of its pauses: ``python -m bench.side_by_side.pauses FILE ARGUMENT …``.

A pause is a time in which the event loop could do nothing else: measured by a heartbeat, as the lesser of
its delay and the CPU that the loop's thread used meanwhile. So the work of other processes makes none. Pauses of the
collector are its CPU alone.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from scheduler_runtime.app import main as berth_scheduler
from scheduler_runtime.app import startup

HEARTBEAT_SECONDS = 0.005
LEAST_SECONDS = 0.01
"""Shorter ones are not recorded."""


class Pause(msgspec.Struct, frozen=True):
    """One time in which the process could do nothing else."""

    at: float
    """Seconds since the epoch, at its end."""
    seconds: float


class Pauses(msgspec.Struct):
    """The pauses of a process, and those of them that its garbage collector made."""

    loop: list[Pause] = []
    collector: list[Pause] = []

    def longest(self, *, since: float = 0, until: float = float("inf")) -> tuple[float, float]:
        """The longest of the loop and of the collector, in seconds."""
        return _longest(self.loop, since, until), _longest(self.collector, since, until)


def _longest(pauses: list[Pause], since: float, until: float) -> float:
    return max((pause.seconds for pause in pauses if since <= pause.at < until), default=0.0)


class Collections:
    """Records the long runs of the garbage collector."""

    def __init__(self, pauses: Pauses) -> None:
        self._pauses = pauses
        self._began = 0.0

    def observe(self, phase: str, _: dict[str, int]) -> None:
        """Receive the start and the end of a collection, from ``gc.callbacks``."""
        if phase == "start":
            self._began = time.thread_time()
        elif (seconds := time.thread_time() - self._began) >= LEAST_SECONDS:
            self._pauses.collector.append(Pause(time.time(), seconds))


async def heartbeat(pauses: Pauses) -> None:
    """Record late returns of the loop, until cancelled."""
    while True:
        began, used = time.perf_counter(), time.thread_time()
        await asyncio.sleep(HEARTBEAT_SECONDS)
        late = time.perf_counter() - began - HEARTBEAT_SECONDS
        if (seconds := min(late, time.thread_time() - used)) >= LEAST_SECONDS:
            pauses.loop.append(Pause(time.time(), seconds))


def with_heartbeat(run: Callable[..., Awaitable[int]], pauses: Pauses) -> Callable[..., Awaitable[int]]:
    """``run``, with the heartbeat beside it."""

    async def both(*arguments: Any) -> int:
        beats = asyncio.ensure_future(heartbeat(pauses))
        try:
            return await run(*arguments)
        finally:
            beats.cancel()

    return both


def main() -> int:
    """Run the scheduler, write the pauses into the file at its end, and return its exit code."""
    file, *arguments = sys.argv[1:]
    pauses = Pauses()
    gc.callbacks.append(Collections(pauses).observe)
    startup.run = with_heartbeat(startup.run, pauses)  # type: ignore[assignment]
    try:
        return berth_scheduler.main(arguments)
    finally:
        Path(file).write_bytes(msgspec.json.encode(pauses))


if __name__ == "__main__":
    sys.exit(main())
