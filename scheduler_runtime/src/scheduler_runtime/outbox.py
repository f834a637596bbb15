"""What is told to the API server but nobody waits for: sent in order, a few at a time, behind binds.

Bounded: when the API server cannot keep up the newest is dropped and counted, because a scheduler
that dies of its unsent events helps nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field

from scheduler_runtime.backoff import Backoff
from scheduler_runtime.client import ApiError, NoAnswerError
from scheduler_runtime.trouble import Trouble

logger = logging.getLogger(__name__)

Send = Callable[[], Awaitable[None]]
TRIES = 3
LONGEST = 20_000
SILENCE_SECONDS = 4.0
"""So long silence is waited for at most: longer than it takes until a connection that is silent counts as dead."""


@dataclass(slots=True, eq=False)
class Delivery:
    """A message that is being sent, perhaps not for the first time."""

    key: Hashable
    send: Send
    dropped: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    time: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))

    @property
    def is_wanted(self) -> bool:
        return not self.dropped.is_set()

    async def pause(self, seconds: float) -> None:
        """Wait before the next try, unless there will be none."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.dropped.wait()

    def end_soon(self) -> None:
        """Give it up if it takes long; what has not left by then never will."""
        if self.time.when() is None:
            self.time.reschedule(asyncio.get_running_loop().time() + SILENCE_SECONDS)


class Outbox:
    """Messages by key: one that is put while another of its key waits takes that one's place.

    Two of one key are never under way together, so that the newest arrives last.
    """

    def __init__(
        self, *, senders: int = 8, longest: int = LONGEST, is_busy: Callable[[], bool] = lambda: False
    ) -> None:
        """``is_busy`` says when something more important is being sent; one sender goes on then."""
        self.dropped = 0
        self._waiting: OrderedDict[Hashable, Send] = OrderedDict()
        self._senders = senders
        self._longest = longest
        self._is_busy = is_busy
        self._something = asyncio.Event()
        self._sending: dict[Hashable, Delivery] = {}
        self._trouble = Trouble(logger)
        self._full = Trouble(logger)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._sending)

    def put(self, key: Hashable, send: Send) -> None:
        """Send soon, unless the box is full."""
        if key not in self._waiting and len(self._waiting) >= self._longest:
            self.dropped += 1
            self._full.begins(f"{self._longest} events and conditions wait to be sent; further ones are dropped")
            return
        self._waiting[key] = send
        self._something.set()

    def drop(self, key: Hashable) -> None:
        """Forget what waits under ``key``; what is being sent is not sent again when it fails."""
        self._waiting.pop(key, None)
        if delivery := self._sending.get(key):
            delivery.dropped.set()

    async def silence(self, key: Hashable) -> None:
        """Drop what waits under ``key``, and return when nothing of it is under way any more.

        What takes long is given up. Unless the API server is at it just then, nothing arrives any more.
        """
        self.drop(key)
        if delivery := self._sending.get(key):
            delivery.end_soon()
            await delivery.over.wait()

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._senders):
                group.create_task(self._sender(first=number == 0))

    async def drain(self) -> None:
        """Return when everything that was put has been sent."""
        while len(self):  # noqa: ASYNC110  only asked at the end of the process
            await asyncio.sleep(0.02)

    async def _sender(self, *, first: bool) -> None:
        while True:
            key = next((key for key in self._waiting if key not in self._sending), None)
            if key is None:
                self._full.ends()
                self._something.clear()
                await self._something.wait()
            elif self._is_busy() and not first:
                await asyncio.sleep(0.02)
            else:
                await self._send(Delivery(key, self._waiting.pop(key)))

    async def _send(self, delivery: Delivery) -> None:
        self._sending[delivery.key] = delivery
        try:
            with contextlib.suppress(TimeoutError):  # it is wanted no more
                async with delivery.time:
                    await self._deliver(delivery)
        finally:
            del self._sending[delivery.key]
            delivery.over.set()
            self._something.set()  # another of its key may have waited for this one

    async def _deliver(self, delivery: Delivery) -> None:
        backoff = Backoff(0.5, 5.0)
        for tries_left in reversed(range(TRIES)):
            if not delivery.is_wanted:
                return
            begun = time.monotonic()
            try:
                await delivery.send()
            except (ApiError, NoAnswerError) as error:
                if _is_over(delivery, error):
                    return
                if not isinstance(error, NoAnswerError) or error.sent:  # an absent server is said by the client
                    self._trouble.begins("events or conditions cannot be written", str(error), begun)
                if not tries_left or (isinstance(error, ApiError) and error.status < 429):
                    self.dropped += 1
                    return
                await delivery.pause(max(backoff.pause(), error.retry_after if isinstance(error, ApiError) else 0))
            else:
                self._trouble.ends(begun)
                return


def _is_over(delivery: Delivery, error: Exception) -> bool:
    """Whether what it was about is gone, or has been dropped while it was being sent."""
    return not delivery.is_wanted or (isinstance(error, ApiError) and error.status in (404, 409))
