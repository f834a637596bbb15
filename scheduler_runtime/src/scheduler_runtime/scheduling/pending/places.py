"""The places in which pods wait: the heap of active pods, backoff, parked pods, and in flight with their events."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable, Iterator

from scheduler_runtime.api import Event
from scheduler_runtime.scheduling.pending.queued_pod import QueuedPod, QueuePlace, SortKey

MAX_STALE = 64
"""How many items may be left in a heap by pods that have moved on, besides one for each that is here."""
WINDOW_SECONDS = 1.0
"""Backoffs end in whole seconds; pods whose backoff ends in the same one leave in the order of the queue."""
NEVER_BEGAN = float("-inf")


class Heap:
    """The pods of one place in the order of a key.

    Taking a pod out of the middle only removes it from the index; its item stays in the heap until it comes to the
    top, or until most items are stale.
    """

    def __init__(self, place: QueuePlace) -> None:
        self._place = place
        self._items: list[tuple[SortKey, int, QueuedPod]] = []
        self.latest_push: dict[str, int] = {}
        """The number of the push that put each pod here, by uid: an item of an earlier push is stale."""
        self._pushes = 0

    def __len__(self) -> int:
        """Return how many pods are here."""
        return len(self.latest_push)

    def push(self, entry: QueuedPod, key: SortKey) -> None:
        """Put ``entry`` here, by ``key``; equal keys leave in the order they came."""
        entry.place = self._place
        # The number breaks ties in the order of the pushes, and tells this push from earlier ones of the same pod.
        self._pushes += 1
        self.latest_push[entry.uid] = self._pushes
        heapq.heappush(self._items, (key, self._pushes, entry))
        # A standby takes nothing from the top: without this its heap would keep every pod that ever came.
        if len(self._items) > 2 * len(self.latest_push) + MAX_STALE:
            self.compact()

    def discard(self, uid: str) -> None:
        """Take out the pod with this uid if it is here."""
        if self.latest_push.pop(uid, None) is None:
            return
        if len(self._items) > 2 * len(self.latest_push) + MAX_STALE:
            self.compact()

    def first_key(self) -> SortKey:
        """Return the smallest key, None when nothing is here."""
        while self._items:
            key, push, entry = self._items[0]
            if self.latest_push.get(entry.uid) == push:
                return key
            heapq.heappop(self._items)
        return None

    def pop(self) -> QueuedPod | None:
        """Take out the pod with the smallest key, if there is one."""
        while self._items:
            _, push, entry = heapq.heappop(self._items)
            if self.latest_push.get(entry.uid) == push:
                del self.latest_push[entry.uid]
                return entry
        return None

    def compact(self) -> None:
        """Drop the stale items, so that what comes is compared with nothing but what is here."""
        self._items = [item for item in self._items if self.latest_push.get(item[2].uid) == item[1]]
        heapq.heapify(self._items)


class BackingOff:
    """Pods that let time pass before they are tried again: upstream's backoffQ, which is two heaps as well.

    A pod that was rejected may be taken early, when nothing else is active (KEP-5142, SchedulerPopFromBackoffQ). One
    whose attempt ended in an error may not: the error would most likely come again.
    """

    def __init__(self, initial_seconds: float = 1.0, max_seconds: float = 10.0, *, lets_go_early: bool = True) -> None:
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds
        self._lets_go_early = lets_go_early
        self._rejected = Heap(QueuePlace.BACKOFF)
        self._failed = Heap(QueuePlace.BACKOFF)

    def change_seconds(self, initial: float, longest: float) -> None:
        """Let pods back off so long from now on. Those that back off already keep the end that they have."""
        self._initial_seconds, self._max_seconds = initial, longest

    def ends_at(self, entry: QueuedPod) -> float:
        """Return the second in which the backoff of ``entry`` ends, counted from when it last came to wait.

        It doubles with each rejection, or with each error in a row if the last attempt ended in one.
        """
        # As upstream's calculateBackoffDuration: ConsecutiveErrorsCount if there is one, else UnschedulableCount.
        times = entry.errors or entry.rejections
        if not times or not self._max_seconds:
            return NEVER_BEGAN
        seconds = min(self._initial_seconds * 2.0 ** min(times - 1, 32), self._max_seconds)  # 2**32 s are enough
        return _window(entry.added_at + seconds)

    def is_backing_off(self, entry: QueuedPod, now: float) -> bool:
        """Return whether ``entry`` has still to wait: until its second is over, so that whole windows leave at once."""
        return self.ends_at(entry) >= _window(now)

    def push(self, entry: QueuedPod) -> None:
        """Let ``entry`` back off. Without a plugin that rejected it, its attempt has ended in an error."""
        if entry.plugins:
            self._rejected.push(entry, (self.ends_at(entry), entry.key))
        else:
            # Without the key of the queue: it may be what failed (see ``SchedulingQueue._passes_gates``).
            self._failed.push(entry, (self.ends_at(entry),))

    def discard(self, uid: str) -> None:
        """Take out the pod with this uid if it is here."""
        for heap in (self._rejected, self._failed):
            heap.discard(uid)

    def compact(self) -> None:
        """Compare what comes from now on with nothing that has left."""
        self._rejected.compact()  # only its keys contain those of plugins

    def pop_early(self) -> QueuedPod | None:
        """Take out the rejected pod whose backoff ends first, if it may go before that."""
        return self._rejected.pop() if self._lets_go_early else None

    def pop_ended(self, now: float) -> list[QueuedPod]:
        """Take out every pod whose backoff is over."""
        ended: list[QueuedPod] = []
        if self._rejected.latest_push or self._failed.latest_push:  # not so usually, before each decision
            window = _window(now)
            for heap in (self._rejected, self._failed):
                while (key := heap.first_key()) is not None and key[0] < window and (entry := heap.pop()):
                    ended.append(entry)
        return ended

    def next_end(self) -> float | None:
        """Return when the next backoff is over; None when nothing backs off."""
        first = None
        for heap in (self._rejected, self._failed):
            if heap.latest_push:
                end = heap.first_key()[0] + WINDOW_SECONDS
                first = end if first is None else min(first, end)
        return first


def _window(at: float) -> float:
    return math.floor(at / WINDOW_SECONDS) * WINDOW_SECONDS


class Parked:
    """Pods that wait for an event, by the plugins that rejected them or keep them out at a gate."""

    def __init__(self) -> None:
        self._by_plugin: dict[tuple[str, str], dict[str, QueuedPod]] = {}
        self.count = 0
        """How often a pod was put here."""

    def __bool__(self) -> bool:
        """Return whether any pod is parked."""
        return bool(self._by_plugin)

    def __iter__(self) -> Iterator[QueuedPod]:
        """Each pod once, as of now: the caller may take pods out meanwhile."""
        return iter({uid: entry for entries in self._by_plugin.values() for uid, entry in entries.items()}.values())

    def rejected_by(self, profile: str, plugin: str) -> list[QueuedPod]:
        """Return the pods that ``plugin`` of ``profile`` rejected."""
        return list(self._by_plugin.get((profile, plugin), {}).values())

    def is_rejected_by(self, entry: QueuedPod, profile: str, plugin: str) -> bool:
        """Return whether ``entry`` is here, and ``plugin`` of ``profile`` has rejected it."""
        entries = self._by_plugin.get((profile, plugin))
        return entries is not None and entries.get(entry.uid) is entry

    def put(self, entry: QueuedPod) -> None:
        """Keep ``entry`` for each of its plugins, which stay the same while it is here."""
        self.count += 1
        entry.parked_as = self.count
        for plugin in entry.plugins:
            self._by_plugin.setdefault((entry.profile, plugin), {})[entry.uid] = entry

    def discard(self, entry: QueuedPod) -> None:
        """Take out ``entry`` if it is here."""
        for plugin in entry.plugins:
            entries = self._by_plugin.get((entry.profile, plugin))
            if entries and entries.pop(entry.uid, None) and not entries:
                del self._by_plugin[entry.profile, plugin]


class InFlight:
    """The pods that are being decided about, and the events since each of them was taken.

    An event is recorded until no pod is in flight that was taken before it: the plugins of such a pod may have looked
    before the event (upstream's in-flight events of the active queue, KEP-4247).
    """

    def __init__(self) -> None:
        self._next_event_of: dict[str, int] = {}
        """The number of the first event that each pod has to see, by uid; the pod that was taken first comes first."""
        self._events: deque[tuple[int, str, Event]] = deque()
        self._next_number = 0

    def __len__(self) -> int:
        """Return how many pods are in flight."""
        return len(self._next_event_of)

    def begin(self, uid: str) -> None:
        """Note that the pod with this uid was taken."""
        self._next_event_of[uid] = self._next_number

    def end(self, uid: str) -> None:
        """Note that the pod is not in flight any more, and drop the events that were recorded for it alone."""
        if self._next_event_of.pop(uid, None) is None:
            return
        # The pods are in the order in which they were taken, so the first of them needs the oldest events.
        oldest = next(iter(self._next_event_of.values()), self._next_number)
        while self._events and self._events[0][0] < oldest:
            self._events.popleft()

    def record(self, events: Iterable[Event], *, uid: str = "") -> None:
        """Record ``events`` for the pod with this uid, or for all that are in flight now."""
        for event in events:
            self._events.append((self._next_number, uid, event))
            self._next_number += 1

    def events_since(self, uid: str) -> list[Event]:
        """Return the events since the pod was taken; none for a pod that is not in flight."""
        first = self._next_event_of.get(uid)
        if first is None:
            return []
        return [event for number, concerned, event in self._events if number >= first and concerned in ("", uid)]

    def events(self) -> list[Event]:
        """Return all recorded events. May be called from another thread."""
        return [event for _, _, event in self._events.copy()]
