"""Kubernetes quantities such as ``100m``, ``1.5Gi`` and ``12e6``, as whole numbers of thousandths.

Go holds a quantity as an int64 with a power of ten, or as a decimal number of any length, and turns it into an int64 in
the end. What does not fit becomes 0 or wraps around, depending on how it was written: ``1e25`` is 0 and
``10000000000000000000`` is negative. A decision about such an amount is the same here only if it is computed the same
way; see pkg/api/resource/{quantity,amount,math,scale_int}.go in k8s.io/apimachinery.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

INT64 = range(-(2**63), 2**63)
"""The numbers that 64 bits hold."""

_DIGITS = "[0-9]{1,1000}"
"""The API server writes some twenty digits; a text from elsewhere must have a bound, or reading it takes minutes."""
_PATTERN = re.compile(
    rf"([+-]?)({_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{{1,9}})"
)
_MAX_QUOTED = 100
"""As many characters of a malformed text are repeated to its author."""
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {f"{suffix}i": 10 * power for power, suffix in enumerate("KMGTPE", start=1)}
_SMALL = 2**36
"""Below this the sum of all containers of a pod fits 64 bits, in whole units and in thousandths."""
_NANO = -9
_MAX_EXPONENT = 1100
"""Beyond it all powers of ten are alike: more than any other amount, or less than a billionth."""


class QuantityError(ValueError):
    """A quantity that Kubernetes could not read. ``field`` is its path in the object."""

    def __init__(self, text: str, field: str = "quantity") -> None:
        quoted = text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
        super().__init__(f"{field}: {quoted!r} is not a quantity such as 100m, 1.5Gi or 2")
        self.text = text
        self.field = field


class ExactAmount(int):
    """Thousandths, rounded up, that remember the amount itself as Go holds it, and add up as there.

    For amounts that 64 bits may not hold, and for those that are no whole number of thousandths. The amount is
    ``number`` times ten to the power of ``exponent``; ``is_decimal`` once Go has left its int64.
    """

    number: int
    exponent: int
    is_decimal: bool

    @classmethod
    def of(cls, number: int, exponent: int, *, is_decimal: bool) -> ExactAmount:
        """Return the amount of ``number`` times ten to the power of ``exponent``, as Go holds it."""
        power = max(-_MAX_EXPONENT, min(_MAX_EXPONENT, exponent + 3))
        amount = cls(number * 10**power if power >= 0 else _round_up(Fraction(number, 10**-power)))
        amount.number, amount.exponent, amount.is_decimal = number, exponent, is_decimal
        return amount

    def __add__(self, other: int) -> ExactAmount:
        """Quantity.Add: in 64 bits as long as the sum fits them, and as a decimal number otherwise."""
        more = other if isinstance(other, ExactAmount) else _as_exact(other)
        if not (self.is_decimal or more.is_decimal):
            if not more.number:
                return self
            if not self.number:
                return more
            exponent = min(self.exponent, more.exponent)
            own, own_fits = _scaled_up(self.number, self.exponent - exponent)
            others, others_fit = _scaled_up(more.number, more.exponent - exponent)
            if own_fits and others_fit and own + others in INT64:
                return ExactAmount.of(own + others, exponent, is_decimal=False)
        exponent = min(self.exponent, more.exponent)
        total = sum(term.number * 10 ** min(term.exponent - exponent, _MAX_EXPONENT) for term in (self, more))
        return ExactAmount.of(total, exponent, is_decimal=True)

    __radd__ = __add__

    def to_int64(self, exponent: int) -> int:
        """Quantity.ScaledValue: the units of ten to the power of ``exponent``, rounded up, in 64 bits."""
        difference = self.exponent - exponent
        if self.is_decimal:
            return _scaled_decimal(self.number, difference)
        if difference >= 0:
            return _scaled_up(self.number, difference)[0]
        return _round_up(Fraction(self.number, 10 ** min(-difference, _MAX_EXPONENT)))


@lru_cache(maxsize=4096)
def to_milli(text: str) -> int:
    """Read a quantity as thousandths, rounded up as Kubernetes' MilliValue rounds. Raises :class:`QuantityError`."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise QuantityError(text)
    sign, number, suffix = match.groups()
    whole, _, fraction = number.partition(".")
    digits = (whole.lstrip("0") or "0") + fraction
    power_of_two = _BINARY.get(suffix)
    if power_of_two is not None:
        multiplier, exponent = 1 << power_of_two, -len(fraction)
        fits_int64 = not fraction and 15 - len(digits) - power_of_two * 3 // 10 - 1 >= 0
    else:
        power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
        multiplier, exponent = 1, power - len(fraction)
        fits_int64 = len(digits) <= 18 and exponent >= _NANO
    amount = (-1 if sign == "-" else 1) * int(digits) * multiplier
    if fits_int64:
        exact = ExactAmount.of(amount, exponent, is_decimal=False)
    else:
        exact = _as_decimal(amount, exponent, is_capped=power_of_two is not None)
    is_whole = exact.exponent >= -3 or not exact.number % 10 ** (-3 - exact.exponent)
    return int(exact) if is_whole and -_SMALL * 1000 < exact < _SMALL * 1000 else exact


