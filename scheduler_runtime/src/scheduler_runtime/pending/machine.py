"""Every pod that waits for a node, and why it waits.

             add                     take                    settle
  unknown ─────────► active ───────────────► in flight ───────────────► binding ──► removed
                     ▲    ▲                  │       │                     │     (bound, deleted)
                     │    │ time             │ park  │ retry               │ retry
               event │    backoff ◄──────────┼───────┴─────────────────────┘
                     │    ▲                  ▼
                     └────┴─────── parked, gated

* A parked pod is woken by an event that a plugin which rejected it registered, if the plugin's
  hint says so; after five minutes in any case. If it still has time to back off, it does that first.
* Events that come while a pod is in flight are kept and shown to it when it is parked, because its
  plugins may have looked before the event.
* A gate (a pre_enqueue plugin) keeps a pod from becoming active; it is asked at each move there.
* When nothing is active, a pod that only backs off from a rejection is taken early. One that backs
  off from an error is not.

A pure state machine: the time is an argument, nothing here waits. A pod that was added is in exactly
one place until it is removed.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Protocol

from scheduler_runtime.api import QueueEntry
from scheduler_runtime.framework import PluginError
from scheduler_runtime.pending import causes
from scheduler_runtime.pending.entry import Entry, Heap, Place

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 300.0
FLUSH_INTERVAL = 30.0


class Event(Protocol):
    """Something that happened in the cluster."""

    @property
    def resource(self) -> str: ...

    @property
    def action(self) -> Any: ...


Cause = str | Any
"""The event that woke a pod, or one of ``causes``."""


class Gate(Protocol):
    """Why a pod may not become active yet."""

    @property
    def plugin(self) -> str: ...


class Registered(Protocol):
    """What a plugin wants to hear of."""

    def covers(self, resource: str, action: Any) -> bool: ...


class Profile(Protocol):
    """The part of a profile's framework that the queue asks."""

    def pre_enqueue(self, pod: Any) -> Gate | None: ...

    def sort_key(self, entry: Any) -> Any: ...

    def events(self) -> Mapping[str, Iterable[Registered]]: ...

    def hint(self, plugin: str, event: Any, pod: Any) -> bool: ...


