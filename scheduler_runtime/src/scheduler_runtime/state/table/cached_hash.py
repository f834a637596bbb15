"""Values that are looked up again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

_T = TypeVar("_T")


def hashed_once(kind: type[_T]) -> type[_T]:
    """Let the frozen dataclass ``kind`` compute the hash of a value once, and keep it in its field ``_hash``."""
    computed = cast("Callable[[object], int]", kind.__hash__)

    def kept(self: object) -> int:
        try:
            found: int = self._hash  # type: ignore[attr-defined]
        except AttributeError:
            found = computed(self)
            object.__setattr__(self, "_hash", found)
        return found

    kind.__hash__ = kept  # type: ignore[method-assign]
    return kind
