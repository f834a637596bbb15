"""Work queue that holds each key once and delays failed ones, and the workers that empty it.

         add             take            mark_done
    ──────────► ready ──────────► running ───────────► gone, or ready again if it was added meanwhile
                  ▲                  │ failed
                  └──── resting ◄────┘
                add, or the rest is over

A key rests longer after each failure in a row, without delaying any other key.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from scheduler_runtime.kube.retry import doubling_delay

Key = TypeVar("Key")

FIRST_REST_SECONDS = 0.25
LONGEST_REST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sizes of a queue now, and its counters since it was made."""

    waiting: int
    running: int
    resting: int
    added: int
    failed: int


class KeyQueue(Generic[Key]):
    """The state machine above. It reads no clock: ``now`` is an argument, in seconds."""

    def __init__(self) -> None:
        self._ready: dict[Key, None] = {}
        self._running: set[Key] = set()
        self._again: set[Key] = set()
        self._resting: dict[Key, float] = {}
        self._failures: dict[Key, int] = {}
        self._added = 0
        self._failed = 0

    def add(self, key: Key) -> None:
        """Ask for work on ``key``: once, however often this is called before the work begins."""
        self._added += 1
        self._resting.pop(key, None)
        if key in self._running:
            self._again.add(key)
        else:
            self._ready[key] = None

    def take(self, now: float) -> Key | None:
        """Return the key that has waited longest, if any; it is running until ``mark_done`` or ``mark_failed``."""
        for key in [key for key, end in self._resting.items() if end <= now]:
            del self._resting[key]
            self._ready[key] = None
        if not self._ready:
            return None
        key = next(iter(self._ready))
        del self._ready[key]
        self._running.add(key)
        return key

    def mark_done(self, key: Key) -> None:
        """The work on ``key`` succeeded."""
        self._failures.pop(key, None)
        self._end(key)

    def mark_failed(self, key: Key, now: float) -> None:
        """The work on ``key`` failed: try again after a rest."""
        self._failed += 1
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self._end(key)
        if key not in self._ready:  # it was added meanwhile: then it need not rest
            self._resting[key] = now + doubling_delay(FIRST_REST_SECONDS, LONGEST_REST_SECONDS, failures)

    def next_end_of_rest(self) -> float | None:
        """Return the time at which the next resting key becomes ready."""
        return min(self._resting.values(), default=None)

    def statistics(self) -> Statistics:
        """Return sizes and counters."""
        return Statistics(len(self._ready), len(self._running), len(self._resting), self._added, self._failed)

    def _end(self, key: Key) -> None:
        self._running.discard(key)
        if key in self._again:
            self._again.discard(key)
            self._ready[key] = None


class WorkQueue(Generic[Key]):
    """A queue and the workers that empty it, in one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._queue: KeyQueue[Key] = KeyQueue()
        self._changed = asyncio.Event()

    def add(self, key: Key) -> None:
        """Ask for work on ``key``."""
        self._queue.add(key)
        self._changed.set()

    def statistics(self) -> Statistics:
        """Return sizes and counters."""
        return self._queue.statistics()

    async def run(self, work: Callable[[Key], Awaitable[bool]], workers: int) -> None:
        """Call ``work`` for each key, in as many tasks as ``workers``, until cancelled.

        ``work`` returns whether the key is done; otherwise it is tried again after a rest. ``work`` contains its
        own errors: one that escapes ends all workers.
        """
        async with asyncio.TaskGroup() as group:
            for number in range(workers):
                group.create_task(self._work_on_keys(work), name=f"worker {number}")

    async def _work_on_keys(self, work: Callable[[Key], Awaitable[bool]]) -> None:
        while True:
            while (key := self._queue.take(self._clock())) is None:
                end = self._queue.next_end_of_rest()
                # Cleared before the wait, without an await since take: an add in between would be lost.
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if end is None else max(end - self._clock(), 0.0)):
                        await self._changed.wait()
            if await work(key):
                self._queue.mark_done(key)
            else:
                self._queue.mark_failed(key, self._clock())
            # Another worker may wait for a key that rests now, or that was added while it was running.
            self._changed.set()
