"""Messages to the API server that nobody waits for: sent in order, a few at a time, behind bindings.

Bounded: when the API server cannot keep up the newest is dropped and counted, because a scheduler that dies of its
unsent events helps nobody.
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
"""The longest wait for a message to end: longer than it takes until a silent connection counts as dead."""
BUSY_SECONDS = 0.02
"""How long senders rest at a time while all slots for bindings are taken."""


class Delivery:
    """A message that is being sent, perhaps not for the first time.

    The two asyncio events are created when somebody waits for them: few messages fail or are waited for.
    """

    __slots__ = ("_finished", "_is_closed", "_is_dropped", "_retry_wait", "_sender", "send")

    def __init__(self, send: Send, sender: asyncio.Task[None]) -> None:
        self.send = send
        self._is_dropped = False
        self._sender = sender
        self._is_closed = False
        """Whether the sender may not be cancelled because of this message any more, or has been already."""
        self._retry_wait: asyncio.Event | None = None
        self._finished: asyncio.Event | None = None

    def drop(self) -> None:
        """Do not send it again if the current try fails."""
        self._is_dropped = True
        if self._retry_wait is not None:
            self._retry_wait.set()

    def is_dropped(self) -> bool:
        """Return whether it is not to be sent again."""
        return self._is_dropped

    async def wait_before_retry(self, seconds: float) -> None:
        """Wait before the next try; return at once when there will be none."""
        self._retry_wait = asyncio.Event()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._retry_wait.wait()

    async def finished(self) -> None:
        """Return when nothing of it is under way any more. A message that takes too long is cancelled."""
        self._finished = self._finished or asyncio.Event()
        late = asyncio.get_running_loop().call_later(SILENCE_SECONDS, self._cancel)
        try:
            await self._finished.wait()
        finally:
            late.cancel()

    def _cancel(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._sender.cancel()

    def absorb_own_cancellation(self) -> bool:
        """Take back the cancellation by ``finished``; return whether there was no other, so that the sender goes on."""
        return self._is_closed and not self._sender.uncancel()

    def close(self) -> None:
        """Note that nothing of it is under way any more."""
        # Otherwise a late timer would cancel the sender while it sends the next message.
        self._is_closed = True
        if self._finished is not None:
            self._finished.set()


class Outbox:
    """Messages by key: a message that is put while another of its key waits takes the place of that one.

    Two of one key are never under way together, so that the newest arrives last.
    """

    def __init__(
        self, *, senders: int = 8, longest: int = LONGEST, is_busy: Callable[[], bool] = lambda: False
    ) -> None:
        """``is_busy`` tells when something more important is being sent: only one sender goes on then."""
        self.dropped = 0
        self._waiting: OrderedDict[Hashable, Send] = OrderedDict()
        self._senders = senders
        self._longest = longest
        self._is_busy = is_busy
        self._has_work = asyncio.Event()
        self._sending: dict[Hashable, Delivery] = {}
        self._trouble = LogOnce(logger)
        self._full = LogOnce(logger)

    def __len__(self) -> int:
        """Return how many messages wait or are being sent."""
        return len(self._waiting) + len(self._sending)

    def put(self, key: Hashable, send: Send) -> None:
        """Call ``send`` soon, unless the box is full. ``send`` is made anew for each try."""
        if key not in self._waiting and len(self._waiting) >= self._longest:
            self.dropped += 1
            self._full.failing(f"{self._longest} events and conditions wait to be sent; further ones are dropped")
            return
        # A key that waits already stays in its place: the newest message is sent when the first one would have been.
        self._waiting[key] = send
        self._has_work.set()

    def drop(self, key: Hashable) -> None:
        """Forget the message that waits under ``key``; one that is being sent is not sent again when it fails."""
        self._waiting.pop(key, None)
        if delivery := self._sending.get(key):
            delivery.drop()

    async def drop_and_wait(self, key: Hashable) -> None:
        """Drop the message of ``key``, and return when nothing of it is under way any more.

        A request that takes long is cancelled. Nothing of it arrives afterwards, unless the API server is about to
        carry it out at that moment.
        """
        self._waiting.pop(key, None)
        if delivery := self._sending.get(key):
            delivery.drop()
            await delivery.finished()

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._senders):
                group.create_task(self._run_sender(gives_way=number > 0))

    async def drain(self) -> None:
        """Return when everything that was put has been sent."""
        while len(self):  # noqa: ASYNC110  only called at the end of the process
            await asyncio.sleep(0.02)

    async def _run_sender(self, *, gives_way: bool) -> None:
        sender = cast("asyncio.Task[None]", asyncio.current_task())
        while True:
            # The oldest, but for keys under way: two of one key could overtake each other on the wire.
            key = None
            for waiting in self._waiting:
                if waiting not in self._sending:
                    key = waiting
                    break
            if key is None:
                if self._full.sentence:
                    self._full.recovered()
                self._has_work.clear()
                await self._has_work.wait()
            elif gives_way and self._is_busy():
                await asyncio.sleep(BUSY_SECONDS)
            else:
                delivery = self._sending[key] = Delivery(self._waiting.pop(key), sender)
                try:
                    await self._send(delivery)
                except asyncio.CancelledError:
                    if not delivery.absorb_own_cancellation():
                        raise
                finally:
                    del self._sending[key]
                    delivery.close()
                    self._has_work.set()  # another message of this key may have waited for this one

    async def _send(self, delivery: Delivery) -> None:
        backoff: Backoff | None = None
        for tries_left in reversed(range(TRIES)):
            if delivery.is_dropped():
                return
            began = time.monotonic()
            try:
                await delivery.send()
            except (ApiError, NoResponseError) as error:
                if delivery.is_dropped() or (isinstance(error, ApiError) and _is_missed_by_nobody(error)):
                    return
                if not isinstance(error, NoResponseError) or error.sent:  # an absent server is logged by the client
                    self._trouble.failing("events or conditions cannot be written", str(error), began)
                if not tries_left or (isinstance(error, ApiError) and error.is_final):
                    self.dropped += 1
                    return
                backoff = backoff or Backoff(0.5, 5.0)
                await delivery.wait_before_retry(backoff.next_delay(retry_after(error)))
            except Exception:
                # Not even made, because of something in this message: the senders go on with the others.
                logger.exception("an event or a condition cannot be written")
                self.dropped += 1
                return
            else:
                if self._trouble.sentence:
                    self._trouble.recovered(began)
                return


def _is_missed_by_nobody(refusal: ApiError) -> bool:
    """True if the pod is gone, another has its name now, or its namespace is being deleted with all that is in it."""
    return refusal.status in (404, 409) or refusal.is_namespace_ending
