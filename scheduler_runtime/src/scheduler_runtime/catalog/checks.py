"""Checks that the argument models share, and the one way to report several problems at once.

Pydantic stops a validator at its first exception. A check here collects all problems of a value with their places and
raises them together, by :func:`refuse`, so that an author sees everything that is wrong in one go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pydantic_core import PydanticCustomError

from scheduler_runtime.catalog.syntax import is_label_value, is_qualified_name

Location = tuple[str | int, ...]
"""The steps from the value being checked to the one at fault: names of fields and indices."""

_INTEGER = re.compile(r"([-+]?)0*([0-9]{1,19})")


def refuse(problems: Iterable[tuple[Location, str]]) -> None:
    """Raise all ``problems``, a place and a sentence each, as one PydanticCustomError; without any do nothing."""
    if every := list(problems):
        raise PydanticCustomError("refused", "{first}", {"first": every[0][1], "problems": every})


def check_qualified_name(text: str) -> str:
    """Return ``text`` if it can be the key of a label. Raises PydanticCustomError otherwise."""
    if not is_qualified_name(text):
        refuse([((), f"{text!r} is not a name or prefix/name of letters, digits, '-', '_' and '.'")])
    return text


def label_problem(key: str, operator: str, values: Sequence[str]) -> tuple[Location, str] | None:
    """Return the problem of a condition on a label, the field at fault and a sentence; None when it is sound.

    As upstream's labels.NewRequirement: the key first, then the number of values, then each value.
    """
    if not is_qualified_name(key):
        return ("key",), f"{key!r} is not the key of a label"
    problem: tuple[Location, str] | None = None
    match operator:
        case "In" | "NotIn":
            problem = None if values else (("values",), f"is empty; {operator} needs at least one value")
        case "Exists" | "DoesNotExist":
            problem = None if not values else (("values",), f"must be empty with {operator}")
        case "Gt" | "Lt":
            problem = None if len(values) == 1 else (("values",), f"has {len(values)} values; {operator} needs one")
        case _:
            operators = "In, NotIn, Exists, DoesNotExist, Gt, Lt"
            problem = ("operator",), f"{operator!r} is not an operator; the operators are {operators}"
    if problem is not None:
        return problem
    for index, value in enumerate(values):
        if operator in ("Gt", "Lt") and parse_int64(value) is None:
            return ("values", index), f"{value!r} is not a whole number, which {operator} needs"
        if not is_label_value(value):
            return ("values", index), f"{value!r} cannot be the value of a label"
    return None


def field_problem(_: str, operator: str, values: Sequence[str]) -> tuple[Location, str] | None:
    """Return the problem of a condition on a field of a node, in the form of :func:`label_problem`; None when sound."""
    if operator not in ("In", "NotIn"):
        return ("operator",), f"{operator!r} does not work on a field; the operators are In, NotIn"
    if len(values) != 1:
        return ("values",), f"has {len(values)} values; a field is compared with one"
    return None


def parse_int64(text: str) -> int | None:
    """Return the number that Go's ParseInt makes of ``text``, or None where it fails."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    sign, digits = match.groups()
    number = int(sign + digits)
    return number if -(2**63) <= number < 2**63 else None
