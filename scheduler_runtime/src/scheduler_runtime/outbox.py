"""What is told to the API server but nobody waits for: sent in order, a few at a time, behind binds.

Bounded: when the API server cannot keep up the newest is dropped and counted, because a scheduler
that dies of its unsent events helps nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from scheduler_runtime.backoff import Backoff
from scheduler_runtime.client import ApiError, NoAnswerError
from scheduler_runtime.trouble import Trouble

logger = logging.getLogger(__name__)

Send = Callable[[], Awaitable[None]]
TRIES = 3
LONGEST = 20_000


@dataclass(slots=True, eq=False)
class Delivery:
    """A message that is being sent, perhaps not for the first time."""

    key: Hashable
    send: Send
    is_wanted: bool = True


class Outbox:
    """Messages by key: one that is put while another of its key waits takes that one's place."""

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
        self._sending: set[Delivery] = set()
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
        for delivery in self._sending:
            if delivery.key == key:
                delivery.is_wanted = False

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
            if not self._waiting:
                self._full.ends()
                self._something.clear()
                await self._something.wait()
            elif self._is_busy() and not first:
                await asyncio.sleep(0.02)
            else:
                delivery = Delivery(*self._waiting.popitem(last=False))
                self._sending.add(delivery)
                await self._deliver(delivery)
                self._sending.discard(delivery)

    async def _deliver(self, delivery: Delivery) -> None:
        backoff = Backoff(0.5, 5.0)
        for tries_left in reversed(range(TRIES)):
            if not delivery.is_wanted:
                return
            try:
                await delivery.send()
            except (ApiError, NoAnswerError) as error:
                if _is_over(delivery, error):
                    return
                if not isinstance(error, NoAnswerError) or error.sent:  # an absent server is said by the client
                    self._trouble.begins("events or conditions cannot be written", str(error))
                if not tries_left or (isinstance(error, ApiError) and error.status < 429):
                    self.dropped += 1
                    return
                await asyncio.sleep(max(backoff.pause(), error.retry_after if isinstance(error, ApiError) else 0))
            else:
                self._trouble.ends()
                return


def _is_over(delivery: Delivery, error: Exception) -> bool:
    """Whether what it was about is gone, or has been dropped while it was being sent."""
    return not delivery.is_wanted or (isinstance(error, ApiError) and error.status in (404, 409))
