"""Plain words of YAML as Kubernetes reads them: its own mixture of YAML 1.1 and 1.2.

Kubernetes turns a document into JSON first (sigs.k8s.io/yaml). So a number that is whole becomes an integer however it
was written, ``y`` and ``off`` are booleans, dates are text, and not-a-number cannot be said at all.
"""

from __future__ import annotations

import base64
import re
from decimal import Decimal
from typing import Any

_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), ("bool", True)),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), ("bool", False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), ("null", None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), ("float", float("nan"))),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), ("float", float("inf"))),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), ("float", float("-inf"))),
}
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_RESOLVED = frozenset(_TAG + kind for kind in ("bool", "int", "float", "null", "timestamp"))
_BARE_FROM = 10**21
"""Go's JSON prints numbers from here on with an exponent, so that they stay floats."""


class ScalarError(ValueError):
    """A word that is not what its tag says, or that has no form in JSON."""


def value_of(text: str, tag: str | None) -> Any:
    """Return the JSON value of a plain or tagged ``text``. Raises ScalarError."""
    if tag == f"{_TAG}binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode(errors="replace")
        except ValueError:
            raise ScalarError(f"{text[:40]!r} is not base64, which its tag !!binary says") from None
    if tag is not None and tag not in _RESOLVED:
        return text
    kind, value = _resolve(text)
    expected = tag.removeprefix(_TAG) if tag else kind
    if kind != expected and not (kind == "int" and expected == "float") and expected != "timestamp":
        raise ScalarError(f"{text!r} is not what its tag !!{expected} says")
    if not isinstance(value, float):
        return value
    if value != value or value in (float("inf"), float("-inf")):
        raise ScalarError(f"{text} is not a number that a document can hold")
    # A whole number has neither point nor exponent in JSON, unless it is huge: 1e3 is the integer 1000 to Kubernetes.
    return int(Decimal(repr(value))) if value.is_integer() and abs(value) < _BARE_FROM else value


def key_of(text: str, tag: str | None) -> str:
    """Return the JSON key that a plain or tagged ``text`` makes. Raises ScalarError where that cannot be a key."""
    value = value_of(text, tag)
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or (isinstance(value, int) and value >= 2**63):
        raise ScalarError(f"{text or 'nothing'} cannot be a key")
    return str(value)


def is_plain(text: str) -> bool:
    """Return True if ``text`` stays text when it is written without quotes."""
    return _resolve(text)[0] == "str" and text != "<<"


def _resolve(text: str) -> tuple[str, Any]:
    """Return the kind of a plain word, named as in YAML's tags, and its value."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return "str", text
    digits = text if text[0] == "." else text.replace("_", "")
    integer = _parse_integer(digits)
    if integer is not None:
        return "int", integer
    if _FLOAT.fullmatch(digits) and (number := float(digits)) not in (float("inf"), float("-inf")):
        return "float", number
    return "str", text


def _parse_integer(digits: str) -> int | None:
    """Return the integer that ``digits`` are to Go: int64 with a sign, uint64 without. None for anything else."""
    match = _INTEGER.fullmatch(digits)
    if match is None or len(digits) > 70:
        return None
    sign, *forms = match.groups()
    number = next(int(form, base) for form, base in zip(forms, (16, 2, 8, 10), strict=True) if form is not None)
    number = -number if sign == "-" else number
    limit = 2**63 if sign else 2**64
    return number if -(2**63) <= number < limit else None
