"""Pods that let time pass before they are tried again."""

from __future__ import annotations

import math
from typing import Any

from scheduler_runtime.scheduling.pending.entry import Heap, QueuedPod, QueuePlace

WINDOW_SECONDS = 1.0
"""Backoffs end in whole seconds; pods whose backoff ends in the same one leave in the order of the queue."""
NEVER_BEGAN = float("-inf")


class BackingOff:
    """Two heaps as one: who was rejected may be taken early, whose attempt ended in an error may not."""

    def __init__(
        self, first_seconds: float = 1.0, longest_seconds: float = 10.0, *, lets_go_early: bool = True
    ) -> None:
        self.first_seconds = first_seconds
        self.longest_seconds = longest_seconds
        self._lets_go_early = lets_go_early
        self._rejected = Heap(QueuePlace.BACKOFF)
        self._failed = Heap(QueuePlace.BACKOFF)

    def ends_at(self, entry: QueuedPod) -> float:
        """Return the second in which the backoff of ``entry`` ends, counted from when it last came to wait.

        It doubles with each rejection, or with each error in a row if the last attempt ended in one.
        """
        times = entry.errors or entry.rejections
        if not times or not self.longest_seconds:
            return NEVER_BEGAN
        seconds = min(self.first_seconds * 2.0 ** min(times - 1, 32), self.longest_seconds)
        return _window(entry.added_at + seconds)

    def is_backing_off(self, entry: QueuedPod, now: float) -> bool:
        """Whether ``entry`` has still to wait: until its second is over, so that whole windows leave at once."""
        return self.ends_at(entry) >= _window(now)

    def push(self, entry: QueuedPod) -> None:
        """Let ``entry`` back off. Without a plugin that rejected it, its attempt has ended in an error."""
        if entry.plugins:
            self._rejected.push(entry, (self.ends_at(entry), entry.key))
        else:
            self._failed.push(entry, (self.ends_at(entry),))

    def discard(self, uid: str) -> None:
        for heap in (self._rejected, self._failed):
            heap.discard(uid)

    def sweep(self) -> None:
        """Compare what comes from now on with nothing that has left."""
        self._rejected.sweep()

    def pop_early(self) -> QueuedPod | None:
        """Take out the rejected pod whose backoff ends first, if it may go before that."""
        return self._rejected.pop() if self._lets_go_early else None

    def pop_ended(self, now: float) -> list[QueuedPod]:
        """Take out everything whose backoff is over."""
        return [entry for heap in (self._rejected, self._failed) for entry in heap.pop_until(_is_over_at(now))]

    def over_at(self) -> float | None:
        """Return when the next backoff is over; None when nothing backs off."""
        keys = [key for heap in (self._rejected, self._failed) if (key := heap.first_key()) is not None]
        return min((key[0] + WINDOW_SECONDS for key in keys), default=None)


def _window(at: float) -> float:
    return math.floor(at / WINDOW_SECONDS) * WINDOW_SECONDS


def _is_over_at(now: float) -> Any:
    window = _window(now)
    return lambda key: key[0] < window