class Pending:
    """The pods of several profiles, in one order."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        *,
        first_backoff: float = 1.0,
        longest_backoff: float = 10.0,
        longest_parked: float = FLUSH_SECONDS,
        on_ready: Callable[[], None] = lambda: None,
        on_queued: Callable[[str, Cause], None] = lambda _queue, _cause: None,
        on_error: Callable[[Any, PluginError], None] = lambda _pod, _error: None,
    ) -> None:
        """``on_queued`` is told each time a pod comes to wait: in which of upstream's queues, and because of what.

        ``on_ready`` is called when there is something to take, or to take sooner than ``wake_at`` said.

        ``on_error`` is told of a pod that a plugin keeps from becoming active by failing.
        """
        self._profiles = profiles
        self._first_backoff = first_backoff
        self._longest_backoff = longest_backoff
        self._longest_parked = longest_parked
        self._on_ready = on_ready
        self._on_queued = on_queued
        self._on_error = on_error
        self._entries: dict[str, Entry] = {}
        self._active = Heap(Place.ACTIVE)
        self._backoff = Heap(Place.BACKOFF)
        self._error_backoff = Heap(Place.BACKOFF)
        self._parked: dict[tuple[str, str], dict[str, Entry]] = {}
        self._in_flight: dict[str, int] = {}
        self._kept: deque[tuple[int, str, Event]] = deque()
        self._kept_from = 0
        self._flushed_at = float("-inf")
        self._interested: dict[tuple[str, Any], list[tuple[str, str]]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, uid: object) -> bool:
        return uid in self._entries

    def entries(self) -> Iterator[Entry]:
        return iter(list(self._entries.values()))

    def counts(self) -> Mapping[Place, int]:
        """Return how many pods are in each place. May be asked from another thread."""
        return Counter(entry.place for entry in self.entries())

    def kept_events(self) -> list[Any]:
        """Return the events that are kept for the pods in flight. May be asked from another thread."""
        return [event for _, _, event in self._kept.copy()]

    # Pods come, change and go

    def add(self, pod: Any, profile: str, now: float) -> None:
        """Take in a pod that has no node yet."""
        entry = self._entries[pod.uid] = Entry(pod, profile, now)
        self._activate(entry, now, causes.SEEN)

    def update(self, pod: Any, events: Collection[Event], now: float) -> None:
        """Take over a new version of a pod that is here; ``events`` say what is new about it."""
        entry = self._entries[pod.uid]
        entry.pod = pod
        match entry.place:
            case Place.ACTIVE:
                self._leave(entry)
                self._activate(entry, now, causes.UNCHANGED)
            case Place.IN_FLIGHT:
                self._keep(pod.uid, events)
            case Place.PARKED | Place.GATED:
                woken_by = next((event for event in events if self._is_woken(entry, event)), None)
                if woken_by is not None:
                    self._requeue(entry, now, woken_by)

    def remove(self, uid: str) -> None:
        """Forget a pod that is bound or gone; one that is not here is no error."""
        entry = self._entries.pop(uid, None)
        if entry:
            self._leave(entry)

    # Attempts

    def take(self, now: float) -> Entry | None:
        """Take the next pod to place, if there is one; it is in flight until settled, parked or retried."""
        self._tick(now)
        entry = self._active.pop()
        while entry is None and (early := self._backoff.pop()):
            self._activate(early, now, causes.TAKEN_EARLY)  # its gate may say no
            entry = self._active.pop()
        if entry:
            entry.place = Place.IN_FLIGHT
            entry.attempts += 1
            entry.is_wanted = False
            self._in_flight[entry.uid] = self._kept_from + len(self._kept)
        return entry

    def wake_at(self) -> float | None:
        """Return when time alone makes a pod active; None when only an event can."""
        keys = [key for heap in (self._backoff, self._error_backoff) if (key := heap.first_key()) is not None]
        if self._parked:
            keys.append(self._flushed_at + FLUSH_INTERVAL)
        return min(keys, default=None)

    def settle(self, uid: str) -> None:
        """Note that the pod has a node and is being bound; no event can change that any more."""
        entry = self._entries.get(uid)
        if entry:
            self._leave(entry)
            entry.place = Place.BINDING

    def park(self, uid: str, plugins: Collection[str], now: float) -> None:
        """Put away a pod that ``plugins`` rejected, unless what happened meanwhile helps it already."""
        entry = self._entries.get(uid)
        if not entry:
            return
        if not plugins:
            self.retry(uid, now)
            return
        missed = list(self._missed(uid))
        self._leave(entry)
        entry.gate = ""
        entry.plugins, entry.added_at = frozenset(plugins), now
        entry.rejections += 1
        entry.errors = 0
        entry.was_flushed = False
        if entry.is_wanted:
            self._activate(entry, now, causes.ACTIVATED)
        elif any(self._is_woken(entry, event) for event in missed):
            self._requeue(entry, now, causes.ATTEMPT_FAILED)
        else:
            self._put_away(entry, Place.PARKED, causes.ATTEMPT_FAILED)

    def retry(self, uid: str, now: float) -> None:
        """Let a pod whose attempt ended in an error back off and come again."""
        entry = self._entries.get(uid)
        if not entry:
            return
        self._leave(entry)
        self._back_off_from_error(entry, now)

    # What changes about the profiles

    def profiles_changed(self, names: Collection[str], now: float) -> list[Any]:
        """Ask the plugins of the profiles called ``names`` anew, because they are others now.

        Who waits for an event of one that is there no more would wait in vain. The pods of a profile that is gone are
        removed and returned.
        """
        self._interested.clear()
        concerned = [entry for entry in self.entries() if entry.profile in names]
        gone = [entry for entry in concerned if entry.profile not in self._profiles]
        for entry in gone:
            self.remove(entry.uid)
        waiting = [entry for entry in concerned if entry.place in (Place.ACTIVE, Place.PARKED, Place.GATED)]
        for entry in waiting:
            self._leave(entry)
        self._active.sweep()  # the keys of two orders cannot be compared
        for entry in concerned:
            if entry.uid in self._entries:
                self._ask_again(entry, now)
        return [entry.pod for entry in gone]

    def back_off(self, first: float, longest: float) -> None:
        """Let pods back off so long from now on."""
        self._first_backoff, self._longest_backoff = first, longest

    def _ask_again(self, entry: Entry, now: float) -> None:
        match entry.place:
            case Place.ACTIVE | Place.GATED:
                entry.plugins = frozenset()
                self._activate(entry, now, causes.UNCHANGED)
            case Place.PARKED:
                self._requeue(entry, now, causes.ACTIVATED)
            case Place.IN_FLIGHT:
                entry.is_wanted = True

    # What happens in the cluster

    def happened(self, event: Event, now: float, *, by: str = "", up_to_priority: int | None = None) -> None:
        """Wake the parked pods that ``event`` may help, and keep it for those in flight.

        The pod with the uid ``by`` brought it about by waiting again, and is not woken by it; nor are those above
        ``up_to_priority``.
        """
        if self._in_flight:
            self._keep("", [event])
        for profile, plugin in self._who_wants(event):
            for entry in list(self._parked.get((profile, plugin), {}).values()):
                if entry.uid == by or (up_to_priority is not None and entry.pod.spec.priority > up_to_priority):
                    continue
                if self._hears(entry, event) and self._profiles[profile].hint(plugin, event, entry.pod):
                    self._requeue(entry, now, event)

    def activate(self, uids: Iterable[str], now: float) -> None:
        """Make waiting pods active at once, because a plugin knows that they have a chance.

        One in flight becomes active again as soon as it is parked.
        """
        for uid in uids:
            entry = self._entries.get(uid)
            if entry and entry.place is Place.IN_FLIGHT:
                entry.is_wanted = True
            elif entry and entry.place in (Place.PARKED, Place.BACKOFF, Place.GATED):
                self._leave(entry)
                self._activate(entry, now, causes.ACTIVATED)

    # Moves

    def _activate(self, entry: Entry, now: float, cause: Cause) -> None:
        profile = self._profiles[entry.profile]
        try:
            gate = profile.pre_enqueue(entry.pod)
            key = None if gate else profile.sort_key(QueueEntry(entry.pod, entry.added_at, entry.attempts))
        except PluginError as error:
            logger.exception("plugin failed", extra={"pod": entry.uid, "profile": entry.profile})
            self._back_off_from_error(entry, now)
            self._on_error(entry.pod, error)
            return
        entry.gate = gate.plugin if gate else ""
        if gate:
            entry.plugins |= {gate.plugin}
            self._put_away(entry, Place.GATED, cause)
        else:
            entry.waits_since = entry.waits_since or now
            self._active.push(entry, key)
            self._on_queued("active", cause)
            self._on_ready()

    def _back_off_from_error(self, entry: Entry, now: float) -> None:
        entry.plugins, entry.added_at = frozenset(), now
        entry.errors += 1
        entry.was_flushed = False
        self._error_backoff.push(entry, self._backs_off_until(entry))
        self._on_queued("backoff", causes.ATTEMPT_FAILED)
        self._on_ready()

    def _requeue(self, entry: Entry, now: float, cause: Cause) -> None:
        self._leave(entry)
        until = self._backs_off_until(entry)
        if entry.place is not Place.GATED and until > now:
            self._backoff.push(entry, until)
            self._on_queued("backoff", cause)
            self._on_ready()
        else:
            self._activate(entry, now, cause)

    def _put_away(self, entry: Entry, place: Place, cause: Cause) -> None:
        entry.place = place
        self._on_queued("unschedulable", cause)
        for plugin in entry.plugins:
            self._parked.setdefault((entry.profile, plugin), {})[entry.uid] = entry

    def _leave(self, entry: Entry) -> None:
        """Take a pod out of every index and heap, whichever it is in."""
        for heap in (self._active, self._backoff, self._error_backoff):
            heap.discard(entry.uid)
        for plugin in entry.plugins:
            index = self._parked.get((entry.profile, plugin))
            if index and index.pop(entry.uid, None) and not index:
                del self._parked[entry.profile, plugin]
        if self._in_flight.pop(entry.uid, None) is not None:
            self._drop_kept()

    def _backs_off_until(self, entry: Entry) -> float:
        times = entry.errors or entry.rejections
        seconds = self._first_backoff * 2.0 ** min(times - 1, 32) if times else 0.0
        return entry.added_at + min(seconds, self._longest_backoff)

    def _tick(self, now: float) -> None:
        for heap in (self._backoff, self._error_backoff):
            for entry in heap.pop_until(lambda until: bool(until <= now)):
                self._activate(entry, now, causes.BACKED_OFF)
        if now - self._flushed_at < FLUSH_INTERVAL:
            return
        self._flushed_at = now
        waiting = {uid: entry for index in self._parked.values() for uid, entry in index.items()}
        for entry in waiting.values():
            if now - entry.added_at > self._longest_parked:
                entry.was_flushed = True
                self._requeue(entry, now, causes.WAITED_TOO_LONG)

    # Events

    def _who_wants(self, event: Event) -> list[tuple[str, str]]:
        """Return the plugins that registered ``event``. One that registered nothing waits for time alone."""
        what = (event.resource, event.action)
        if what not in self._interested:
            self._interested[what] = [
                (name, plugin)
                for name, profile in self._profiles.items()
                for plugin, registered in profile.events().items()
                if any(one.covers(*what) for one in registered)
            ]
        return self._interested[what]

    def _hears(self, entry: Entry, event: Event) -> bool:
        """Whether ``event`` is one for a pod that may be gated: only what its gate registered can open it."""
        return not entry.gate or (entry.profile, entry.gate) in self._who_wants(event)

    def _is_woken(self, entry: Entry, event: Event) -> bool:
        if not self._hears(entry, event):
            return False
        profile = self._profiles[entry.profile]
        wanted = (plugin for name, plugin in self._who_wants(event) if name == entry.profile)
        return any(plugin in entry.plugins and profile.hint(plugin, event, entry.pod) for plugin in wanted)

    def _keep(self, uid: str, events: Iterable[Event]) -> None:
        """Keep events for the pods in flight; ``uid`` is empty for what concerns all of them."""
        for event in events:
            self._kept.append((self._kept_from + len(self._kept), uid, event))

    def _missed(self, uid: str) -> Iterator[Event]:
        """Give what happened since the pod was taken; nothing for one that is settled."""
        since = self._in_flight.get(uid)
        if since is not None:
            yield from (event for number, whose, event in self._kept if number >= since and whose in ("", uid))

    def _drop_kept(self) -> None:
        """Drop the events that no pod in flight has still to see. The first in flight is the oldest."""
        oldest = next(iter(self._in_flight.values()), self._kept_from + len(self._kept))
        while self._kept and self._kept[0][0] < oldest:
            self._kept.popleft()
            self._kept_from += 1
