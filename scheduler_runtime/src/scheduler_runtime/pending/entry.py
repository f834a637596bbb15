"""One waiting pod, and the heaps it waits in."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol


class Pod(Protocol):
    """What the queue needs to know about a pod; the rest is for the plugins."""

    @property
    def uid(self) -> str: ...


class Place(Enum):
    """Where a pod is."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    PARKED = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    BINDING = "binding"


@dataclass(slots=True, eq=False)
class Entry:
    """A pod, and what has become of it so far."""

    pod: Any
    profile: str
    added_at: float
    """When it last came to wait; pods of equal priority are taken in this order."""
    place: Place = Place.ACTIVE
    attempts: int = 0
    rejections: int = 0
    """How often it was found unschedulable since it was first seen."""
    errors: int = 0
    """How often in a row an attempt ended in an error; a rejection ends the row."""
    plugins: frozenset[str] = frozenset()
    """Who rejected it the last time: only what they registered can wake it."""
    ticket: int = field(default=0, repr=False)
    """Grows with each move, so that what an older move left in a heap is recognised."""

    @property
    def uid(self) -> str:
        return str(self.pod.uid)


class Heap:
    """Entries of one place in the order of a key; those that have moved on are dropped when met."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._items: list[tuple[Any, int, int, Entry]] = []
        self._pushes = 0

    def push(self, entry: Entry, key: Any) -> None:
        """Put ``entry`` here, by ``key``; equal keys leave in the order they came."""
        entry.place = self._place
        entry.ticket += 1
        self._pushes += 1
        heapq.heappush(self._items, (key, self._pushes, entry.ticket, entry))

    def first_key(self) -> Any:
        """Return the smallest key, None when nothing is here."""
        self._drop_moved()
        return self._items[0][0] if self._items else None

    def pop(self) -> Entry | None:
        self._drop_moved()
        return heapq.heappop(self._items)[3] if self._items else None

    def pop_until(self, is_due: Callable[[Any], bool]) -> list[Entry]:
        """Take out everything whose key is due."""
        due: list[Entry] = []
        while (key := self.first_key()) is not None and is_due(key):
            due.append(heapq.heappop(self._items)[3])
        return due

    def _drop_moved(self) -> None:
        while self._items and not self._is_here(self._items[0]):
            heapq.heappop(self._items)

    def _is_here(self, item: tuple[Any, int, int, Entry]) -> bool:
        _, _, ticket, entry = item
        return entry.place is self._place and entry.ticket == ticket
