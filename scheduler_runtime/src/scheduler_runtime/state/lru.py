"""A memory that forgets what was not used for the longest time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """At most so many values by key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """What was put there, None when it was not or is forgotten."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: K, value: V) -> None:
        """Remember ``value``."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def keep(self, is_wanted: Callable[[V], bool]) -> None:
        """Forget everything else."""
        for key in [key for key, value in self._kept.items() if not is_wanted(value)]:
            del self._kept[key]


def next_sweep(kept: int, few: int) -> int:
    """At how many to look again which are wanted, when ``kept`` were: each new one pays for a look at a few others."""
    return kept + max(few, kept // 4)
