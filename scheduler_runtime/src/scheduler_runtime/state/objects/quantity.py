"""Kubernetes quantities: ``100m``, ``1.5Gi``, ``12e6``."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

MAX_INT64 = 2**63 - 1

_DIGITS = "[0-9]{1,1000}"
"""The API server writes some twenty digits; what somebody else sends must have a bound."""
_PATTERN = re.compile(
    rf"([+-]?)({_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{{1,3}})"
)
_SHOWN = 100
"""How much of a text is worth repeating to its author."""
_SCALES: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
}


class QuantityError(ValueError):
    """A quantity that Kubernetes would not read. ``field`` is where it stands, once that is known."""

    def __init__(self, text: str, field: str = "quantity") -> None:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        super().__init__(f"{field}: {shown!r} is not a quantity such as 100m, 1.5Gi or 2")
        self.text = text
        self.field = field


@lru_cache(maxsize=4096)
def thousandths(text: str) -> int:
    """The quantity in thousandths, rounded up as the API server rounds. Raises :class:`QuantityError`."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise QuantityError(text)
    sign, number, suffix = match.groups()
    scale = _SCALES.get(suffix)
    if scale is None:
        scale = Fraction(10) ** int(suffix[1:])
    exact = Fraction(number.removesuffix(".")) * scale * 1000
    rounded = -(-exact.numerator // exact.denominator)
    return -rounded if sign == "-" else rounded


def within_int64(amount: int) -> int:
    """``amount``, or the nearest number that 64 bits hold."""
    return max(-MAX_INT64, min(MAX_INT64, amount))


def whole_units(amount: int) -> int:
    """An amount in thousandths as whole units, rounded away from zero."""
    return amount // 1000 if amount < 0 else -(-amount // 1000)
