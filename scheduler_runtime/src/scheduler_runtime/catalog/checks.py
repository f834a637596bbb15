"""Checks that the argument models share, and how a check reports several problems at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer
from pydantic_core import PydanticCustomError

from .names import is_label_value, is_qualified_name

At = tuple[str | int, ...]
"""A place below the one being checked."""

_INTEGER = re.compile(r"[-+]?[0-9]+")
_DURATION = re.compile(r"[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def refuse(problems: Iterable[tuple[At, str]]) -> None:
    """Raise all ``problems`` as one validation error; do nothing when there are none."""
    found = list(problems)
    if found:
        raise PydanticCustomError("refused", "{first}", {"first": found[0][1], "problems": found})


def check_qualified_name(text: str) -> str:
    """Refuse what cannot be the key of a label."""
    if not is_qualified_name(text):
        refuse([((), f"{text!r} is not a name or prefix/name of letters, digits, '-', '_' and '.'")])
    return text


class Duration(str):
    """A duration as Go writes it, such as ``1m30s``, kept as it was written."""

    __slots__ = ()

    @property
    def seconds(self) -> float:
        """Its length."""
        total = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(self))
        return -total if self.startswith("-") else total


def _duration(text: object) -> Duration:
    if not isinstance(text, str) or not _DURATION.fullmatch(text):
        raise PydanticCustomError(
            "refused", "{found} is not a duration; write it like 15s or 1m30s", {"found": repr(text)}
        )
    return Duration(text)


DurationField = Annotated[str, BeforeValidator(_duration), AfterValidator(Duration), PlainSerializer(str)]
"""The type of a field that holds a :class:`Duration`."""


def label_problem(key: str, operator: str, values: Sequence[str]) -> tuple[At, str] | None:
    """What is wrong with a condition on a label: the field at fault and a sentence; None when it is sound."""
    if not is_qualified_name(key):
        return ("key",), f"{key!r} is not the key of a label"
    problem = _count_problem(operator, values)
    if problem is not None:
        return problem
    for index, value in enumerate(values):
        if operator in ("Gt", "Lt") and parse_int64(value) is None:
            return ("values", index), f"{value!r} is not a whole number, which {operator} needs"
        if not is_label_value(value):
            return ("values", index), f"{value!r} cannot be the value of a label"
    return None


def _count_problem(operator: str, values: Sequence[str]) -> tuple[At, str] | None:
    match operator:
        case "In" | "NotIn":
            return None if values else (("values",), f"is empty; {operator} needs at least one value")
        case "Exists" | "DoesNotExist":
            return None if not values else (("values",), f"must be empty with {operator}")
        case "Gt" | "Lt":
            return None if len(values) == 1 else (("values",), f"has {len(values)} values; {operator} needs one")
    known = "In, NotIn, Exists, DoesNotExist, Gt, Lt"
    return ("operator",), f"{operator!r} is not an operator; the operators are {known}"


def field_problem(key: str, operator: str, values: Sequence[str]) -> tuple[At, str] | None:
    """What is wrong with a condition on a node's field, as :func:`label_problem` says it."""
    if key != "metadata.name":
        return ("key",), f"{key!r} is not a field that can be compared; metadata.name is the only one"
    if operator not in ("In", "NotIn"):
        return ("operator",), f"{operator!r} does not work on a field; the operators are In, NotIn"
    if len(values) != 1:
        return ("values",), f"has {len(values)} values; a field is compared with one"
    return None


def parse_int64(text: str) -> int | None:
    """The number that ``text`` is to Go's ParseInt, or None."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