def whole_units(milli: int) -> int:
    """An amount in thousandths as an int64 of whole units: Quantity.Value."""
    if isinstance(milli, ExactAmount):
        return milli.to_int64(0)
    return milli // 1000 if milli < 0 else -(-milli // 1000)


def thousandths(milli: int) -> int:
    """An amount in thousandths as an int64: Quantity.MilliValue."""
    return milli.to_int64(-3) if isinstance(milli, ExactAmount) else milli


def wrap_int64(number: int) -> int:
    """Return ``number`` as 64 bits hold it: beyond them it wraps around, as Go's int64 does."""
    return (number + 2**63) % 2**64 - 2**63


def _as_exact(milli: int) -> ExactAmount:
    """A whole number of thousandths, as it was most probably written."""
    number, exponent = (milli, -3) if milli % 1000 else (milli // 1000, 0)
    return ExactAmount.of(number, exponent, is_decimal=False)


def _as_decimal(number: int, exponent: int, *, is_capped: bool) -> ExactAmount:
    """ParseQuantity where 64 bits may be too few: in billionths, rounded up, and with ``is_capped`` up to int64."""
    if not number:
        exponent = 0
    else:
        power = max(-_MAX_EXPONENT, min(_MAX_EXPONENT, exponent - _NANO))
        number, exponent = (number * 10**power if power >= 0 else _round_up(Fraction(number, 10**-power))), _NANO
        largest = INT64.stop - 1
        if is_capped and abs(number) > largest * 10**9:
            number, exponent = (largest if number > 0 else -largest), 0
    return ExactAmount.of(number, exponent, is_decimal=True)


def _round_up(exact: Fraction) -> int:
    """Away from zero."""
    magnitude = -(-abs(exact.numerator) // exact.denominator)
    return magnitude if exact.numerator >= 0 else -magnitude


def _scaled_up(number: int, power: int) -> tuple[int, bool]:
    """positiveScaleInt64: ``number`` times ten to ``power`` in 64 bits, and whether it fits them."""
    if power in (0, 1, 2, 3, 6, 9):
        exact = number * 10**power
        return wrap_int64(exact), exact in INT64
    exact = number * 10 ** min(power, _MAX_EXPONENT)
    return (exact, True) if exact in INT64 else (0, False)


def _scaled_decimal(number: int, power: int) -> int:
    """scaledValue: ``number`` times ten to ``power``, of which the lowest 64 bits count."""
    low = wrap_int64(abs(number)) * (-1 if number < 0 else 1)
    if power >= 0:
        factor = int(10**power) if power < 19 else INT64.start  # a floating point number that no int64 holds
        return wrap_int64(wrap_int64(low) * factor)
    divisor = int(10 ** min(-power, _MAX_EXPONENT))
    if number < INT64.stop - 1 and -power < 19:
        truncated = abs(low) // divisor * (-1 if low < 0 else 1)
        return truncated + (low % divisor != 0)
    quotient, remainder = divmod(number, divisor)
    return wrap_int64(wrap_int64(abs(quotient)) * (-1 if quotient < 0 else 1) + (remainder != 0))
