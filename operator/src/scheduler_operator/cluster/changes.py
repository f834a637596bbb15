"""Record of the objects that one reconcile has changed, for its line in the log and for the metrics.

with record_changes() as changes:
    ...                                  # whatever this task, and those that it starts, apply and delete
logger.info("reconciled", extra=changes.summary())
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from scheduler_operator.cluster.field_ownership import foreign_managers

Change = Literal["added", "changed", "repaired", "restored", "deleted"]
"""Repaired is what others had changed, and restored what they had deleted."""

_DRIFT: tuple[Change, ...] = ("repaired", "restored")


class Changes:
    """The objects that were changed, by what was done to them."""

    def __init__(self) -> None:
        self._objects: dict[Change, list[tuple[str, str]]] = {}

    def __bool__(self) -> bool:
        return bool(self._objects)

    def add(self, change: Change, live: Mapping[str, Any]) -> None:
        """Note what was done to an object."""
        self._objects.setdefault(change, []).append((live["kind"], live["metadata"]["name"]))

    def summary(self) -> dict[str, list[str]]:
        """Return the objects as kubectl takes them, such as ``Deployment/berth-x``, by what was done to them."""
        return {change: ["/".join(identity) for identity in objects] for change, objects in self._objects.items()}

    def drift(self) -> list[str]:
        """Return the kind of each object that others had changed or deleted."""
        return [kind for change in _DRIFT for kind, _ in self._objects.get(change, ())]


_CHANGES: ContextVar[Changes] = ContextVar("changes")


@contextmanager
def record_changes() -> Iterator[Changes]:
    """Record the changes of this task, and of tasks that it starts."""
    changes = Changes()
    token = _CHANGES.set(changes)
    try:
        yield changes
    finally:
        _CHANGES.reset(token)


def note_applied(
    before: Mapping[str, Any] | None, after: Mapping[str, Any], *, was_made: bool, is_shared: bool
) -> None:
    """Note that an object was applied, if that changed it.

    ``was_made``: we have applied it earlier; ``is_shared``: others are meant to write to it.
    """
    changes = _CHANGES.get(None)
    if changes is None:
        return
    if before is None or before["metadata"]["uid"] != after["metadata"]["uid"]:
        changes.add("restored" if before is None and was_made else "added", after)
    elif before["metadata"]["resourceVersion"] != after["metadata"]["resourceVersion"]:
        changes.add("repaired" if not is_shared and foreign_managers(before) else "changed", after)


def note_deleted(live: Mapping[str, Any]) -> None:
    """Note that an object was deleted."""
    if (changes := _CHANGES.get(None)) is not None:
        changes.add("deleted", live)
