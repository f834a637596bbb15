"""What a plain word of YAML is to Kubernetes: its own mixture of YAML 1.1 and 1.2.

A document is turned into JSON first, so a number that is whole becomes an integer however it was written, ``y`` and
``off`` are booleans, dates are text, and not-a-number cannot be said at all.
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


class ScalarError(ValueError):
    """A word that cannot be what its tag says, or that JSON cannot say."""


def value_of(text: str, tag: str | None) -> Any:
    """The JSON value of a plain or tagged ``text``. Raises ScalarError."""
    if tag == f"{_TAG}binary":
        return _binary(text)
    if tag is not None and tag not in _RESOLVED:
        return text
    kind, value = _resolved(text)
    wanted = tag.removeprefix(_TAG) if tag else kind
    if kind != wanted and not (kind == "int" and wanted == "float") and wanted != "timestamp":
        raise ScalarError(f"{text!r} is not what its tag !!{wanted} says")
    return _in_json(value, text) if isinstance(value, float) else value


def key_of(text: str, tag: str | None) -> str:
    """The JSON key that a plain or tagged ``text`` makes. Raises ScalarError."""
    value = value_of(text, tag)
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or (isinstance(value, int) and value >= 2**63):
        raise ScalarError(f"{text or 'nothing'} cannot be a key")
    return str(value)


def is_plain(text: str) -> bool:
    """Whether ``text``, written without quotes, is text."""
    return _resolved(text)[0] == "str" and text != "<<"


def _resolved(text: str) -> tuple[str, Any]:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return "str", text
    digits = text if text[0] == "." else text.replace("_", "")
    integer = _integer(digits)
    if integer is not None:
        return "int", integer
    if _FLOAT.fullmatch(digits) and (number := float(digits)) not in (float("inf"), float("-inf")):
        return "float", number
    return "str", text


def _integer(digits: str) -> int | None:
    match = _INTEGER.fullmatch(digits)
    if match is None or len(digits) > 70:
        return None
    sign, *forms = match.groups()
    number = next(int(form, base) for form, base in zip(forms, (16, 2, 8, 10), strict=True) if form is not None)
    number = -number if sign == "-" else number
    limit = 2**63 if sign else 2**64
    return number if -(2**63) <= number < limit else None


def _in_json(number: float, text: str) -> int | float:
    """A number as JSON writes it: without a point or an exponent when it is whole and not huge."""
    if number != number or number in (float("inf"), float("-inf")):
        raise ScalarError(f"{text} is not a number that a document can hold")
    if number.is_integer() and abs(number) < _BARE_FROM:
        return int(Decimal(repr(number)))
    return number


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode(errors="replace")
    except ValueError:
        raise ScalarError(f"{text[:40]!r} is not base64, which its tag !!binary says") from None
