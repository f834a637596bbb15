"""Kubernetes quantities such as ``100m``, ``1.5Gi`` and ``12e6``, as whole numbers of thousandths."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

MAX_INT64 = 2**63 - 1

_DIGITS = "[0-9]{1,1000}"
"""The API server writes some twenty digits; a text from elsewhere must have a bound, or reading it takes minutes."""
_PATTERN = re.compile(
    rf"([+-]?)({_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{{1,3}})"
)
_MAX_QUOTED = 100
"""As many characters of a malformed text are repeated to its author."""
_SCALES: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
}


class QuantityError(ValueError):
    """A quantity that Kubernetes could not read. ``field`` is its path in the object."""

    def __init__(self, text: str, field: str = "quantity") -> None:
        quoted = text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
        super().__init__(f"{field}: {quoted!r} is not a quantity such as 100m, 1.5Gi or 2")
        self.text = text
        self.field = field


@lru_cache(maxsize=4096)
def to_milli(text: str) -> int:
    """Read a quantity as thousandths, rounded up as Kubernetes' MilliValue rounds. Raises :class:`QuantityError`."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise QuantityError(text)
    sign, number, suffix = match.groups()
    scale = _SCALES.get(suffix)
    if scale is None:
        scale = Fraction(10) ** int(suffix[1:])
    exact = Fraction(number.removesuffix(".")) * scale * 1000
    # Away from zero: MilliValue rounds the magnitude up, and the sign comes afterwards.
    rounded = -(-exact.numerator // exact.denominator)
    return -rounded if sign == "-" else rounded


def clamp_int64(amount: int) -> int:
    """``amount``, or the nearest number that 64 bits hold: a quantity beyond them is cut off, it does not wrap."""
    return max(-MAX_INT64, min(MAX_INT64, amount))


def whole_units(milli: int) -> int:
    """An amount in thousandths as whole units, rounded away from zero."""
    return milli // 1000 if milli < 0 else -(-milli // 1000)
