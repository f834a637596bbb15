"""LRU cache: a mapping of bounded size that drops what was not used for the longest time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

import msgspec

_encode = msgspec.msgpack.Encoder(enc_hook=lambda _: None).encode

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Values by key, of a total weight of ``capacity`` at most: beyond it the least recently used ones are dropped.

    A value has the weight 1, unless its memory depends on what users write.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: OrderedDict[K, V] = OrderedDict()
        self._weights: dict[K, int] = {}
        """Of the values that are heavier than 1."""
        self._extra = 0
        """The sum of what is above 1 in these."""

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value of ``key``, which counts as a use; None when there is none or it was dropped."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V, weight: int = 1) -> None:
        """Store ``value``, and drop the least recently used values if they are too many or too heavy now.

        The newest value stays, however heavy it is.
        """
        self._values[key] = value
        self._values.move_to_end(key)
        self._weigh(key, weight)
        while len(self._values) + self._extra > self._capacity and len(self._values) > 1:
            self._weigh(self._values.popitem(last=False)[0], 1)

    def _weigh(self, key: K, weight: int) -> None:
        if self._weights:
            self._extra -= self._weights.pop(key, 1) - 1
        if weight > 1:
            self._weights[key] = weight
            self._extra += weight - 1


def encoded_size(value: object) -> int:
    """Return the length of ``value`` where it is encoded: its size, as far as that depends on what users write.

    In memory it takes some times as much. Objects of types that cannot be encoded count next to nothing.
    """
    try:
        return len(_encode(value))
    except (OverflowError, TypeError):  # an integer beyond 64 bits, and a mapping by something else than texts
        return 0


def weight_of(value: object, bytes_of_one: int) -> int:
    """Return the weight of ``value`` in a cache where so many bytes, encoded, count as one."""
    return 1 + encoded_size(value) // bytes_of_one


def next_cleanup_size(size: int, minimum: int) -> int:
    """The size at which to look for unused entries again, when a cleanup has just left ``size`` entries.

    It grows with the size, so that every new entry pays for looking at a few others, however many there are;
    ``minimum`` new entries are never worth a cleanup.
    """
    return size + max(minimum, size // 4)
