"""What the plugins of one profile have to say context the queue."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any

from scheduler_runtime.api import SKIP, Action, ClusterEvent, Event, Pod, QueueEntry, Watch
from scheduler_runtime.framework.extender_contract import EXTENDER
from scheduler_runtime.framework.failure_log import FailureLog
from scheduler_runtime.framework.hook import caught_exceptions, checked_rejection
from scheduler_runtime.framework.hook_table import HookTable
from scheduler_runtime.framework.outcomes import QueueGate
from scheduler_runtime.framework.point_metrics import Times, rejection_status
from scheduler_runtime.framework.queue_keys import SortKeys
from scheduler_runtime.framework.registration import Registered

logger = logging.getLogger(__name__)


_ANYTHING = (ClusterEvent("*", Action.ALL),)
"""Extenders do not say what would help a pod that they rejected, so that anything may."""


class PodWithoutNode(Event):
    """A pod that is on no node came, changed or went: news only to plugins that watch such pods.

    Nobody else hears of it, as what others reject a pod for is on nodes, and their hints rely on that.
    """

    __slots__ = ()


class Queueing:
    """Keeps pods out of the queue, orders it, and says what may help a pod that waits."""

    def __init__(
        self, enabled: HookTable, plugins: Mapping[str, Registered], times: Times, *, has_extenders: bool
    ) -> None:
        """Raises RegistrationError when nobody sorts the queue."""
        declared = {name: each.declaration.events for name, each in plugins.items()}
        self._events = MappingProxyType({**declared, EXTENDER: _ANYTHING} if has_extenders else declared)
        self._plugins = plugins
        self._failures = FailureLog(logger)
        self._times = times
        self._pre_enqueue = enabled.hooks("preEnqueue", "pre_enqueue")
        self._sort_key = SortKeys(enabled.queue_sort())

    def pre_enqueue(self, pod: Pod) -> QueueGate | None:
        """The first plugin that keeps ``pod`` out of the queue. Raises PluginError."""
        for hook in self._pre_enqueue:
            began = perf_counter()
            reject = hook(pod)
            if reject is not None:
                self._times.since("PreEnqueue", began, rejection_status(resolvable=False))
                return QueueGate(hook.plugin, checked_rejection(hook, reject).reason)
            self._times.since("PreEnqueue", began)
        return None

    def sort_key(self, entry: QueueEntry) -> Any:
        """Where ``entry`` stands in the queue: the smallest key is next. Raises PluginError."""
        return self._sort_key(entry)

    def events(self) -> Mapping[str, tuple[ClusterEvent, ...]]:
        """For each plugin, the events after which a pod it rejected is worth another attempt."""
        return self._events

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        """Whether ``event`` may make ``pod`` schedulable, which ``plugin`` rejected. A plugin that fails says yes."""
        registered = self._plugins.get(plugin)
        if isinstance(event, PodWithoutNode) and not (registered and _is_watched(event, registered.watches)):
            return False
        if registered is None or "hint" not in registered.hooks:
            return True
        try:
            return registered.plugin.hint(event, pod) is not SKIP
        except caught_exceptions() as error:  # A pod must not be left behind because a hint failed.
            self._failures.log("hint failed", error, plugin=plugin, pod=pod.key)
            return True


def _is_watched(event: PodWithoutNode, watches: Iterable[Watch]) -> bool:
    pod: Pod = event.new or event.old
    return any(
        (watch.event_resource, watch.api_version) == ("Pod", "v1")
        and watch.namespace in ("", pod.namespace)
        and watch.name in ("", pod.name)
        for watch in watches
    )
