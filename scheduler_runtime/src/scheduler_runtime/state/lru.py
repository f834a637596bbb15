"""LRU cache: a mapping of bounded size that drops what was not used for the longest time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """At most ``capacity`` values by key. When there are more, the least recently used one is dropped."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value of ``key``, which counts as a use; None when there is none or it was dropped."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Store ``value``, and drop the least recently used value if there are too many now."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._capacity:
            self._values.popitem(last=False)


def next_cleanup_size(size: int, minimum: int) -> int:
    """The size at which to look for unused entries again, when a cleanup has just left ``size`` entries.

    It grows with the size, so that every new entry pays for looking at a few others, however many there are;
    ``minimum`` new entries are never worth a cleanup.
    """
    return size + max(minimum, size // 4)
