"""A waiting pod with the history of its attempts, and the part of its profile that the queue calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from scheduler_runtime.api import ClusterEvent, Event, Pod, QueueEntry
from scheduler_runtime.framework import QueueGate

SortKey = Any
"""The plugin's own: what its ``sort_key`` returns."""


class QueuePlace(Enum):
    """The place in which a pod waits."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    PARKED = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    BINDING = "binding"


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod that waits, with what became of it so far: upstream's QueuedPodInfo."""

    uid: str
    pod: Pod
    """Its newest version."""
    profile: str
    added_at: float
    """When it last came to wait; pods of equal priority are taken in this order."""
    place: QueuePlace = QueuePlace.ACTIVE
    waits_since: float = float("inf")
    """When it first became active."""
    attempts: int = 0
    rejections: int = 0
    """How often it was unschedulable since it was added."""
    errors: int = 0
    """How often in a row an attempt ended in an error; a rejection ends the row."""
    plugins: frozenset[str] = frozenset()
    """The plugins that rejected it the last time: only events that they registered can wake it."""
    pending_plugins: frozenset[str] = frozenset()
    """Those of ``plugins`` that wait for something they started themselves: woken by them it does not back off."""
    error: str = ""
    """The message of the last attempt, if that ended in an error."""
    gate: str = ""
    """The plugin that keeps it from becoming active, while it is gated."""
    key: SortKey = None
    """Where it stands among the active pods, as of when it last passed its gates; None when it did not pass them."""
    parked_as: int = 0
    """The number of the pod among all that were ever parked, as of the last time."""
    flushed_at: float = float("-inf")
    """When time alone woke it since it last came to wait."""
    was_flushed: bool = False
    """Whether nothing but the time woke it last."""
    retry_requested: bool = False
    """Whether a plugin asked to make it active while it was in flight."""
    slow_hints: int = 0
    """The number of hints about it in a row that took long."""


class QueuePlugins(Protocol):
    """The plugins of a profile, as far as the queue calls them."""

    @property
    def sort_key(self) -> Callable[[QueueEntry], SortKey]:
        """Returns the key of an entry: the smallest is next. Raises PluginError."""
        ...

    @property
    def events(self) -> Mapping[str, Iterable[ClusterEvent]]:
        """For each plugin, the events after which a pod that it rejected is worth another attempt."""
        ...

    def pre_enqueue(self, pod: Pod) -> QueueGate | None:
        """Return the first plugin that keeps ``pod`` from becoming active. Raises PluginError."""
        ...

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        """Return whether ``event`` may make ``pod`` schedulable, which ``plugin`` rejected."""
        ...


class QueuedProfile(Protocol):
    """The part of a profile's framework that the queue needs."""

    @property
    def queue(self) -> QueuePlugins: ...
