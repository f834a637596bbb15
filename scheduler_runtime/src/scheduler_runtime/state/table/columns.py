"""Labels and taints as numbers, so that a condition is looked up once per distinct value and not once per node."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.catalog.checks import parse_int64

Mask = NDArray[np.bool_]
"""One truth per node, in the table's order."""
Ints = NDArray[np.int64]
"""One whole number per node, in the table's order."""


def wrapped(number: int) -> int:
    """What 64 bits hold of ``number``."""
    return number if -(2**63) <= number < 2**63 else (number + 2**63) % 2**64 - 2**63


class Column:
    """One value per row, with room to grow: ``all`` is written, ``shown`` is what readers get."""

    __slots__ = ("all", "shown")

    def __init__(self, dtype: type, rows: int = 0, capacity: int = 0) -> None:
        self.all: NDArray[Any] = np.zeros(capacity, dtype)
        self.shown: NDArray[Any] = self.all
        self.resize(rows, capacity)

    def add(self, row: int, amount: int) -> None:
        """Add ``amount`` to a whole number; beyond 64 bits it goes round, as upstream's does."""
        self.all[row] = wrapped(self.all.item(row) + amount)

    def resize(self, rows: int, capacity: int) -> None:
        """Show ``rows`` rows, with room for ``capacity``."""
        if capacity > len(self.all):
            grown = np.zeros(capacity, self.all.dtype)
            grown[: len(self.all)] = self.all
            self.all = grown
        self.shown = self.all[:rows]
        self.shown.flags.writeable = False


_Value = TypeVar("_Value", bound=Hashable)


class InternedColumn(Generic[_Value]):
    """One of a few different values per row: each of them once in ``values``, and a number per row that says which."""

    __slots__ = ("_numbers", "column", "values")

    def __init__(self, column: Column) -> None:
        """``column`` is empty."""
        self.column = column
        self.values: list[_Value] = []
        self._numbers: dict[_Value, int] = {}

    def set(self, row: int, value: _Value) -> None:
        """Write one row."""
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        self.column.all[row] = number

    def write(self, values: Iterable[_Value]) -> None:
        """Write all rows, and forget the values that no row has any more."""
        self.values, self._numbers = [], {}
        for row, value in enumerate(values):
            self.set(row, value)

    @property
    def is_stale(self) -> bool:
        """Whether most of its values are no row's any more, so that writing it anew pays."""
        return len(self.values) > 2 * len(self.column.shown) + 64


class LabelColumn:
    """One label of every node, for conditions over all of them at once.

    ``ids`` has a number per node: 0 where the label is absent, otherwise one more than the place in ``values``.
    """

    __slots__ = ("_index", "_integers", "ids", "values")

    def __init__(self) -> None:
        self.values: list[str] = []
        self.ids: NDArray[np.int32] = np.zeros(0, np.int32)
        self._index: dict[str, int] = {}
        self._integers: dict[int, int | None] = {}

    def equals(self, value: str) -> Mask:
        """The nodes that have the label with this ``value``."""
        found = self._index.get(value)
        return np.zeros(len(self.ids), np.bool_) if found is None else self.ids == found

    def isin(self, values: Iterable[str]) -> Mask:
        """The nodes that have the label with one of these ``values``."""
        found = [self._index[value] for value in values if value in self._index]
        return self._taken(found)

    def exists(self) -> Mask:
        """The nodes that have the label at all."""
        return self.ids > 0

    def above(self, number: int) -> Mask:
        """The nodes whose label is a whole number greater than ``number``."""
        return self._taken(self._where(lambda value: value > number))

    def below(self, number: int) -> Mask:
        """The nodes whose label is a whole number less than ``number``."""
        return self._taken(self._where(lambda value: value < number))

    def map(self, mapping: Mapping[str, Any], missing: float) -> NDArray[np.float64]:
        """Look each node's value up in ``mapping``; ``missing`` where the label or the entry is absent."""
        looked_up = [float(mapping.get(value, missing)) for value in self.values]
        return np.array([missing, *looked_up], dtype=np.float64)[self.ids]

    def _taken(self, chosen: Sequence[int]) -> Mask:
        answers = np.zeros(len(self.values) + 1, np.bool_)
        answers[chosen] = True
        taken: Mask = answers[self.ids]
        return taken

    def _where(self, holds: Callable[[int], bool]) -> list[int]:
        for place in range(len(self._integers), len(self.values)):
            self._integers[place + 1] = parse_int64(self.values[place])
        return [number for number, value in self._integers.items() if value is not None and holds(value)]


class WrittenLabels(LabelColumn):
    """The label column that the table writes."""

    __slots__ = ("_column",)

    def __init__(self, labels: Iterable[str | None], rows: int, capacity: int) -> None:
        super().__init__()
        self._column = Column(np.int32, rows, capacity)
        self.ids = self._column.shown
        for row, value in enumerate(labels):
            self.set(row, value)

    def set(self, row: int, value: str | None) -> None:
        """Write one node's value."""
        number = 0
        if value is not None:
            number = self._index.setdefault(value, len(self.values) + 1)
            if number > len(self.values):
                self.values.append(value)
        self._column.all[row] = number

    def move(self, source: int, target: int) -> None:
        """Copy one row over another."""
        self._column.all[target] = self._column.all[source]

    def resize(self, rows: int, capacity: int) -> None:
        """Show ``rows`` rows, with room for ``capacity``."""
        self._column.resize(rows, capacity)
        self.ids = self._column.shown

    @property
    def is_stale(self) -> bool:
        """Whether most of its values are no node's any more, so that building it anew pays."""
        return len(self.values) > 2 * len(self.ids) + 64
