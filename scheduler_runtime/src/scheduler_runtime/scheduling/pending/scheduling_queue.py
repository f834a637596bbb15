"""Every pod that waits for a node, and why it waits.

             add                     take                    bind
  unknown ─────────► active ───────────────► in flight ───────────────► binding ──► removed
                     ▲    ▲                  │       │                     │     (bound, deleted)
                     │    │ time             │ park  │ retry               │ retry
               event │    backoff ◄──────────┼───────┴─────────────────────┘
                     │    ▲                  ▼
                     └────┴─────── parked, gated

* A parked pod is woken by an event that a plugin which rejected it registered, if the plugin's
  hint says so; after five minutes in any case. If it still has time to back off, it does that
  first, unless it waited for something that this plugin itself had started.
* Events that come while a pod is in flight are kept and shown to it when it is parked, because its
  plugins may have looked before the event.
* A gate (a pre_enqueue plugin) keeps a pod from going where it could be taken: it is asked on the way
  to active and to backoff, and not again on the way from backoff to active.
* When nothing is active, a pod that only backs off from a rejection is taken early, unless that is
  turned off. One that backs off from an error is not.

Two things are other than in kube-scheduler. A change of a pod in flight is shown to that pod and to no
other. A pod whose gate fails, instead of saying no, backs off and asks again.

A pure state machine: the time is an argument, nothing here waits. A pod that was added is in exactly
one place until it is removed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from scheduler_runtime.api import QueueEntry
from scheduler_runtime.framework import FailureLog, PluginError
from scheduler_runtime.scheduling.pending import upstream_names as causes
from scheduler_runtime.scheduling.pending.backing_off import BackingOff
from scheduler_runtime.scheduling.pending.entry import Heap, QueuedPod, QueuePlace
from scheduler_runtime.scheduling.pending.in_flight import InFlight
from scheduler_runtime.scheduling.pending.parked import Parked
from scheduler_runtime.scheduling.pending.protocols import Cause, Event, FailureReporter, Profile, QueueMetrics

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 300.0
FLUSH_INTERVAL = 30.0


class _NotCounted:
    def pod_queued(self, queue: str, cause: Cause) -> None:
        """Count nothing."""


class SchedulingQueue:
    """The pods of several profiles, in one order."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        *,
        backing_off: BackingOff | None = None,
        longest_parked: float = FLUSH_SECONDS,
        metrics: QueueMetrics | None = None,
        reporter: FailureReporter | None = None,
    ) -> None:
        """``metrics`` count each time a pod comes to wait.

        ``reporter`` reports on a pod that a plugin keeps from becoming active by failing.
        """
        self.ready = asyncio.Event()
        """Set when there is something to take, or to take sooner than ``wake_at`` said."""
        self._profiles = profiles
        self._longest_parked = longest_parked
        self.failures = FailureLog(logger)
        self._metrics = metrics or _NotCounted()
        self._reporter = reporter
        self._entries: dict[str, QueuedPod] = {}
        self._active = Heap(QueuePlace.ACTIVE)
        self._backing_off = backing_off or BackingOff()
        self._parked = Parked()
        self._in_flight = InFlight()
        self._flushed_at = float("-inf")
        self._interested: dict[tuple[str, Any], list[tuple[str, str]]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, uid: object) -> bool:
        return uid in self._entries

    def newest(self, pod: Any) -> Any:
        """Return the newest version of ``pod``; ``pod`` itself when it is not here."""
        entry = self._entries.get(pod.uid)
        return entry.pod if entry else pod

    def entries(self) -> Iterator[QueuedPod]:
        return iter(list(self._entries.values()))

    def counts(self) -> Mapping[QueuePlace, int]:
        """Return how many pods are in each place. May be asked from another thread."""
        return Counter(entry.place for entry in self.entries())

    def recorded_events(self) -> list[Any]:
        """Return the events that are kept for the pods in flight. May be asked from another thread."""
        return self._in_flight.events()

    # Pods come, change and go

    def add(self, pod: Any, profile: str, now: float) -> None:
        """Take in a pod that has no node yet."""
        entry = self._entries[pod.uid] = QueuedPod(pod, profile, now)
        self._activate(entry, now, causes.SEEN)

    def update(self, pod: Any, events: Collection[Event], now: float) -> None:
        """Take over a new version of a pod that is here; ``events`` say what is new about it."""
        entry = self._entries[pod.uid]
        entry.pod = pod
        match entry.place:
            case QueuePlace.ACTIVE | QueuePlace.BACKOFF:
                self._stand_anew(entry, now)
            case QueuePlace.IN_FLIGHT:
                self._in_flight.keep(events, uid=pod.uid)
            case QueuePlace.PARKED | QueuePlace.GATED:
                woken_by = [event for event in events if self._is_woken(entry, event)]
                if woken_by:
                    self._requeue(entry, now, woken_by[0], at_once=self._is_urgent(entry, woken_by))

    def remove(self, uid: str) -> None:
        """Forget a pod that is bound or gone; one that is not here is no error."""
        entry = self._entries.pop(uid, None)
        if entry:
            self._leave(entry)

    # Attempts

    def take(self, now: float) -> QueuedPod | None:
        """Take the next pod to place, if there is one; it is in flight until settled, parked or retried."""
        self._tick(now)
        entry = self._active.pop()
        if entry is None and (entry := self._backing_off.pop_early()):
            entry.waits_since = min(entry.waits_since, now)
            self._metrics.pod_queued("active", causes.TAKEN_EARLY)
        if entry:
            entry.place = QueuePlace.IN_FLIGHT
            entry.attempts += 1
            entry.is_wanted = False
            self._in_flight.begin(entry.uid)
        return entry

    def wake_at(self) -> float | None:
        """Return when time alone makes a pod active; None when only an event can."""
        flush_at = self._flushed_at + FLUSH_INTERVAL if self._parked else None
        return min((at for at in (self._backing_off.over_at(), flush_at) if at is not None), default=None)

    def mark_binding(self, uid: str) -> None:
        """Note that the pod has a node and is being bound; no event can change that any more."""
        entry = self._entries.get(uid)
        if entry:
            self._leave(entry)
            entry.place = QueuePlace.BINDING

    def park(self, uid: str, plugins: Collection[str], now: float, waits_for: Collection[str] = ()) -> None:
        """Put away a pod that ``plugins`` rejected, unless what happened meanwhile helps it already.

        Those of them in ``waits_for`` wait for something that they started themselves.
        """
        entry = self._entries.get(uid)
        if not entry:
            return
        if not plugins:
            self.retry(uid, now)
            return
        missed, was_watched = self._in_flight.missed(uid), entry.place is QueuePlace.IN_FLIGHT
        self._comes_back(entry, now, frozenset(plugins), frozenset(waits_for))
        entry.rejections += 1
        entry.errors = 0
        woken_by = [event for event in missed if self._is_woken(entry, event)]
        if woken_by or entry.is_wanted or not was_watched:
            self._requeue(entry, now, causes.ATTEMPT_FAILED, at_once=self._is_urgent(entry, woken_by))
        else:
            self._put_away(entry, QueuePlace.PARKED, causes.ATTEMPT_FAILED)

    def retry(self, uid: str, now: float, error: str = "") -> None:
        """Let a pod whose attempt ended in ``error`` back off and come again."""
        entry = self._entries.get(uid)
        if not entry:
            return
        self._comes_back(entry, now, frozenset(), frozenset())
        entry.errors += 1
        entry.error = error
        self._requeue(entry, now, causes.ATTEMPT_FAILED)

    # What changes about the profiles

    def change_profiles(self, names: Collection[str], now: float) -> list[Any]:
        """Ask the plugins of the profiles called ``names`` anew, because they are others now.

        Who waits for an event of one that is there no more would wait in vain. The pods of a profile that is gone are
        removed and returned.
        """
        self._interested.clear()
        concerned = [entry for entry in self.entries() if entry.profile in names]
        gone = [entry for entry in concerned if entry.profile not in self._profiles]
        for entry in gone:
            self.remove(entry.uid)
        for entry in concerned:
            if entry.place not in (QueuePlace.IN_FLIGHT, QueuePlace.BINDING):
                self._leave(entry)
        self._active.sweep()  # the keys of two orders cannot be compared
        self._backing_off.sweep()
        for entry in concerned:
            if entry.uid in self._entries:
                self._ask_again(entry, now)
        return [entry.pod for entry in gone]

    def change_backoff(self, first: float, longest: float) -> None:
        """Let pods back off so long from now on."""
        self._backing_off.first_seconds, self._backing_off.longest_seconds = first, longest

    def _ask_again(self, entry: QueuedPod, now: float) -> None:
        match entry.place:
            case QueuePlace.ACTIVE | QueuePlace.GATED:
                entry.plugins = frozenset()
                self._activate(entry, now, causes.UNCHANGED)
            case QueuePlace.PARKED:
                self._requeue(entry, now, causes.ACTIVATED)
            case QueuePlace.BACKOFF if self._is_let_in(entry, now, causes.UNCHANGED):
                self._backing_off.push(entry)
            case QueuePlace.IN_FLIGHT:
                entry.is_wanted = True

    # What happens in the cluster

    def on_event(self, event: Event, now: float, *, by: str = "", up_to_priority: int | None = None) -> None:
        """Wake the parked pods that ``event`` may help, and keep it for those in flight.

        The pod with the uid ``by`` brought it about by waiting again, and is not woken by it; nor are those above
        ``up_to_priority``.
        """
        wanted = self._who_wants(event)
        if wanted and self._in_flight:
            self._in_flight.keep([event])
        for profile, plugin in wanted:
            for entry in self._parked.of(profile, plugin):
                if entry.uid == by or (up_to_priority is not None and entry.pod.spec.priority > up_to_priority):
                    continue
                if self._hears(entry, event) and self._profiles[profile].hint(plugin, event, entry.pod):
                    self._requeue(entry, now, event, at_once=self._is_urgent(entry, [event]))

    def activate(self, uids: Iterable[str], now: float) -> None:
        """Make waiting pods active at once, because a plugin knows that they have a chance.

        One in flight is tried again, as if woken, when it is parked.
        """
        for uid in uids:
            entry = self._entries.get(uid)
            if entry and entry.place is QueuePlace.IN_FLIGHT:
                entry.is_wanted = True
            elif entry and entry.place is QueuePlace.BACKOFF:
                self._leave(entry)
                self._back_from_backoff(entry, now, causes.ACTIVATED)
            elif entry and entry.place in (QueuePlace.PARKED, QueuePlace.GATED):
                self._leave(entry)
                self._activate(entry, now, causes.ACTIVATED)

    # Moves

    def _activate(self, entry: QueuedPod, now: float, cause: Cause) -> None:
        if self._is_let_in(entry, now, cause):
            self._push_active(entry, now, cause)

    def _requeue(self, entry: QueuedPod, now: float, cause: Cause, *, at_once: bool = False) -> None:
        """Make a pod active, ``at_once`` or as soon as it has backed off."""
        self._leave(entry)
        if not self._is_let_in(entry, now, cause):
            return
        if at_once or not self._backing_off.is_backing_off(entry, now):
            self._push_active(entry, now, cause)
        else:
            self._push_backoff(entry, cause)

    def _back_from_backoff(self, entry: QueuedPod, now: float, cause: Cause) -> None:
        """Make a pod active whose gates were asked when it began to back off, unless they failed then."""
        if entry.key is None:
            self._activate(entry, now, cause)
        else:
            self._push_active(entry, now, cause)

    def _is_let_in(self, entry: QueuedPod, now: float, cause: Cause) -> bool:
        """Ask the gates. A pod that they keep out is put away; one that they fail for backs off."""
        profile = self._profiles[entry.profile]
        try:
            gate = profile.pre_enqueue(entry.pod)
            entry.key = None if gate else profile.sort_key(QueueEntry(entry.pod, entry.added_at, entry.attempts))
        except PluginError as error:
            self._gate_failed(entry, now, error)
            return False
        entry.gate = gate.plugin if gate else ""
        if gate:
            entry.plugins |= {gate.plugin}
            entry.was_flushed = False
            self._put_away(entry, QueuePlace.GATED, cause)
        return gate is None

    def _gate_failed(self, entry: QueuedPod, now: float, error: PluginError) -> None:
        self.failures.log("plugin failed", error, pod=entry.uid, profile=entry.profile)
        self._comes_back(entry, now, frozenset(), frozenset())
        entry.errors += 1
        self._push_backoff(entry, causes.ATTEMPT_FAILED)
        if self._reporter is not None:
            self._reporter.failed(entry.pod, str(error), entry.pod)

    def _stand_anew(self, entry: QueuedPod, now: float) -> None:
        """Let a changed pod stand where it belongs now. Its gates are not asked again: it has passed them."""
        if entry.key is None:
            return
        self._leave(entry)
        try:
            entry.key = self._profiles[entry.profile].sort_key(QueueEntry(entry.pod, entry.added_at, entry.attempts))
        except PluginError as error:
            self._gate_failed(entry, now, error)
            return
        if entry.place is QueuePlace.ACTIVE:
            self._push_active(entry, now, causes.UNCHANGED)
        else:
            self._push_backoff(entry, causes.UNCHANGED)

    def _comes_back(self, entry: QueuedPod, now: float, plugins: frozenset[str], waits_for: frozenset[str]) -> None:
        """Begin another wait, for the reason that ``plugins`` rejected the pod, or for an error if there are none."""
        self._leave(entry)
        entry.plugins, entry.waits_for, entry.added_at = plugins, waits_for, now
        entry.error, entry.gate, entry.key = "", "", None
        entry.was_flushed, entry.flushed_at = False, float("-inf")

    def _push_active(self, entry: QueuedPod, now: float, cause: Cause) -> None:
        entry.waits_since = min(entry.waits_since, now)
        self._active.push(entry, entry.key)
        self._metrics.pod_queued("active", cause)
        self.ready.set()

    def _push_backoff(self, entry: QueuedPod, cause: Cause) -> None:
        self._backing_off.push(entry)
        self._metrics.pod_queued("backoff", cause)
        self.ready.set()

    def _put_away(self, entry: QueuedPod, place: QueuePlace, cause: Cause) -> None:
        entry.place = place
        self._metrics.pod_queued("unschedulable", cause)
        self._parked.put(entry)

    def _leave(self, entry: QueuedPod) -> None:
        """Take a pod out of the index or heap of its place."""
        match entry.place:
            case QueuePlace.ACTIVE:
                self._active.discard(entry.uid)
            case QueuePlace.IN_FLIGHT:
                self._in_flight.end(entry.uid)
            case QueuePlace.BACKOFF:
                self._backing_off.discard(entry.uid)
            case QueuePlace.PARKED | QueuePlace.GATED:
                self._parked.discard(entry)

    def _tick(self, now: float) -> None:
        for entry in self._backing_off.pop_ended(now):
            self._back_from_backoff(entry, now, causes.BACKED_OFF)
        if now - self._flushed_at < FLUSH_INTERVAL:
            return
        self._flushed_at = now
        for entry in self._parked:
            if now - max(entry.added_at, entry.flushed_at) > self._longest_parked:
                entry.was_flushed, entry.flushed_at = True, now
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

    def _hears(self, entry: QueuedPod, event: Event) -> bool:
        """Whether ``event`` is one for a pod that may be gated: only what its gate registered can open it."""
        return not entry.gate or (entry.profile, entry.gate) in self._who_wants(event)

    def _is_woken(self, entry: QueuedPod, event: Event) -> bool:
        """Whether ``event`` may help a pod that its plugins rejected; its gates are asked on its way."""
        return self._says_yes(entry, event, entry.plugins)

    def _is_urgent(self, entry: QueuedPod, events: Iterable[Event]) -> bool:
        """Whether one of ``events`` is what a plugin waited for that had started it."""
        return bool(entry.waits_for) and any(self._says_yes(entry, event, entry.waits_for) for event in events)

    def _says_yes(self, entry: QueuedPod, event: Event, plugins: frozenset[str]) -> bool:
        profile = self._profiles[entry.profile]
        wanted = (plugin for name, plugin in self._who_wants(event) if name == entry.profile)
        return any(plugin in plugins and profile.hint(plugin, event, entry.pod) for plugin in wanted)
