"""One waiting pod, and the heaps it waits in."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

STALE_KEPT = 64
"""How many items may be left in a heap by entries that have moved on, besides one for each that is here."""


class Pod(Protocol):
    """What the queue needs to know about a pod; the rest is for the plugins."""

    @property
    def uid(self) -> str: ...


class QueuePlace(Enum):
    """Where a pod is."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    PARKED = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    BINDING = "binding"


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod, and what has become of it so far."""

    pod: Any
    """Its newest version."""
    profile: str
    added_at: float
    """When it last came to wait; pods of equal priority are taken in this order."""
    place: QueuePlace = QueuePlace.ACTIVE
    waits_since: float = float("inf")
    """When it first became active."""
    attempts: int = 0
    rejections: int = 0
    """How often it was found unschedulable since it was first seen."""
    errors: int = 0
    """How often in a row an attempt ended in an error; a rejection ends the row."""
    plugins: frozenset[str] = frozenset()
    """Who rejected it the last time: only what they registered can wake it."""
    waits_for: frozenset[str] = frozenset()
    """Those of ``plugins`` that wait for something they started themselves: woken by them it does not back off."""
    error: str = ""
    """What the last attempt ended in, if that was an error."""
    gate: str = ""
    """The plugin that keeps it from becoming active, while it is gated."""
    key: Any = None
    """Where it stands among the active pods, as of when its gates were last passed; None when they were not."""
    flushed_at: float = float("-inf")
    """When time alone woke it since it last came to wait."""
    was_flushed: bool = False
    """Whether nothing but the time woke it last."""
    is_wanted: bool = False
    """Whether a plugin asked to make it active while it was in flight."""
    uid: str = field(init=False)

    def __post_init__(self) -> None:
        self.uid = self.pod.uid


class Heap:
    """Entries of one place in the order of a key; what leaves otherwise than from the top is swept in time."""

    def __init__(self, place: QueuePlace) -> None:
        self._place = place
        self._items: list[tuple[Any, int, QueuedPod]] = []
        self._here: dict[str, int] = {}
        self._pushes = 0

    def push(self, entry: QueuedPod, key: Any) -> None:
        """Put ``entry`` here, by ``key``; equal keys leave in the order they came."""
        entry.place = self._place
        self._pushes += 1
        self._here[entry.uid] = self._pushes
        heapq.heappush(self._items, (key, self._pushes, entry))
        self._sweep_in_time()

    def discard(self, uid: str) -> None:
        """Take out the entry of this uid if it is here."""
        if self._here.pop(uid, None) is not None:
            self._sweep_in_time()

    def first_key(self) -> Any:
        """Return the smallest key, None when nothing is here."""
        while self._items and not self._is_here(self._items[0]):
            heapq.heappop(self._items)
        return self._items[0][0] if self._items else None

    def pop(self) -> QueuedPod | None:
        if self.first_key() is None:
            return None
        entry = heapq.heappop(self._items)[2]
        del self._here[entry.uid]
        return entry

    def pop_until(self, is_due: Callable[[Any], bool]) -> list[QueuedPod]:
        """Take out everything whose key is due."""
        due: list[QueuedPod] = []
        while (key := self.first_key()) is not None and is_due(key) and (entry := self.pop()):
            due.append(entry)
        return due

    def _sweep_in_time(self) -> None:
        """Drop what has left, once that is most of the items: a standby takes nothing from the top."""
        if len(self._items) > 2 * len(self._here) + STALE_KEPT:
            self.sweep()

    def sweep(self) -> None:
        """Drop what has left, so that what comes is compared with nothing else than what is here."""
        self._items = [item for item in self._items if self._is_here(item)]
        heapq.heapify(self._items)

    def _is_here(self, item: tuple[Any, int, QueuedPod]) -> bool:
        _, push, entry = item
        return self._here.get(entry.uid) == push
