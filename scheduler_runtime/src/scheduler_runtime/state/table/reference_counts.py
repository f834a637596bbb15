"""How many speak of a name: what is kept by name is dropped when nobody does any more."""

from __future__ import annotations

from collections.abc import Iterable


class ReferenceCounts:
    """The names that are in use."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def add(self, names: Iterable[str]) -> None:
        """Somebody more uses ``names``, each of which is there once."""
        numbers = self._numbers
        for name in names:
            numbers[name] = numbers.get(name, 0) + 1

    def remove(self, names: Iterable[str]) -> list[str]:
        """Somebody uses ``names`` no longer. Returns those that nobody uses now."""
        numbers = self._numbers
        ended: list[str] = []
        for name in names:
            numbers[name] -= 1
            if not numbers[name]:
                del numbers[name]
                ended.append(name)
        return ended
