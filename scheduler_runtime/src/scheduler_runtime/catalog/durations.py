"""Durations as Go reads and writes them: ``1m30s``.

A duration keeps the text that its author wrote, so that messages repeat it; only printing makes it canonical.
"""

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
    """The text of a duration, such as ``1m30s``, with its length in nanoseconds and seconds.

    The text is not checked here: a field of the type :data:`DurationField` does that.
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
