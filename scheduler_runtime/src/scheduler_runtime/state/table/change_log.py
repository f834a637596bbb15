"""What changed since a reader last looked, so that it can catch up instead of starting over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
_LONGEST = 2048


class ChangeLog(Generic[T]):
    """The latest changes, oldest first. A reader keeps the ``position`` it has come to."""

    __slots__ = ("_first", "_log")

    def __init__(self) -> None:
        self._first = 0
        self._log: list[T] = []

    def __len__(self) -> int:
        """How many are known."""
        return len(self._log)

    @property
    def position(self) -> int:
        """The end, as of now."""
        return self._first + len(self._log)

    def since(self, position: int) -> Sequence[T] | None:
        """What changed after ``position``; None when that is too long ago, so that the reader has to start over."""
        return self._log[position - self._first :] if position >= self._first else None

    def add(self, change: T) -> None:
        """Note a change."""
        self._log.append(change)
        if len(self._log) > _LONGEST:
            self._first += _LONGEST // 2
            del self._log[: _LONGEST // 2]

    def start_over(self) -> None:
        """Everything changed: every reader has to start over, also one that is at the end."""
        self._first = self.position + 1
        self._log.clear()
