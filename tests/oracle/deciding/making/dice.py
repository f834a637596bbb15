"""Chance, in the words that the rest of the generator uses."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")
Object = dict[str, Any]


class Dice:
    """Draws from ``random``."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self._random.randrange(100) < percent

    def number(self, low: int, high: int) -> int:
        """A number from ``low`` to ``high``, both included."""
        return low + self._random.randrange(high - low + 1)

    def pick(self, choices: Sequence[T]) -> T:
        """One of ``choices``."""
        return choices[self._random.randrange(len(choices))]

    def some(self, choices: Sequence[T], at_least: int = 0, at_most: int = 3) -> list[T]:
        """Different ones of ``choices``."""
        remaining, picked = list(choices), list[T]()
        for _ in range(min(self.number(at_least, at_most), len(remaining))):
            picked.append(remaining.pop(self._random.randrange(len(remaining))))
        return picked
