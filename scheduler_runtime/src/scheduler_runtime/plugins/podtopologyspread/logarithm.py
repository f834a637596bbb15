"""The natural logarithm as Go computes it.

Go's ``math.Log`` and the C library's differ in the last bit for about one whole number in a hundred, 3 among them.
Where a sum lies exactly between two scores that bit decides, so it is computed Go's way: by the approximation of the
Sun mathematical library of 1993, with its coefficients, operation by operation.
"""

from __future__ import annotations

import math
from functools import cache

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ODD = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
_EVEN = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)


@cache
def log(number: int) -> float:
    """The natural logarithm of a whole number from 1."""
    fraction, exponent = math.frexp(number)
    if fraction < math.sqrt(2) / 2:
        fraction, exponent = fraction * 2, exponent - 1
    f = fraction - 1
    s = f / (2 + f)
    square = s * s
    fourth = square * square
    remainder = square * _polynomial(_ODD, fourth) + fourth * _polynomial(_EVEN, fourth)
    half = 0.5 * f * f
    return exponent * _LN2_HIGH - ((half - (s * (half + remainder) + exponent * _LN2_LOW)) - f)


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    value = 0.0
    for coefficient in reversed(coefficients):
        value = coefficient + x * value
    return value
