"""Work queue that holds each key once and delays failed and expensive ones, and the workers that empty it.

         add             take            mark_done
    ──────────► ready ──────────► running ───────────► gone, or ready again if it was added meanwhile
                  ▲                  │ failed
                  └──── resting ◄────┘
                add, or the rest is over

A key rests longer after each failure in a row, without delaying any other key. Keys that are added in bulk, because
nobody knows whether anything happened to them, wait until no other key is ready.

A key whose work took much CPU time is slow: it rests for a multiple of that time, whatever is added meanwhile, is taken
only when no other key is ready, and runs beside no other slow key. So whoever makes the work on one key expensive, and
changes it again and again, delays that key, and of all others at most one worker. A key is slow until its work has
been quick for some minutes: otherwise every second change could be an expensive one.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from scheduler_runtime.kube.retry import doubling_delay

Key = TypeVar("Key")
KeyIn = TypeVar("KeyIn", contravariant=True)

Result = Literal["success", "requeue", "error", "panic"]
"""How the work on a key ended: all but success are repeated after a rest. A panic is an error that nobody foresaw."""

FIRST_REST_SECONDS = 0.25
LONGEST_REST_SECONDS = 60.0
SLOW_SECONDS = 0.5
"""CPU time of a slow key's work: more than ten times what a large profile takes."""
REST_PER_SECOND = 10.0
"""How long a slow key rests for each second of CPU time that its work took, up to ``LONGEST_REST_SECONDS``."""
SLOW_FOR_SECONDS = 600.0
"""How long a key stays slow after work that was."""


@dataclass(frozen=True, slots=True)
class QueueState(Generic[Key]):
    """The keys in a queue at one time."""

    waiting: list[Key]
    running: Mapping[Key, float]
    """For how many seconds each has been worked on."""
    resting: list[Key]
    slow: list[Key]


class QueueMetrics(Protocol[KeyIn]):
    """Measures what happens to keys."""

    def count_added(self, key: KeyIn) -> None:
        """Count a key that came to wait; one that waits already is not counted again."""
        ...

    def observe_wait(self, key: KeyIn, seconds: float) -> None:
        """Measure how long a key has waited for a worker, without its rest."""
        ...

    def observe_work(self, key: KeyIn, result: Result, seconds: float) -> None:
        """Measure the work on a key, by how it ended."""
        ...


