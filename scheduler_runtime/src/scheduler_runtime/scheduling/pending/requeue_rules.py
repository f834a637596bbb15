"""The rules by which an event makes a waiting pod worth another attempt: upstream's isPodWorthRequeuing.

An event requeues a parked pod if

* a plugin that rejected the pod has registered such events (``events`` of the plugin), or its gate has;
* that plugin's hint, asked about this event and this pod, does not say that the event changes nothing. After two
  that took long, one after the other, no more are asked until the pod changes: a pod may have thousands of terms, and
  events come by the hundred. The time that its attempts take from others is limited (ADR 26), that of hints is not;
* the pod is not gated, or the gate's own plugin has registered the event: nothing else can open the gate.

A requeued pod backs off first, if it still has to, unless the plugin that says yes is one of the pod's
``pending_plugins``, which waited for something that they started themselves. On its way to the active pods its gates
(pre_enqueue) are asked again, which is the queue's part.

See pkg/scheduler/backend/queue/scheduling_queue.go, isPodWorthRequeuing and isEventOfInterest, and KEP-4247.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from time import thread_time
from typing import Final

from scheduler_runtime.api import Action, Event
from scheduler_runtime.scheduling.pending.places import Parked
from scheduler_runtime.scheduling.pending.queued_pod import QueuedPod, QueuedProfile

SLOW_HINT_SECONDS: Final = 0.002
"""The CPU of a hint that is slow: some hundred times what most take."""
MAX_SLOW_HINTS: Final = 2
"""So many slow hints in a row are asked about a pod: one may be a pause of the garbage collector."""


class RequeueRules:
    """Compares events with what the plugins of all profiles registered and hint."""

    def __init__(self, profiles: Mapping[str, QueuedProfile]) -> None:
        self._profiles = profiles
        self._interested: dict[tuple[str, Action], list[tuple[str, str]]] = {}
        self.asks_hints = True
        """Whether hints are asked. Without them every registered event helps."""

    def reset(self) -> None:
        """Ask the profiles anew which events their plugins have registered: they changed."""
        self._interested.clear()

    def interested_plugins(self, event: Event) -> list[tuple[str, str]]:
        """Return the plugins that registered ``event``, each with its profile.

        A plugin that registered nothing is never among them: its pods wait for time alone.
        """
        kind = (event.resource, event.action)
        interested = self._interested.get(kind)
        if interested is None:
            interested = self._interested[kind] = []
            for name, profile in self._profiles.items():
                for plugin, registered in profile.queue.events.items():
                    for cluster_event in registered:
                        if cluster_event.covers(*kind):
                            interested.append((name, plugin))
                            break
        return interested

    def pods_to_requeue(
        self, event: Event, parked: Parked, *, caused_by: str = "", up_to_priority: int | None = None
    ) -> Iterator[QueuedPod | None]:
        """Yield the ``parked`` pods that ``event`` may help, and None for each that it does not.

        The caller takes each one out before the next, and may let time pass in between: pods that left meanwhile, or
        were parked later, are passed over. The pod with the uid ``caused_by`` caused the event by waiting again, and
        is left out, as are pods above ``up_to_priority``.
        """
        return self._pods_to_requeue(event, parked, parked.count, caused_by, up_to_priority)

    def _pods_to_requeue(
        self, event: Event, parked: Parked, last: int, caused_by: str, up_to_priority: int | None
    ) -> Iterator[QueuedPod | None]:
        # Asked per plugin, so that an event which no plugin of a parked pod registered costs nothing for that pod.
        interested = self.interested_plugins(event)
        for profile, plugin in interested:
            for entry in parked.rejected_by(profile, plugin):
                if not parked.is_rejected_by(entry, profile, plugin) or entry.parked_as > last:
                    continue
                if entry.uid == caused_by or (up_to_priority is not None and entry.pod.spec.priority > up_to_priority):
                    continue
                # A gated pod has the plugins of its last rejection as well, but only its gate can let it go.
                if entry.gate and (profile, entry.gate) not in interested:
                    continue
                yield entry if self._hint(plugin, event, entry) else None

    def is_worth_requeuing(self, entry: QueuedPod, event: Event) -> bool:
        """Return whether a plugin that rejected this pod may accept the pod after ``event``.

        For pods that come from an attempt, which are not gated, and for events about the pod itself, after which it
        asks all its gates again, whatever these have registered.
        """
        return self._any_hint_queues(entry.plugins, entry, event)

    def skips_backoff(self, entry: QueuedPod, events: Iterable[Event]) -> bool:
        """Return whether one of ``events`` comes from what one of the pod's ``pending_plugins`` started."""
        return bool(entry.pending_plugins) and any(
            self._any_hint_queues(entry.pending_plugins, entry, event) for event in events
        )

    def _any_hint_queues(self, plugins: frozenset[str], entry: QueuedPod, event: Event) -> bool:
        return any(
            name == entry.profile and plugin in plugins and self._hint(plugin, event, entry)
            for name, plugin in self.interested_plugins(event)
        )

    def _hint(self, plugin: str, event: Event, entry: QueuedPod) -> bool:
        """Return whether ``event`` may help the pod, which ``plugin`` rejected."""
        if not self.asks_hints or entry.slow_hints >= MAX_SLOW_HINTS:
            return True
        began = thread_time()
        helps = self._profiles[entry.profile].queue.hint(plugin, event, entry.pod)
        entry.slow_hints = entry.slow_hints + 1 if thread_time() - began > SLOW_HINT_SECONDS else 0
        return helps
