"""Kubernetes quantities, as far as the downward API counts with them."""

import math
import re
from fractions import Fraction

_SUFFIXES = {
    **{
        name: Fraction(1000) ** power
        for power, name in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
    },
    **{name: Fraction(1024) ** power for power, name in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}
_FORM = re.compile(r"([+-]?[0-9]*\.?[0-9]+|[+-]?[0-9]+\.)([eE][+-]?[0-9]+|[A-Za-z]*)")


def quantity(text: str) -> Fraction:
    """The exact value of ``text``, such as ``250m`` or ``1.5Gi``."""
    matched = _FORM.fullmatch(text)
    if matched and (suffix := matched[2]) in _SUFFIXES:
        return Fraction(matched[1]) * _SUFFIXES[suffix]
    if matched and suffix[1:].lstrip("+-").isdecimal():
        return Fraction(text)
    raise ValueError(f"{text!r} is not a quantity such as 250m or 1.5Gi")


def divided(amount: str, divisor: str) -> str:
    """``amount`` in units of ``divisor`` (absent or ``0``: 1), rounded up."""
    unit = quantity(divisor) if divisor else Fraction(0)
    return str(math.ceil(quantity(amount) / (unit or 1)))
