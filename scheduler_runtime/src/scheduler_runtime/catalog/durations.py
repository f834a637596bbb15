"""Durations as Go reads and writes them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer
from pydantic_core import PydanticCustomError

_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_LONGEST = 2**63


class Duration(str):
    """A duration as Go writes it, such as ``1m30s``, kept as it was written."""

    __slots__ = ()

    @property
    def nanoseconds(self) -> int:
        """Its length, cut to whole nanoseconds as Go does."""
        total = 0
        for whole, fraction, unit in _PART.findall(self):
            size = _UNITS[unit]
            total += int(whole or 0) * size
            if fraction:
                total += int(int(fraction) * (size / 10 ** len(fraction)))
        return -total if self.startswith("-") else total

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.nanoseconds / 10**9

    @property
    def canonical(self) -> str:
        """The same length as Go prints it."""
        return _printed(self.nanoseconds)


def _printed(nanoseconds: int) -> str:
    sign, length = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if length == 0:
        return "0s"
    if length < 10**9:
        unit, size = next((unit, size) for unit, size in (("ms", 10**6), ("µs", 10**3), ("ns", 1)) if length >= size)
        return f"{sign}{_decimal(length, size)}{unit}"
    minutes, rest = divmod(length, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if hours or minutes else "", f"{_decimal(rest, 10**9)}s"]
    return sign + "".join(parts)


def _decimal(number: int, size: int) -> str:
    whole, rest = divmod(number, size)
    digits = str(rest).zfill(len(str(size)) - 1).rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)


def _duration(text: object) -> Duration:
    if not isinstance(text, str) or not _DURATION.fullmatch(text):
        found = "null" if text is None else repr(text)
        raise PydanticCustomError("refused", "{found} is not a duration; write it like 15s or 1m30s", {"found": found})
    found = Duration(text)
    if not -_LONGEST <= found.nanoseconds < _LONGEST:
        raise PydanticCustomError("refused", "{found} is longer than 292 years", {"found": text})
    return found


DurationField = Annotated[str, BeforeValidator(_duration), AfterValidator(Duration), PlainSerializer(str)]
"""The type of a field that holds a :class:`Duration`."""
