"""Every pod that waits for a node, and why it waits.

             add                     take                mark_binding
  unknown ─────────► active ───────────────► in flight ───────────────► binding ──► removed
                     ▲    ▲                  │       │                     │     (bound, deleted)
                     │    │ time             │ park  │ retry               │ retry
               event │    backoff ◄──────────┼───────┴─────────────────────┘
                     │    ▲                  ▼
                     └────┴─────── parked, gated

* A parked pod is woken by an event that a plugin which rejected it registered, if the plugin's hint says so (see
  ``requeue_rules``); after five minutes in any case. If it still has time to back off, it does that first, unless it
  waited for something that this plugin itself had started.
* Events that come while a pod is in flight are recorded and shown to it when it is parked, because its plugins may have
  looked before the event.
* A gate (a pre_enqueue plugin) keeps a pod from going where it could be taken: it is asked on the way to active and to
  backoff, and not again on the way from backoff to active.
* When nothing is active, a pod that only backs off from a rejection is taken early, unless that is turned off. One that
  backs off from an error is not.

Three things are other than in kube-scheduler. A change of a pod in flight is shown to that pod and to no other. A pod
whose gate fails, instead of rejecting it, backs off and asks again. Active pods whose attempts are slow, or fail again
and again, let others go first once they have used up their budget (``attempt_budget``).

Events for which many parked pods have to be asked are worked off a few milliseconds at a time.

A state machine: the time is an argument, nothing here waits. A pod that was added is in exactly one place until it is
removed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from time import perf_counter, thread_time
from typing import Protocol

from scheduler_runtime.api import Event, Pod, QueueEntry
from scheduler_runtime.framework import FailureLog, PluginError
from scheduler_runtime.scheduling.pending.attempt_budget import AttemptBudget
from scheduler_runtime.scheduling.pending.places import BackingOff, Heap, InFlight, Parked
from scheduler_runtime.scheduling.pending.queued_pod import QueuedPod, QueuedProfile, QueuePlace
from scheduler_runtime.scheduling.pending.requeue_rules import SLOW_HINT_SECONDS, RequeueRules

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 300.0
FLUSH_INTERVAL = 30.0
WAKING_SECONDS = 0.005
"""How long parked pods may be woken before decisions and watches get their turn."""
MIN_WOKEN = 16
"""So many are looked at in any case, and at once, unless their hints are slow."""
MAX_WAKING = 32
"""So many events may wait for their parked pods; for each more the first is finished."""
FINISHING_SECONDS = 0.1
"""So long hints are asked to finish an event; then the pods that are left are woken without them."""
NOW = float("-inf")

Cause = Event | str
"""Why a pod comes to wait where it does: an event, or one of these in upstream's words, for the metrics."""
ATTEMPT_FAILED = "ScheduleAttemptFailure"
BACKED_OFF = "BackoffComplete"
POPPED_EARLY = "PopFromBackoffQ"
ACTIVATED = "ForceActivate"
WAITED_TOO_LONG = "UnschedulableTimeout"
ADDED = "UnschedulablePodAdd"
UNCHANGED = ""
"""It only changes its place in the same queue."""


class QueueMetrics(Protocol):
    """Counts pods that come to wait."""

    def pod_queued(self, queue: str, cause: Cause) -> None:
        """Count a pod that came to ``queue``, as upstream calls it, because of ``cause``."""
        ...


class FailureReporter(Protocol):
    """Reports on pods that a failing plugin keeps waiting."""

    def failed(self, pod: Pod, message: str, newest: Pod) -> None:
        """Report why ``pod`` waits; its condition is compared with the ``newest`` version."""
        ...


class FailureCounter(Protocol):
    """Counts attempts that end because a plugin fails."""

    def plugin_failed(self, pod: Pod, error: PluginError) -> None:
        """Count that ``pod`` waits because of ``error``."""
        ...


class _NotCounted:
    def pod_queued(self, queue: str, cause: Cause) -> None:
        """Count nothing."""


