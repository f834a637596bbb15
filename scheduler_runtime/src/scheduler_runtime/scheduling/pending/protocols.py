"""What the queue needs to know of a profile, and of what happens in the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol


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


class QueueMetrics(Protocol):
    """Counts pods that come to wait."""

    def pod_queued(self, queue: str, cause: Cause) -> None:
        """Count a pod that came to ``queue``, as upstream calls it, because of ``cause``."""
        ...


class FailureReporter(Protocol):
    """Reports on pods that a failing plugin keeps waiting."""

    def failed(self, pod: Any, message: str, newest: Any) -> None:
        """Report why ``pod`` waits; its condition is compared with the ``newest`` version."""
        ...
