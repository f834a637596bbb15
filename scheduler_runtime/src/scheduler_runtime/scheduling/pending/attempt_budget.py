"""The time that slow pods, and pods that fail again and again, may take from the others: docs/adr/0026.

Most attempts take a fraction of a millisecond, and pods are taken in upstream's order. A user can write pods whose
attempts take hundreds of milliseconds, or fifty thousand that one event wakes and that fail once more. While the time
that such attempts took is above the budget, such pods are taken only when no other pod is ready.
"""

from __future__ import annotations

from typing import Final

from scheduler_runtime.scheduling.pending.queued_pod import QueuedPod
from scheduler_runtime.state.lru import LruCache
from scheduler_runtime.state.objects import PodSpec

SHARE: Final = 0.2
"""The share of the time that all such attempts together may take while others wait."""
BURST_SECONDS: Final = 0.1
"""What they may take at once, before they have to yield."""
SLOW_SECONDS: Final = 0.05
"""The CPU of an attempt that is slow: some hundred times what most take, also on thousands of nodes."""
REMEMBERED_SECONDS: Final = 60.0
"""A spec or namespace counts as slow for so long: a pause of the garbage collector makes an attempt slow as well."""
_MAX_SPECS = 64
_MAX_NAMESPACES = 1024
_MANY_SPECS = 10
"""So many different slow specs make all new pods of their namespace count as slow until they were tried."""


class AttemptBudget:
    """Adds up the time of attempts that were slow or failed once more, which flows off at ``SHARE`` of the time."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._spent_at = 0.0
        self._slow_specs: LruCache[int, tuple[PodSpec, float]] = LruCache(_MAX_SPECS)
        """Since when, by the id of the spec, which lives as long as its entry. Pods of a template share their spec."""
        self._slow_namespaces: LruCache[str, tuple[int, float]] = LruCache(_MAX_NAMESPACES)
        """The number of different slow specs of each, and since when they are counted."""

    def charge(self, entry: QueuedPod, seconds: float, now: float, *, cpu_seconds: float, has_failed: bool) -> bool:
        """Count an attempt that lasted so long; return whether it was slow.

        It is slow by its CPU, because a busy machine makes no pod slow; what it took from the others is time.
        """
        is_slow = cpu_seconds > SLOW_SECONDS
        if is_slow:
            self._remember(entry, now)
        if is_slow or (has_failed and entry.attempts > 1):
            # What was above the budget before was taken from nobody: no other pod was ready.
            self._spent = min(self._left(now), BURST_SECONDS) + seconds
            self._spent_at = now
        return is_slow

    def is_exceeded(self, now: float) -> bool:
        """Return whether such pods have to yield now."""
        return self._spent > BURST_SECONDS and self._left(now) > BURST_SECONDS

    def concerns(self, entry: QueuedPod, now: float) -> bool:
        """Return whether the next attempt of a pod is likely to be slow, or to fail once more."""
        if entry.attempts or self._is_slow(entry.pod.spec, now):
            return True
        return self._slow_specs_of(entry.pod.metadata.namespace, now)[0] >= _MANY_SPECS

    def _left(self, now: float) -> float:
        return max(self._spent - SHARE * (now - self._spent_at), 0.0)

    def _is_slow(self, spec: PodSpec, now: float) -> bool:
        known = self._slow_specs.get(id(spec))
        return known is not None and known[0] is spec and now - known[1] < REMEMBERED_SECONDS

    def _slow_specs_of(self, namespace: str, now: float) -> tuple[int, float]:
        counted = self._slow_namespaces.get(namespace)
        return counted if counted is not None and now - counted[1] < REMEMBERED_SECONDS else (0, now)

    def _remember(self, entry: QueuedPod, now: float) -> None:
        spec, namespace = entry.pod.spec, entry.pod.metadata.namespace
        if not self._is_slow(spec, now):
            number, since = self._slow_specs_of(namespace, now)
            self._slow_namespaces.put(namespace, (number + 1, since))
        self._slow_specs.put(id(spec), (spec, now))