class SchedulingQueue:
    """The pods of several profiles, in one order."""

    def __init__(
        self,
        profiles: Mapping[str, QueuedProfile],
        *,
        backing_off: BackingOff | None = None,
        longest_parked: float = FLUSH_SECONDS,
        metrics: QueueMetrics | None = None,
        reporter: FailureReporter | None = None,
        recent: FailureCounter | None = None,
    ) -> None:
        """``metrics`` count each time a pod comes to wait.

        ``reporter`` reports on a pod that a plugin keeps from becoming active by failing, and ``recent`` counts it.
        """
        self.ready = asyncio.Event()
        """Set when there is something to take, or to take sooner than ``wake_at`` said."""
        self.failures = FailureLog(logger)
        self._profiles = profiles
        self._rules = RequeueRules(profiles)
        self._longest_parked = longest_parked
        self._metrics = metrics or _NotCounted()
        self._reporter = reporter
        self._recent = recent
        self._entries: dict[str, QueuedPod] = {}
        self._active = Heap(QueuePlace.ACTIVE)
        self._yielding = Heap(QueuePlace.ACTIVE)
        """The active pods that came to their turn, and let the others go first."""
        self._held: dict[str, Heap] = {}
        """By profile, the active pods that came to their turn while its extenders were asked about another one."""
        self._budget = AttemptBudget()
        self._backing_off = backing_off or BackingOff()
        self._parked = Parked()
        self._in_flight = InFlight()
        self._flushed_at = float("-inf")
        self._waking: deque[tuple[Cause, Iterator[QueuedPod | None]]] = deque()
        """Causes for which not all parked pods have been looked at yet, with those that are left."""

    def __len__(self) -> int:
        """Return how many pods are here, wherever they wait."""
        return len(self._entries)

    def __contains__(self, uid: object) -> bool:
        """Return whether the pod with this uid is here."""
        return uid in self._entries

    def newest(self, pod: Pod) -> Pod:
        """Return the newest version of ``pod``; ``pod`` itself when it is not here."""
        entry = self._entries.get(pod.metadata.uid)
        return entry.pod if entry else pod

    def entries(self) -> Iterator[QueuedPod]:
        """Return all pods, as of now. May be called from another thread."""
        return iter(list(self._entries.values()))

    def counts(self) -> Mapping[QueuePlace, int]:
        """Return how many pods are in each place. May be called from another thread."""
        return Counter(entry.place for entry in self.entries())

    def recorded_events(self) -> list[Event]:
        """Return the events that are recorded for the pods in flight. May be called from another thread."""
        return self._in_flight.events()

    # Pods come, change and go

    def add(self, pod: Pod, profile: str, now: float) -> None:
        """Let a pod wait that has no node yet."""
        uid = pod.metadata.uid
        entry = self._entries[uid] = QueuedPod(uid, pod, profile, now)
        if self._passes_gates(entry, now, ADDED):
            self._push_active(entry, now, ADDED)

    def update(self, pod: Pod, events: Collection[Event], now: float) -> None:
        """Take over a new version of a pod that is here; ``events`` are what is new about it."""
        entry = self._entries[pod.metadata.uid]
        if pod.spec is not entry.pod.spec:
            entry.slow_hints = 0
        entry.pod = pod
        match entry.place:
            case QueuePlace.ACTIVE | QueuePlace.BACKOFF:
                self._reposition(entry, now)
            case QueuePlace.IN_FLIGHT:
                self._in_flight.record(events, uid=pod.metadata.uid)
            case QueuePlace.PARKED | QueuePlace.GATED:
                helpful = [event for event in events if self._rules.is_worth_requeuing(entry, event)]
                if helpful:
                    self._requeue(entry, now, helpful[0], skips_backoff=self._rules.skips_backoff(entry, helpful))

    def remove(self, uid: str) -> None:
        """Forget a pod that is bound or gone; one that is not here is no error."""
        entry = self._entries.pop(uid, None)
        if entry:
            self._take_from_place(entry)

    # Attempts

    def take(
        self, now: float, *, others_underway: bool = False, is_held: Callable[[QueuedPod], bool] | None = None
    ) -> QueuedPod | None:
        """Take the next pod to place, if there is one; it is in flight until it is bound, parked or retried.

        With ``others_underway`` none that has to yield is taken: a slow attempt delays each step of a binding. A pod
        that ``is_held`` stays active, but is not taken before ``release_held``.
        """
        self._flush_ended_waits(now)
        if self._waking:
            self._continue_waking(now)
        entry = self._next(now, others_underway=others_underway)
        while is_held is not None and entry is not None and is_held(entry):
            self._held.setdefault(entry.profile, Heap(QueuePlace.ACTIVE)).push(entry, entry.key)
            entry = self._next(now, others_underway=others_underway)
        # KEP-5142: better a pod a second too early than a scheduler that idles, which it does not while pods are held.
        if entry is None and is_held is None and not self._yielding and (entry := self._backing_off.pop_early()):
            entry.waits_since = min(entry.waits_since, now)
            self._metrics.pod_queued("active", POPPED_EARLY)
        if entry:
            entry.place = QueuePlace.IN_FLIGHT
            entry.attempts += 1
            entry.retry_requested = False
            self._in_flight.begin(entry.uid)
        return entry

    def release_held(self, profile: str) -> None:
        """Let the first held pod of ``profile`` come to its turn again, among all that are active by then."""
        held = self._held.get(profile)
        if held is not None and (entry := held.pop()) is not None:
            self._active.push(entry, entry.key)
            self.ready.set()
        if not held:
            self._held.pop(profile, None)

    def _next(self, now: float, *, others_underway: bool) -> QueuedPod | None:
        """Take the next active pod out of its place."""
        is_exceeded = self._budget.is_exceeded(now)
        entry = self._next_within_budget(now) if is_exceeded else self._next_active()
        if entry is None and not (is_exceeded and others_underway):
            entry = self._yielding.pop()
        return entry

    def _next_active(self) -> QueuedPod | None:
        """Take the first active pod out, whether or not it had to yield before."""
        if self._yielding and (not self._active or self._yielding.first_key() < self._active.first_key()):
            return self._yielding.pop()
        return self._active.pop()

    def _next_within_budget(self, now: float) -> QueuedPod | None:
        """Take the first active pod out that need not yield; those before it yield from now on."""
        while (entry := self._active.pop()) is not None and self._budget.concerns(entry, now):
            self._yielding.push(entry, entry.key)
        return entry

    def charge(self, entry: QueuedPod, seconds: float, now: float, *, cpu_seconds: float, has_failed: bool) -> bool:
        """Count an attempt that lasted so long; return whether its CPU was so much that its like have to yield."""
        return self._budget.charge(entry, seconds, now, cpu_seconds=cpu_seconds, has_failed=has_failed)

    @property
    def yielding(self) -> int:
        """The number of active pods that let others go first. May be read from another thread."""
        return len(self._yielding)

    def wake_at(self) -> float | None:
        """Return when time alone makes a pod active; None when only an event can."""
        if self._waking:
            return NOW
        backoff_end = self._backing_off.next_end()
        if not self._parked:
            return backoff_end
        flush_at = self._flushed_at + FLUSH_INTERVAL
        return flush_at if backoff_end is None else min(backoff_end, flush_at)

    def mark_binding(self, uid: str) -> None:
        """Note that the pod has a node and is being bound; no event can change that any more."""
        entry = self._entries.get(uid)
        if entry:
            self._take_from_place(entry)
            entry.place = QueuePlace.BINDING

    def park(self, uid: str, plugins: Collection[str], now: float, pending_plugins: Collection[str] = ()) -> None:
        """Put away a pod that ``plugins`` rejected, unless what happened meanwhile helps it already.

        Those of them in ``pending_plugins`` wait for something that they started themselves. A pod that nobody
        rejected is retried. One that was being bound is not put away: no events were recorded for it.
        """
        entry = self._entries.get(uid)
        if not entry:
            return
        if not plugins:
            self.retry(uid, now)
            return
        # Looked up first: ``_start_wait`` ends the flight, which drops the events.
        events, was_in_flight = self._in_flight.events_since(uid), entry.place is QueuePlace.IN_FLIGHT
        self._start_wait(entry, now, frozenset(plugins), frozenset(pending_plugins))
        entry.rejections += 1
        entry.errors = 0
        helpful = [event for event in events if self._rules.is_worth_requeuing(entry, event)]
        if helpful or entry.retry_requested or not was_in_flight:
            self._requeue(entry, now, ATTEMPT_FAILED, skips_backoff=self._rules.skips_backoff(entry, helpful))
        else:
            self._park_entry(entry, QueuePlace.PARKED, ATTEMPT_FAILED)

    def retry(self, uid: str, now: float, error: str = "") -> None:
        """Let a pod whose attempt ended in ``error`` back off and come again."""
        entry = self._entries.get(uid)
        if not entry:
            return
        self._start_wait(entry, now, frozenset(), frozenset())
        entry.errors += 1
        entry.error = error
        self._requeue(entry, now, ATTEMPT_FAILED)

    # Another document

    def change_profiles(self, names: Collection[str], now: float) -> list[Pod]:
        """Ask the plugins of the profiles called ``names`` anew, because they are others now.

        A pod that waits for an event of a plugin which is not there any more would wait for ever. The pods of a
        profile that is gone are removed and returned.
        """
        self._rules.reset()
        concerned = [entry for entry in self.entries() if entry.profile in names]
        orphans = [entry for entry in concerned if entry.profile not in self._profiles]
        for entry in orphans:
            self.remove(entry.uid)
        # All leave before the first comes back: keys of the old order and of the new one cannot be compared.
        for entry in concerned:
            if entry.place not in (QueuePlace.IN_FLIGHT, QueuePlace.BINDING):
                self._take_from_place(entry)
        self._active.compact()
        self._yielding.compact()
        self._backing_off.compact()
        for name in names:
            self._held.pop(name, None)  # they become active below
        for entry in concerned:
            if entry.uid not in self._entries:
                continue
            match entry.place:
                case QueuePlace.ACTIVE | QueuePlace.GATED:
                    entry.plugins = frozenset()
                    self._activate(entry, now, UNCHANGED)
                case QueuePlace.PARKED:
                    self._requeue(entry, now, ACTIVATED)
                case QueuePlace.BACKOFF if self._passes_gates(entry, now, UNCHANGED):
                    self._backing_off.push(entry)
                case QueuePlace.IN_FLIGHT:
                    entry.retry_requested = True  # if the old plugins reject it, the new ones must have their say
        return [entry.pod for entry in orphans]

    # What happens in the cluster

    def on_event(self, event: Event, now: float, *, caused_by: str = "", up_to_priority: int | None = None) -> None:
        """Wake the parked pods that ``event`` may help, and record it for those in flight.

        The pod with the uid ``caused_by`` caused the event by waiting again, and is not woken by it; nor are pods above
        ``up_to_priority``.
        """
        if self._in_flight and self._rules.interested_plugins(event):
            self._in_flight.record([event])
        helped = self._rules.pods_to_requeue(event, self._parked, caused_by=caused_by, up_to_priority=up_to_priority)
        self._wake(event, helped, now)

    def _wake(self, cause: Cause, entries: Iterator[QueuedPod | None], now: float) -> None:
        """Wake ``entries`` because of ``cause``, after those for whom earlier causes are still looked at."""
        self._waking.append((cause, entries))
        self._continue_waking(now, to_the_end=len(self._waking) > MAX_WAKING)

    def _continue_waking(self, now: float, *, to_the_end: bool = False) -> None:
        """Go on waking pods for a while.

        Fifty thousand may be parked, and each one's hint takes microseconds or, for thousands of terms, milliseconds.
        What is left is continued each time that a pod is taken.
        """
        began, cpu_began, looked_at = perf_counter(), thread_time(), 0
        self._rules.asks_hints = True
        while self._waking:
            cause, entries = self._waking[0]
            for entry in entries:
                if entry is not None:
                    skips_backoff = isinstance(cause, Event) and self._rules.skips_backoff(entry, [cause])
                    self._requeue(entry, now, cause, skips_backoff=skips_backoff)
                looked_at += 1
                if to_the_end:
                    self._rules.asks_hints = thread_time() - cpu_began < FINISHING_SECONDS
                elif perf_counter() - began > WAKING_SECONDS and (
                    looked_at >= MIN_WOKEN or thread_time() - cpu_began > MIN_WOKEN * SLOW_HINT_SECONDS
                ):
                    self.ready.set()  # or the loop would sleep on
                    return
            self._waking.popleft()
        self._rules.asks_hints = True

    def activate(self, uids: Iterable[str], now: float) -> None:
        """Make waiting pods active at once, because a plugin knows that they have a chance.

        A pod in flight is tried again, as if woken, when it is parked.
        """
        for uid in uids:
            entry = self._entries.get(uid)
            if entry and entry.place is QueuePlace.IN_FLIGHT:
                entry.retry_requested = True
            elif entry and entry.place is QueuePlace.BACKOFF:
                self._take_from_place(entry)
                self._return_from_backoff(entry, now, ACTIVATED)
            elif entry and entry.place in (QueuePlace.PARKED, QueuePlace.GATED):
                self._take_from_place(entry)
                self._activate(entry, now, ACTIVATED)

    def _flush_ended_waits(self, now: float) -> None:
        """Bring back the pods whose backoff is over and, every half minute, those that were parked for too long."""
        for entry in self._backing_off.pop_ended(now):
            self._return_from_backoff(entry, now, BACKED_OFF)
        if now - self._flushed_at < FLUSH_INTERVAL:
            return
        self._flushed_at = now
        # Upstream's flushUnschedulablePodsLeftover: a safety net for events and hints that lack something. The time
        # of the last flush counts as well, or a gated pod would ask its gates every half minute.
        self._wake(WAITED_TOO_LONG, self._waiting_too_long(now), now)

    def _waiting_too_long(self, now: float) -> Iterator[QueuedPod]:
        for entry in self._parked:
            is_here = entry.place in (QueuePlace.PARKED, QueuePlace.GATED) and self._entries.get(entry.uid) is entry
            if is_here and now - max(entry.added_at, entry.flushed_at) > self._longest_parked:
                entry.was_flushed, entry.flushed_at = True, now
                yield entry

    # Moves: each leaves the pod in exactly one place

    def _activate(self, entry: QueuedPod, now: float, cause: Cause) -> None:
        if self._passes_gates(entry, now, cause):
            self._push_active(entry, now, cause)

    def _requeue(self, entry: QueuedPod, now: float, cause: Cause, *, skips_backoff: bool = False) -> None:
        """Make a pod active, at once if it ``skips_backoff``, otherwise as soon as it has backed off."""
        self._take_from_place(entry)
        if not self._passes_gates(entry, now, cause):
            return
        if skips_backoff or not self._backing_off.is_backing_off(entry, now):
            self._push_active(entry, now, cause)
        else:
            self._push_backoff(entry, cause)

    def _return_from_backoff(self, entry: QueuedPod, now: float, cause: Cause) -> None:
        """Make a pod active whose gates were asked when it began to back off, unless they failed then."""
        if entry.key is None:
            self._activate(entry, now, cause)
        else:
            self._push_active(entry, now, cause)

    def _passes_gates(self, entry: QueuedPod, now: float, cause: Cause) -> bool:
        """Ask the gates. A pod that they keep out is put away; one for which they fail backs off."""
        hooks = self._profiles[entry.profile].queue
        try:
            gate = hooks.pre_enqueue(entry.pod)
            entry.key = None if gate else hooks.sort_key(QueueEntry(entry.pod, entry.added_at, entry.attempts))
        except PluginError as error:
            self._back_off_from_failure(entry, now, error)
            return False
        entry.gate = gate.plugin if gate else ""
        if gate:
            # It stays parked for the plugins of its last rejection too, as upstream: a change of the pod that any of
            # them registered makes it ask its gates again.
            entry.plugins |= {gate.plugin}
            entry.was_flushed = False
            self._park_entry(entry, QueuePlace.GATED, cause)
        return gate is None

    def _back_off_from_failure(self, entry: QueuedPod, now: float, error: PluginError) -> None:
        """Let a pod back off because a gate failed, or the plugin that sorts the queue."""
        self.failures.log("plugin failed", error, pod=entry.uid, profile=entry.profile)
        self._start_wait(entry, now, frozenset(), frozenset())
        entry.errors += 1
        self._push_backoff(entry, ATTEMPT_FAILED)
        if self._reporter is not None:
            self._reporter.failed(entry.pod, str(error), entry.pod)
        if self._recent is not None:
            self._recent.plugin_failed(entry.pod, error)

    def _reposition(self, entry: QueuedPod, now: float) -> None:
        """Sort a changed pod anew. Its gates are not asked again: it has passed them."""
        if entry.key is None:
            return  # its gates failed; they, and the order, are asked when its backoff ends
        self._take_from_place(entry)
        try:
            sort_key = self._profiles[entry.profile].queue.sort_key
            entry.key = sort_key(QueueEntry(entry.pod, entry.added_at, entry.attempts))
        except PluginError as error:
            self._back_off_from_failure(entry, now, error)
            return
        if entry.place is QueuePlace.ACTIVE:
            self._push_active(entry, now, UNCHANGED)
        else:
            self._push_backoff(entry, UNCHANGED)

    def _start_wait(
        self, entry: QueuedPod, now: float, plugins: frozenset[str], pending_plugins: frozenset[str]
    ) -> None:
        """Begin another wait, because ``plugins`` rejected the pod, or because of an error if there are none."""
        self._take_from_place(entry)
        entry.plugins, entry.pending_plugins, entry.added_at = plugins, pending_plugins, now
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

    def _park_entry(self, entry: QueuedPod, place: QueuePlace, cause: Cause) -> None:
        entry.place = place
        self._metrics.pod_queued("unschedulable", cause)
        self._parked.put(entry)

    def _take_from_place(self, entry: QueuedPod) -> None:
        """Take a pod out of the index or heap of its place. ``entry.place`` still says which that was."""
        match entry.place:
            case QueuePlace.ACTIVE:
                self._active.discard(entry.uid)
                self._yielding.discard(entry.uid)
                if held := self._held.get(entry.profile):
                    held.discard(entry.uid)
            case QueuePlace.IN_FLIGHT:
                self._in_flight.end(entry.uid)
            case QueuePlace.BACKOFF:
                self._backing_off.discard(entry.uid)
            case QueuePlace.PARKED | QueuePlace.GATED:
                self._parked.discard(entry)
