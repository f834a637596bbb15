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
from typing import cast

from scheduler_runtime.kube.client import ApiError, NoResponseError, retry_after
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff

logger = logging.getLogger(__name__)

Send = Callable[[], Awaitable[None]]
TRIES = 3
LONGEST = 20_000
SILENCE_SECONDS = 4.0
"""So long silence is waited for at most: longer than it takes until a connection that is silent counts as dead."""


class Delivery:
    """A message that is being sent, perhaps not for the first time. What few of them need is made when they do."""

    __slots__ = ("_is_given_up", "_over", "_pausing", "_sender", "is_wanted", "send")

    def __init__(self, send: Send, sender: asyncio.Task[None]) -> None:
        self.send = send
        self.is_wanted = True
        self._sender = sender
        self._is_given_up = False
        self._pausing: asyncio.Event | None = None
        self._over: asyncio.Event | None = None

    def drop(self) -> None:
        """Try no more."""
        self.is_wanted = False
        if self._pausing is not None:
            self._pausing.set()

    async def pause(self, seconds: float) -> None:
        """Wait before the next try, unless there will be none."""
        self._pausing = asyncio.Event()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._pausing.wait()

    async def over(self) -> None:
        """Return when nothing of it is under way any more. If it takes long, what has not left by then never will."""
        self._over = self._over or asyncio.Event()
        late = asyncio.get_running_loop().call_later(SILENCE_SECONDS, self._give_up)
        try:
            await self._over.wait()
        finally:
            late.cancel()

    def _give_up(self) -> None:
        if not self._is_given_up:
            self._is_given_up = True
            self._sender.cancel()

    def is_what_was_cancelled(self) -> bool:
        """Whether its sender was cancelled only because this was given up."""
        return self._is_given_up and not self._sender.uncancel()

    def end(self) -> None:
        """Nothing of it is under way any more."""
        self._is_given_up = True  # or it would take its sender's next message along
        if self._over is not None:
            self._over.set()


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
        self._trouble = LogOnce(logger)
        self._full = LogOnce(logger)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._sending)

    def put(self, key: Hashable, send: Send) -> None:
        """Send soon, unless the box is full."""
        if key not in self._waiting and len(self._waiting) >= self._longest:
            self.dropped += 1
            self._full.failing(f"{self._longest} events and conditions wait to be sent; further ones are dropped")
            return
        self._waiting[key] = send
        self._something.set()

    def drop(self, key: Hashable) -> None:
        """Forget what waits under ``key``; what is being sent is not sent again when it fails."""
        self._waiting.pop(key, None)
        if delivery := self._sending.get(key):
            delivery.drop()

    async def silence(self, key: Hashable) -> None:
        """Drop what waits under ``key``, and return when nothing of it is under way any more.

        What takes long is given up. Unless the API server is at it just then, nothing arrives any more.
        """
        self.drop(key)
        if delivery := self._sending.get(key):
            await delivery.over()

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
        sender = cast("asyncio.Task[None]", asyncio.current_task())
        while True:
            key = next((key for key in self._waiting if key not in self._sending), None)
            if key is None:
                self._full.recovered()
                self._something.clear()
                await self._something.wait()
            elif self._is_busy() and not first:
                await asyncio.sleep(0.02)
            else:
                await self._send(key, Delivery(self._waiting.pop(key), sender))

    async def _send(self, key: Hashable, delivery: Delivery) -> None:
        self._sending[key] = delivery
        try:
            await self._deliver(delivery)
        except asyncio.CancelledError:
            if not delivery.is_what_was_cancelled():
                raise
        finally:
            del self._sending[key]
            delivery.end()
            self._something.set()  # another of its key may have waited for this one

    async def _deliver(self, delivery: Delivery) -> None:
        backoff: Backoff | None = None
        for tries_left in reversed(range(TRIES)):
            if not delivery.is_wanted:
                return
            begun = time.monotonic()
            try:
                await delivery.send()
            except (ApiError, NoResponseError) as error:
                if _is_over(delivery, error):
                    return
                if not isinstance(error, NoResponseError) or error.sent:  # an absent server is said by the client
                    self._trouble.failing("events or conditions cannot be written", str(error), begun)
                if not tries_left or (isinstance(error, ApiError) and error.status < 429):
                    self.dropped += 1
                    return
                backoff = backoff or Backoff(0.5, 5.0)
                await delivery.pause(backoff.next_delay(retry_after(error)))
            else:
                self._trouble.recovered(begun)
                return


def _is_over(delivery: Delivery, error: Exception) -> bool:
    """Whether what it was about is gone, or has been dropped while it was being sent."""
    return not delivery.is_wanted or (isinstance(error, ApiError) and error.status in (404, 409))