class KeyQueue(Generic[Key]):
    """The state machine above. It reads no clock: ``now`` is an argument, in seconds."""

    def __init__(self, metrics: QueueMetrics[Key]) -> None:
        self._metrics = metrics
        self._ready: dict[Key, float] = {}
        """Since when each of them waits for a worker."""
        self._running: dict[Key, float] = {}
        """Since when each of them is worked on."""
        self._again: dict[Key, float] = {}
        """When each of them was added while it was running."""
        self._in_bulk: set[Key] = set()
        """Those of the ready ones that were added in bulk only."""
        self._resting: dict[Key, float] = {}
        """When the rest of each of them ends."""
        self._failures: dict[Key, int] = {}
        self._slow: dict[Key, float] = {}
        """When the work of each slow key last took long."""
        self._rest_ends: dict[Key, float] = {}
        """When the rest of each slow key ends."""

    def add(self, key: Key, now: float, in_bulk: bool = False) -> None:
        """Ask for work on ``key``: once, however often this is called before the work begins."""
        if not in_bulk:
            self._in_bulk.discard(key)
        elif key not in self._ready and key not in self._again and key not in self._resting:
            self._in_bulk.add(key)
        if key in self._running:
            self._again.setdefault(key, now)
        elif key not in self._ready:
            self._wait(key, now)

    def take(self, now: float) -> Key | None:
        """Return the key to work on now, if any; it is running until ``mark_done`` or ``mark_failed``.

        That is the one of those that are not slow that has waited longest; without any, such a slow one. Of both, those
        that were added in bulk come last.
        """
        for key in [key for key, charged in self._slow.items() if charged + SLOW_FOR_SECONDS <= now]:
            del self._slow[key], self._rest_ends[key]
        for key in [key for key, end in self._resting.items() if end <= now]:
            self._become_ready(key, self._resting.pop(key))
        may_be_slow = self._running.keys().isdisjoint(self._slow)
        candidates = self._ready if may_be_slow else [key for key in self._ready if key not in self._slow]
        # The first of the best: that is the one that has waited longest.
        best = min(candidates, key=lambda key: (key in self._slow, key in self._in_bulk), default=None)
        if best is not None:
            self._metrics.observe_wait(best, now - self._ready.pop(best))
            self._in_bulk.discard(best)
            self._running[best] = now
        return best

    def charge(self, key: Key, seconds: float, now: float) -> None:
        """Note how much CPU time the work on ``key``, which is running, has taken."""
        if seconds > SLOW_SECONDS:
            self._slow[key] = now
            self._rest_ends[key] = now + min(REST_PER_SECOND * seconds, LONGEST_REST_SECONDS)

    def mark_done(self, key: Key, now: float) -> None:
        """The work on ``key`` succeeded."""
        self._failures.pop(key, None)
        self._end(key, "success", now)

    def mark_failed(self, key: Key, now: float, result: Result = "error") -> None:
        """The work on ``key`` failed, or is not finished: try again after a rest."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        if key not in self._again:  # otherwise it need not rest for that
            delay = doubling_delay(FIRST_REST_SECONDS, LONGEST_REST_SECONDS, failures)
            self._resting[key] = max(now + delay, self._rest_ends.get(key, 0.0))
        self._end(key, result, now)

    def next_end_of_rest(self) -> float | None:
        """Return the time at which the next resting key becomes ready."""
        return min(self._resting.values(), default=None)

    def state(self, now: float) -> QueueState[Key]:
        """Return the keys as they are now. May be called from any thread: copies of whole mappings are consistent."""
        running = {key: now - since for key, since in self._running.copy().items()}
        return QueueState(list(self._ready), running, list(self._resting), list(self._slow))

    def _end(self, key: Key, result: Result, now: float) -> None:
        self._metrics.observe_work(key, result, now - self._running.pop(key))
        if key in self._again:
            self._wait(key, self._again.pop(key))

    def _wait(self, key: Key, since: float) -> None:
        """Have ``key`` wait for a worker, or rest before, if it has to."""
        self._resting.pop(key, None)
        if key in self._rest_ends:
            self._resting[key] = max(self._rest_ends[key], since)  # until ``take``, if that is over
        else:
            self._become_ready(key, since)

    def _become_ready(self, key: Key, since: float) -> None:
        self._ready[key] = since
        self._metrics.count_added(key)


class WorkQueue(Generic[Key]):
    """A queue and the workers that empty it, in one event loop."""

    def __init__(self, metrics: QueueMetrics[Key], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._queue: KeyQueue[Key] = KeyQueue(metrics)
        self._changed = asyncio.Event()

    def add(self, key: Key, in_bulk: bool = False) -> None:
        """Ask for work on ``key``; ``in_bulk``: nothing need have happened to it, so others go first."""
        self._queue.add(key, self._clock(), in_bulk)
        self._changed.set()

    def charge(self, key: Key, seconds: float) -> None:
        """Note how much CPU time the work on ``key``, which is running, has taken."""
        self._queue.charge(key, seconds, self._clock())

    def state(self) -> QueueState[Key]:
        """Return the keys as they are now. May be called from any thread."""
        return self._queue.state(self._clock())

    async def run(self, work: Callable[[Key], Awaitable[Result]], workers: int) -> None:
        """Call ``work`` for each key, in as many tasks as ``workers``, until cancelled.

        A key is done if ``work`` returns success; otherwise it is tried again after a rest. ``work`` contains its own
        errors: one that escapes ends all workers.
        """
        async with asyncio.TaskGroup() as group:
            for number in range(workers):
                group.create_task(self._work_on_keys(work), name=f"worker {number}")

    async def _work_on_keys(self, work: Callable[[Key], Awaitable[Result]]) -> None:
        while True:
            while (key := self._queue.take(self._clock())) is None:
                end = self._queue.next_end_of_rest()
                # Cleared before the wait, without an await since take: an add in between would be lost.
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if end is None else max(end - self._clock(), 0.0)):
                        await self._changed.wait()
            result = await work(key)
            if result == "success":
                self._queue.mark_done(key, self._clock())
            else:
                self._queue.mark_failed(key, self._clock(), result)
            # Another worker may wait for a key that rests now, or that was added while it was running.
            self._changed.set()
