"""Change log of bounded length: readers catch up with the changes they missed instead of reading everything again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
_MAX_LENGTH = 2048


class ChangeLog(Generic[T]):
    """The latest changes, oldest first. Each reader remembers the ``position`` up to which it has read."""

    __slots__ = ("_changes", "_first")

    def __init__(self) -> None:
        self._first = 0
        self._changes: list[T] = []

    def __len__(self) -> int:
        """Number of changes in memory."""
        return len(self._changes)

    @property
    def position(self) -> int:
        """The end of the log, as of now."""
        return self._first + len(self._changes)

    def since(self, position: int) -> Sequence[T] | None:
        """Return the changes after ``position``; None when they are dropped already: the reader has to start over."""
        return self._changes[position - self._first :] if position >= self._first else None

    def add(self, change: T) -> None:
        """Append a change."""
        self._changes.append(change)
        if len(self._changes) > _MAX_LENGTH:
            # Half of them at once: dropping the oldest one each time would move all others each time.
            self._first += _MAX_LENGTH // 2
            del self._changes[: _MAX_LENGTH // 2]

    def start_over(self) -> None:
        """Make every reader start over, also one that is at the end: everything may have changed."""
        self._first = self.position + 1
        self._changes.clear()
