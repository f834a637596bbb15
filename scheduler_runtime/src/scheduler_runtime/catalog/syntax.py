"""Syntax of texts in documents: names and labels, whole numbers, durations as Go writes them, and checks of them.

A check collects all problems of a value with their places and raises them together, by :func:`refuse`, so that an
author sees everything that is wrong in one go; pydantic stops a validator at its first exception. A duration keeps the
text that its author wrote, so that messages repeat it; only printing makes it canonical.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer
from pydantic_core import PydanticCustomError

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def is_qualified_name(text: str) -> bool:
    """Return True if ``text`` can be the key of a label: a name, or ``prefix/name`` with a DNS name as prefix."""
    prefix, slash, name = text.rpartition("/")
    if slash and (len(prefix) > 253 or not _PREFIX.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Return True if ``text`` can be the value of a label."""
    return text == "" or _NAME.fullmatch(text) is not None


def is_extended_resource(name: str) -> bool:
    """Return True if ``name`` is a resource outside of Kubernetes' own names, such as ``example.com/gpu``.

    As upstream's v1helper.IsExtendedResourceName: the name also has to work as the resource of a quota.
    """
    native = "/" not in name or "kubernetes.io/" in name
    return not native and not name.startswith("requests.") and is_qualified_name(f"requests.{name}")


@lru_cache(maxsize=1024)
def is_scalar_resource(name: str) -> bool:
    """Return True if a scheduler counts ``name`` beside cpu, memory, ephemeral-storage and pods.

    As upstream's schedutil.IsScalarResourceName. Other resources of a node are passed over.
    """
    return (
        name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name or is_extended_resource(name)
    )


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


_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_LONGEST = 2**63


class Duration(str):
    """The text of a duration, such as ``1m30s``, with its length in nanoseconds and seconds.

    The text is not checked here: a field of the type :data:`DurationField` does that. Two durations are equal if their
    texts are, so ``90s`` and ``1m30s`` differ; compare their seconds to compare lengths.
    """

    __slots__ = ()

    @property
    def nanoseconds(self) -> int:
        """The length, cut to whole nanoseconds as Go does."""
        total = 0
        for whole, fraction, unit in _PART.findall(self):
            size = _UNITS[unit]
            total += int(whole or 0) * size
            if fraction:
                total += int(int(fraction) * (size / 10 ** len(fraction)))
        return -total if self.startswith("-") else total

    @property
    def seconds(self) -> float:
        """The length in seconds."""
        return self.nanoseconds / 10**9

    @property
    def canonical(self) -> str:
        """The same length as Go prints it, ``90s`` as ``1m30s``.

        Below a second Go uses the largest unit of which there is a whole one, above it hours, minutes and seconds.
        """
        sign, length = ("-", -self.nanoseconds) if self.nanoseconds < 0 else ("", self.nanoseconds)
        if length == 0:
            return "0s"
        if length < 10**9:
            sizes = (("ms", 10**6), ("µs", 10**3), ("ns", 1))
            unit, size = next((unit, size) for unit, size in sizes if length >= size)
            return f"{sign}{_decimal(length, size)}{unit}"
        minutes, rest = divmod(length, _UNITS["m"])
        hours, minutes = divmod(minutes, 60)
        parts = [f"{hours}h" if hours else "", f"{minutes}m" if hours or minutes else "", f"{_decimal(rest, 10**9)}s"]
        return sign + "".join(parts)


def _decimal(number: int, size: int) -> str:
    """Return ``number / size`` without zeros at the end. ``size`` is a power of ten; floats would round."""
    whole, rest = divmod(number, size)
    digits = str(rest).zfill(len(str(size)) - 1).rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)


def _parse_duration(text: object) -> Duration:
    """Check the text of a duration, as Go's ParseDuration does. Raises PydanticCustomError."""
    if not isinstance(text, str) or not _DURATION.fullmatch(text):
        value = "null" if text is None else repr(text)
        raise PydanticCustomError("refused", "{value} is not a duration; write it like 15s or 1m30s", {"value": value})
    duration = Duration(text)
    if not -_LONGEST <= duration.nanoseconds < _LONGEST:  # Go holds the nanoseconds in an int64
        raise PydanticCustomError("refused", "{value} is longer than 292 years", {"value": text})
    return duration


DurationField = Annotated[str, BeforeValidator(_parse_duration), AfterValidator(Duration), PlainSerializer(str)]
"""The type of a pydantic field that holds a :class:`Duration`. Text that Go's ParseDuration refuses is refused."""
