"""The hooks around the queue: pre_enqueue, sort_key, and the events and hints that wake a parked pod."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any

from scheduler_runtime.api import SKIP, Action, ClusterEvent, Event, Pod, QueueEntry
from scheduler_runtime.framework.extender_contract import EXTENDER
from scheduler_runtime.framework.failure_log import FailureLog
from scheduler_runtime.framework.hook import Hook, caught_exceptions, check_rejection
from scheduler_runtime.framework.outcomes import PluginError, QueueGate
from scheduler_runtime.framework.plugin_times import PointTimes, rejection_status
from scheduler_runtime.framework.registration import HookTable, RegisteredPlugin

logger = logging.getLogger(__name__)

_ANYTHING = (ClusterEvent("*", Action.ALL),)
"""The events of extenders: they do not declare what would help a pod that they rejected, so that anything may."""


class PodWithoutNode(Event):
    """A change of a pod that is on no node: it came, changed or went.

    Only plugins that watch such pods learn of it. What others reject a pod for is on nodes, and their hints rely on it.
    """

    __slots__ = ()


class QueueHooks:
    """Keeps pods out of the queue, orders it, and decides which events may help a pod that waits."""

    def __init__(
        self, hooks: HookTable, plugins: Mapping[str, RegisteredPlugin], times: PointTimes, *, has_extenders: bool
    ) -> None:
        """Raises RegistrationError when no plugin sorts the queue."""
        events = {name: plugin.declaration.events for name, plugin in plugins.items()}
        if has_extenders:
            events[EXTENDER] = _ANYTHING
        self.events: Mapping[str, tuple[ClusterEvent, ...]] = MappingProxyType(events)
        """For each plugin, the events after which a pod that it rejected is worth another attempt."""
        self.sort_key = SortKeys(hooks.queue_sort())
        self._plugins = plugins
        self._failures = FailureLog(logger)
        self._times = times
        self._pre_enqueue = hooks.hooks("preEnqueue", "pre_enqueue")

    def pre_enqueue(self, pod: Pod) -> QueueGate | None:
        """Return the first plugin that keeps ``pod`` out of the queue. Raises PluginError."""
        for hook in self._pre_enqueue:
            began = perf_counter()
            reject = hook(pod)
            if reject is not None:
                self._times["PreEnqueue", rejection_status(resolvable=False)].observe(perf_counter() - began)
                return QueueGate(hook.plugin, check_rejection(hook, reject).reason)
            self._times["PreEnqueue", "Success"].observe(perf_counter() - began)
        return None

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        """Return whether ``event`` may make ``pod`` schedulable, which ``plugin`` rejected."""
        registered = self._plugins.get(plugin)
        if isinstance(event, PodWithoutNode):
            other: Pod = event.new or event.old
            if not any(
                (watch.event_resource, watch.api_version) == ("Pod", "v1")
                and watch.namespace in ("", other.namespace)
                and watch.name in ("", other.name)
                for watch in (registered.watches if registered else ())
            ):
                return False
        # As upstream, an event without a hint always wakes the pod: extenders and plugins that are gone have none.
        if registered is None or "hint" not in registered.hooks:
            return True
        try:
            return registered.plugin.hint(event, pod) is not SKIP
        except caught_exceptions() as error:
            # As upstream: a pod must not stay parked because a hint failed.
            self._failures.log("hint failed", error, plugin=plugin, pod=pod.key)
            return True


class SortKeys:
    """A ``sort_key`` whose keys can all be compared with each other.

    A key that cannot has to be refused before it is in the queue: a comparison that raises inside the heap would leave
    the heap in disorder.
    """

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._kind: object = None
        self._types: tuple[type, ...] | None = None
        """The types in the last key, if it is a flat tuple of which the types tell everything."""

    def __call__(self, entry: QueueEntry) -> Any:
        """Return the key of ``entry``. Raises PluginError."""
        key = self._hook(entry)
        if type(key) is tuple and tuple(map(type, key)) == self._types:
            return key  # as nearly always
        try:
            kind = _comparable_kind(key)
        except TypeError as error:
            raise self._order_error(key) from error
        if self._kind is None:
            self._kind = kind
        elif kind != self._kind:
            raise self._order_error(key)
        if type(key) is tuple and all(type(part) in (int, float, str) for part in key):
            self._types = tuple(map(type, key))
        return key

    def _order_error(self, key: object) -> PluginError:
        return self._hook.error(
            f"its key {key!r} cannot be compared with the others; give every pod a tuple of the same types"
        )


def _comparable_kind(key: Any) -> object:
    """Return something that is equal for keys that can be compared. Raises TypeError for a key without an order."""
    if isinstance(key, tuple):
        return tuple(map(_comparable_kind, key))
    if isinstance(key, int | float):
        return float
    _ = key < key
    return type(key)
