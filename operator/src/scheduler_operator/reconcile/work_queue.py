"""Work queue that holds each key once and delays failed and expensive ones, and the workers that empty it.

         add             take            mark_done
    ──────────► ready ──────────► running ───────────► gone, or ready again if it was added meanwhile
                  ▲                  │ failed
                  └──── resting ◄────┘
                add, or the rest is over

A key rests longer after each failure in a row, without delaying any other key.

A key whose work took much CPU time is slow: it rests for a multiple of that time, whatever is added meanwhile, is taken
only when no other key is ready, and runs beside no other slow key. So whoever makes the work on one key expensive, and
changes it again and again, delays that key, and of all others at most one worker. A key is slow until its work has
been quick for some minutes: otherwise every second change could be an expensive one.
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
SLOW_SECONDS = 0.5
"""CPU time of a slow key's work: more than ten times what a large profile takes."""
REST_PER_SECOND = 10.0
"""How long a slow key rests for each second of CPU time that its work took, up to ``LONGEST_REST_SECONDS``."""
SLOW_FOR_SECONDS = 600.0
"""How long a key stays slow after work that was."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sizes of a queue now, and its counters since it was made."""

    waiting: int
    running: int
    resting: int
    added: int
    failed: int
    slow: int


class KeyQueue(Generic[Key]):
    """The state machine above. It reads no clock: ``now`` is an argument, in seconds."""

    def __init__(self) -> None:
        self._ready: dict[Key, None] = {}
        self._running: set[Key] = set()
        self._again: set[Key] = set()
        self._resting: dict[Key, float] = {}
        self._failures: dict[Key, int] = {}
        self._slow: dict[Key, float] = {}
        """When the work of each slow key last took long."""
        self._rest_ends: dict[Key, float] = {}
        """When the rest of each slow key ends."""
        self._added = 0
        self._failed = 0

    def add(self, key: Key) -> None:
        """Ask for work on ``key``: once, however often this is called before the work begins."""
        self._added += 1
        if key in self._running:
            self._again.add(key)
        elif key not in self._ready:
            self._wait(key)

    def take(self, now: float) -> Key | None:
        """Return the key to work on now, if any; it is running until ``mark_done`` or ``mark_failed``.

        That is the one of those that are not slow that has waited longest; without any, such a slow one.
        """
        for key in [key for key, charged in self._slow.items() if charged + SLOW_FOR_SECONDS <= now]:
            del self._slow[key], self._rest_ends[key]
        for key in [key for key, end in self._resting.items() if end <= now]:
            del self._resting[key]
            self._ready[key] = None
        may_be_slow = self._running.isdisjoint(self._slow)
        quick_first = sorted(self._ready, key=self._slow.__contains__)
        for key in quick_first:
            if may_be_slow or key not in self._slow:
                del self._ready[key]
                self._running.add(key)
                return key
        return None

    def charge(self, key: Key, seconds: float, now: float) -> None:
        """Note how much CPU time the work on ``key``, which is running, has taken."""
        if seconds > SLOW_SECONDS:
            self._slow[key] = now
            self._rest_ends[key] = now + min(REST_PER_SECOND * seconds, LONGEST_REST_SECONDS)

    def mark_done(self, key: Key) -> None:
        """The work on ``key`` succeeded."""
        self._failures.pop(key, None)
        self._end(key)

    def mark_failed(self, key: Key, now: float) -> None:
        """The work on ``key`` failed: try again after a rest."""
        self._failed += 1
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        if key not in self._again:  # otherwise it need not rest for that
            delay = doubling_delay(FIRST_REST_SECONDS, LONGEST_REST_SECONDS, failures)
            self._resting[key] = max(now + delay, self._rest_ends.get(key, 0.0))
        self._end(key)

    def next_end_of_rest(self) -> float | None:
        """Return the time at which the next resting key becomes ready."""
        return min(self._resting.values(), default=None)

    def statistics(self) -> Statistics:
        """Return sizes and counters."""
        sizes = len(self._ready), len(self._running), len(self._resting)
        return Statistics(*sizes, self._added, self._failed, len(self._slow))

    def _end(self, key: Key) -> None:
        self._running.discard(key)
        if key in self._again:
            self._again.discard(key)
            self._wait(key)

    def _wait(self, key: Key) -> None:
        """Have ``key`` wait for a worker, or rest before, if it has to."""
        self._resting.pop(key, None)
        if key in self._rest_ends:
            self._resting[key] = self._rest_ends[key]  # until ``take``, if that is over
        else:
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

    def charge(self, key: Key, seconds: float) -> None:
        """Note how much CPU time the work on ``key``, which is running, has taken."""
        self._queue.charge(key, seconds, self._clock())

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
