"""Mappings of an input that remember which of their fields were read, and the notes taken while reading.

A reader that carries a field over takes it; a reader that explains a field remarks on it. The fields that remain
were understood by no reader: :meth:`InputPart.unread` lists them, :meth:`InputPart.remark_unread` explains them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from scheduler_runtime.catalog.bounds import describe_value
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest
from scheduler_runtime.catalog.syntax import DurationField
from scheduler_runtime.config import Problem

T = TypeVar("T")
_DURATION = TypeAdapter(DurationField)
ExplainUnread = Callable[[str, str], str]
"""From the path of an unread field and its name to the sentence about it."""


@dataclass(frozen=True, slots=True)
class ImportRemark:
    """Something of the input that the objects do not hold, or hold in another form."""

    path: str
    """The place in the input; empty for the whole input."""
    message: str
    """One sentence: what the input has, what became of it, what to do."""
    places: tuple[str, ...] = ()
    """All places in the input, for a remark about several; ``path`` is above them then."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@dataclass(slots=True)
class ImportNotes:
    """Remarks and problems, gathered while an input is read."""

    remarks: list[ImportRemark] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def remark(self, path: str, message: str, places: tuple[str, ...] = ()) -> None:
        """Add a remark, unless the same one is there already."""
        remark = ImportRemark(path, message, places)
        # v1alpha2 has fields that hold for all its profiles: reading every profile remarks on them again.
        if remark not in self.remarks:
            self.remarks.append(remark)

    def refuse(self, path: str, message: str) -> None:
        """Add a reason why the input cannot be imported."""
        self.problems.append(Problem(path, message))


class InputPart:
    """A mapping somewhere in the input. A field that is null counts as absent, as in Kubernetes."""

    def __init__(
        self, value: Mapping[str, Any], notes: ImportNotes, path: str = "", allowed: Collection[str] = ()
    ) -> None:
        self.value = {str(key): inner for key, inner in value.items() if inner is not None}
        self.notes = notes
        self.path = path
        self.allowed = frozenset(allowed)
        """The codes of findings that comments in the text of the part accept."""
        self._read: set[str] = set()
        self._looked_up: set[str] = set()
        self._opened: dict[str, list[InputPart]] = {}
        """The parts made of a field. Made once: they remember, in turn, which of their fields were read."""

    def path_of(self, key: str) -> str:
        """Return the path of a field."""
        if not key.replace("-", "").replace("_", "").isalnum():
            return f"{self.path}[{key!r}]"  # a key with dots in it, such as a file's name in a ConfigMap
        return f"{self.path}.{key}" if self.path else key

    def __contains__(self, key: str) -> bool:
        self._looked_up.add(key)
        return key in self.value

    def take(self, key: str) -> Any:
        """Return a field as it stands, whatever its type; None when it is absent."""
        self._read.add(key)
        return self.value.get(key)

    def text(self, key: str) -> str | None:
        """Return a field that must be text."""
        return self._of_type(key, str, "text; put it in quotes")

    def duration(self, key: str) -> str | None:
        """Return a field that must be a duration as Go writes it."""
        value = self.take(key)
        problem = None if value is None else duration_problem(value)
        if problem:
            self.refuse(key, problem)
        return None if problem or value is None else str(value)

    def boolean(self, key: str) -> bool | None:
        """Return a field that must be true or false."""
        return self._of_type(key, bool, "true or false")

    def integer(self, key: str) -> int | None:
        """Return a field that must be a whole number. ``2.0`` is one, as for Kubernetes."""
        value = self.take(key)
        is_whole = isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0
        checked = self._check(key, value, is_whole, "a whole number")
        return None if checked is None else int(checked)

    def number(self, key: str) -> float | None:
        """Return a field that must be a number."""
        value = self.take(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_number = is_number and abs(value) <= sys.float_info.max  # an integer of 400 digits is none
        checked: float | None = self._check(key, value, is_number, "a number")
        return checked

    def texts(self, key: str) -> list[str]:
        """Return a field that must be a list of text."""
        value = self.take(key)
        are_texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return self._check(key, value, are_texts, "a list of text") or []

    def raw_mapping(self, key: str) -> dict[str, Any]:
        """Return a field that must be a mapping, with everything in it taken as it stands."""
        value = self.take(key)
        return self._check(key, value, isinstance(value, dict), "a mapping of fields") or {}

    def mapping(self, key: str) -> InputPart:
        """Return a field that must be a mapping, to be read further; an empty part when the field is absent."""
        if key not in self._opened:
            self._opened[key] = [InputPart(self.raw_mapping(key), self.notes, self.path_of(key), self.allowed)]
        return self._opened[key][0]

    def entries(self, key: str) -> list[InputPart]:
        """Return a field that must be a list of mappings, all to be read further."""
        if key not in self._opened:
            value = self.take(key)
            are_mappings = isinstance(value, list) and all(isinstance(item, dict) for item in value)
            items = self._check(key, value, are_mappings, "a list of mappings") or []
            path = self.path_of(key)
            self._opened[key] = [
                InputPart(item, self.notes, f"{path}[{index}]", self.allowed) for index, item in enumerate(items)
            ]
        return self._opened[key]

    def remark(self, key: str, message: str) -> None:
        """Explain a field, if it is there; it counts as read then."""
        if key in self.value and _has_leaf(self.value[key]):
            self.notes.remark(self.path_of(key), message)
        self._read.add(key)

    def refuse(self, key: str, message: str) -> None:
        """Add a reason why the input cannot be imported: this field, or the part itself if ``key`` is empty."""
        self.notes.refuse(self.path_of(key) if key else self.path, message)

    def refuse_unknown(self, key: str) -> None:
        """Refuse a field that does not exist, with the nearest name among those that a reader looked for."""
        self.refuse(key, f"is not a field{did_you_mean(nearest(key, sorted(self._looked_up | self._read)))}")

    def unread(self) -> Iterator[tuple[InputPart, str]]:
        """Yield every field that no reader took, with its part. Of nested unread fields only the outermost one."""
        for key, value in self.value.items():
            if key in self._opened:
                for child in self._opened[key]:
                    yield from child.unread()
            elif key not in self._read and _has_leaf(value):
                yield self, key

    def remark_unread(self, explain: ExplainUnread) -> None:
        """Remark on every field that no reader took."""
        for part, key in self.unread():
            self.notes.remark(part.path_of(key), explain(part.path_of(key), key))

    def _of_type(self, key: str, expected: type[T], name: str) -> T | None:
        value = self.take(key)
        checked: T | None = self._check(key, value, isinstance(value, expected), name)
        return checked

    def _check(self, key: str, value: Any, is_valid: bool, expected: str) -> Any:
        if value is None or is_valid:
            return value
        self.refuse(key, f"{describe_value(value)} is not {expected}")
        return None


def duration_problem(value: object) -> str | None:
    """Return why ``value`` is not a duration, None when it is one."""
    try:
        _DURATION.validate_python(value)
    except ValidationError as error:
        return str(error.errors()[0]["msg"])
    return None


def _has_leaf(value: Any) -> bool:
    """Return True unless ``value`` holds nothing but empty mappings and lists, which ask for nothing."""
    match value:
        case dict():
            return any(_has_leaf(inner) for inner in value.values())
        case list():
            return any(_has_leaf(inner) for inner in value)
    return value is not None
