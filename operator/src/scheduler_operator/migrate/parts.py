"""A place in the input that remembers what was read of it, so that nothing is dropped in silence.

Whoever turns a field into a part of the output takes it; whoever explains it remarks on it. What
is left in the end was understood by nobody, and :meth:`Part.report_unread` says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from scheduler_operator.migrate.outcome import Notes
from scheduler_runtime.catalog.durations import DurationField
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest
from scheduler_runtime.config.problems import describe_value

T = TypeVar("T")
_DURATION = TypeAdapter(DurationField)
Explain = Callable[[str, str], str]
"""From the path of an unread field and its name to the sentence about it."""


class Part:
    """A mapping somewhere in the input. A field that is null counts as left out, as Kubernetes has it."""

    def __init__(self, value: Mapping[str, Any], notes: Notes, path: str = "", allowed: Collection[str] = ()) -> None:
        self.value = {str(key): inner for key, inner in value.items() if inner is not None}
        self.notes = notes
        self.path = path
        self.allowed = frozenset(allowed)
        """The codes of findings that comments in the text of it accept."""
        self._taken: set[str] = set()
        self._known: set[str] = set()
        self._opened: dict[str, list[Part]] = {}

    def at(self, key: str) -> str:
        """The path of a field."""
        return _below(self.path, key)

    def __contains__(self, key: str) -> bool:
        self._known.add(key)
        return key in self.value

    def take(self, key: str) -> Any:
        """A field as it stands, whatever it is; None when it is not there."""
        self._taken.add(key)
        return self.value.get(key)

    def text(self, key: str) -> str | None:
        """A field that must be text."""
        return self._typed(key, str, "text; put it in quotes")

    def duration(self, key: str) -> str | None:
        """A field that must be a duration as Go writes it."""
        value = self.take(key)
        trouble = None if value is None else trouble_with_duration(value)
        if trouble:
            self.refuse(key, trouble)
        return None if trouble or value is None else str(value)

    def boolean(self, key: str) -> bool | None:
        """A field that must be true or false."""
        return self._typed(key, bool, "true or false")

    def integer(self, key: str) -> int | None:
        """A field that must be a whole number."""
        value = self.take(key)
        whole = isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0
        checked = self._checked(key, value, whole, "a whole number")
        return None if checked is None else int(checked)

    def number(self, key: str) -> float | None:
        """A field that must be a number."""
        value = self.take(key)
        fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        checked: float | None = self._checked(key, value, fine, "a number")
        return checked

    def texts(self, key: str) -> list[str]:
        """A field that must be a list of text."""
        value = self.take(key)
        fine = isinstance(value, list) and all(isinstance(each, str) for each in value)
        return self._checked(key, value, fine, "a list of text") or []

    def whole(self, key: str) -> dict[str, Any]:
        """A field that must be a mapping, taken as it stands."""
        value = self.take(key)
        return self._checked(key, value, isinstance(value, dict), "a mapping of fields") or {}

    def mapping(self, key: str) -> Part:
        """A field that must be a mapping, to be read further; an empty one when it is not there."""
        if key not in self._opened:
            value = self.take(key)
            found = self._checked(key, value, isinstance(value, dict), "a mapping of fields") or {}
            self._opened[key] = [Part(found, self.notes, self.at(key), self.allowed)]
        return self._opened[key][0]

    def entries(self, key: str) -> list[Part]:
        """A field that must be a list of mappings, each to be read further."""
        if key not in self._opened:
            value = self.take(key)
            fine = isinstance(value, list) and all(isinstance(each, dict) for each in value)
            found = self._checked(key, value, fine, "a list of mappings") or []
            path = self.at(key)
            self._opened[key] = [
                Part(each, self.notes, f"{path}[{index}]", self.allowed) for index, each in enumerate(found)
            ]
        return self._opened[key]

    def remark(self, key: str, message: str) -> None:
        """Explain a field, if it is there; nobody else needs to."""
        if key in self.value and _has_leaf(self.value[key]):
            self.notes.remark(self.at(key), message)
        self._taken.add(key)

    def refuse(self, key: str, message: str) -> None:
        """The input cannot be imported because of this field."""
        self.notes.refuse(self.at(key) if key else self.path, message)

    def report_unread(self, explain: Explain) -> None:
        """Remark on every field that nobody read, once for each tree of them."""
        for part, key in self.unread():
            self.notes.remark(part.at(key), explain(part.at(key), key))

    def unread(self) -> Iterator[tuple[Part, str]]:
        """Every field that nobody read, with the part it is a field of, once for each tree of them."""
        for key, value in self.value.items():
            if key in self._opened:
                for child in self._opened[key]:
                    yield from child.unread()
            elif key not in self._taken and _has_leaf(value):
                yield self, key

    def refuse_unknown(self, key: str) -> None:
        """There is no such field; one that somebody asked for may be meant."""
        self.refuse(key, f"is not a field{did_you_mean(nearest(key, sorted(self._known | self._taken)))}")

    def _typed(self, key: str, wanted: type[T], name: str) -> T | None:
        value = self.take(key)
        checked: T | None = self._checked(key, value, isinstance(value, wanted), name)
        return checked

    def _checked(self, key: str, value: Any, fine: bool, wanted: str) -> Any:
        if value is None or fine:
            return value
        self.refuse(key, f"{describe_value(value)} is not {wanted}")
        return None


def trouble_with_duration(value: object) -> str | None:
    """Why ``value`` is no duration, None when it is one."""
    try:
        _DURATION.validate_python(value)
    except ValidationError as error:
        return str(error.errors()[0]["msg"])
    return None


def _below(path: str, key: str) -> str:
    if not key.replace("-", "").replace("_", "").isalnum():
        return f"{path}[{key!r}]"  # a key with dots in it, such as a file's name in a ConfigMap
    return f"{path}.{key}" if path else key


def _has_leaf(value: Any) -> bool:
    match value:
        case dict():
            return any(_has_leaf(inner) for inner in value.values())
        case list():
            return any(_has_leaf(inner) for inner in value)
    return value is not None
