"""Pauses between tries that grow, and differ from one process to the next."""

from __future__ import annotations

import random

FIRST_SECONDS = 0.8
LONGEST_SECONDS = 30.0
_chance = random.SystemRandom()


class Backoff:
    """0.8 s, doubled up to 30 s, each lengthened by a random part of itself."""

    def __init__(self, first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def pause(self) -> float:
        """Return how long to wait now, and wait longer the next time."""
        seconds = self._next * (1 + _chance.random())
        self._next = min(self._next * 2, self._longest)
        return min(seconds, self._longest)

    def reset(self) -> None:
        self._next = self._first
