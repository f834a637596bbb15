"""Checks that the argument models share, and how a check reports several problems at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pydantic_core import PydanticCustomError

from scheduler_runtime.catalog.durations import Duration, DurationField
from scheduler_runtime.catalog.syntax import is_label_value, is_qualified_name

__all__ = [
    "Duration",
    "DurationField",
    "Location",
    "check_qualified_name",
    "field_problem",
    "label_problem",
    "parse_int64",
    "refuse",
]

Location = tuple[str | int, ...]
"""A place below the one being checked."""

_INTEGER = re.compile(r"([-+]?)0*([0-9]{1,19})")


def refuse(problems: Iterable[tuple[Location, str]]) -> None:
    """Raise all ``problems`` as one validation error; do nothing when there are none."""
    found = list(problems)
    if found:
        raise PydanticCustomError("refused", "{first}", {"first": found[0][1], "problems": found})


def check_qualified_name(text: str) -> str:
    """Refuse what cannot be the key of a label."""
    if not is_qualified_name(text):
        refuse([((), f"{text!r} is not a name or prefix/name of letters, digits, '-', '_' and '.'")])
    return text


def label_problem(key: str, operator: str, values: Sequence[str]) -> tuple[Location, str] | None:
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


def _count_problem(operator: str, values: Sequence[str]) -> tuple[Location, str] | None:
    match operator:
        case "In" | "NotIn":
            return None if values else (("values",), f"is empty; {operator} needs at least one value")
        case "Exists" | "DoesNotExist":
            return None if not values else (("values",), f"must be empty with {operator}")
        case "Gt" | "Lt":
            return None if len(values) == 1 else (("values",), f"has {len(values)} values; {operator} needs one")
    known = "In, NotIn, Exists, DoesNotExist, Gt, Lt"
    return ("operator",), f"{operator!r} is not an operator; the operators are {known}"


def field_problem(_: str, operator: str, values: Sequence[str]) -> tuple[Location, str] | None:
    """What is wrong with a condition on a node's field, as :func:`label_problem` says it."""
    if operator not in ("In", "NotIn"):
        return ("operator",), f"{operator!r} does not work on a field; the operators are In, NotIn"
    if len(values) != 1:
        return ("values",), f"has {len(values)} values; a field is compared with one"
    return None


def parse_int64(text: str) -> int | None:
    """The number that ``text`` is to Go's ParseInt, or None."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    sign, digits = match.groups()
    number = int(sign + digits)
    return number if -(2**63) <= number < 2**63 else None
