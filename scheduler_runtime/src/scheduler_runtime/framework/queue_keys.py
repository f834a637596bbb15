"""The keys of the queue: that they cannot be compared must be found out before they are in it."""

from __future__ import annotations

from typing import Any

from scheduler_runtime.api import QueueEntry
from scheduler_runtime.framework.hook import Hook


class SortKeys:
    """A ``sort_key`` whose keys can all be compared with each other."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._kind: Any = None
        self._types: tuple[type, ...] | None = None
        """Of what a key consists that was compared, if that tells everything about it."""

    def __call__(self, entry: QueueEntry) -> Any:
        """The key of ``entry``. Raises PluginError."""
        key = self._hook(entry)
        if type(key) is tuple and tuple(map(type, key)) == self._types:
            return key
        try:
            kind = _kind_of(key)
        except TypeError as error:
            raise self._no_key(key) from error
        if self._kind is None:
            self._kind = kind
        elif kind != self._kind:
            raise self._no_key(key)
        if type(key) is tuple and all(type(part) in (int, float, str) for part in key):
            self._types = tuple(map(type, key))
        return key

    def _no_key(self, key: object) -> Exception:
        problem = f"its key {key!r} cannot be compared with the others; give every pod a tuple of the same types"
        return self._hook.error(problem)


def _kind_of(key: Any) -> object:
    """What a key must have in common with another to be compared with it. Raises TypeError for what has no order."""
    if isinstance(key, tuple):
        return tuple(map(_kind_of, key))
    if isinstance(key, int | float):
        return float
    _ = key < key
    return type(key)
