"""What can be said of an extender's certificates without trusting or using them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_runtime.catalog.checks import Location


def tls_problems(insecure: bool, authority: str, data: Mapping[str, str]) -> Iterator[tuple[Location, str]]:
    """What is wrong with an extender's tlsConfig; ``data`` are its base64 fields and ``authority`` its CA, if any."""
    decoded = {name: _decoded(text) for name, text in data.items()}
    for name, content in decoded.items():
        if content is None:
            yield (name,), "is not base64"
    if insecure and authority:
        yield ("insecure",), "must be false when a CA is given: it would not be asked"
    elif decoded["caData"] and b"-----BEGIN CERTIFICATE-----" not in decoded["caData"]:
        yield ("caData",), "holds no certificate in PEM form, base64 encoded"


def as_base64(given: Any) -> Any:
    """Bytes written as a list of numbers, which Go reads too, as text; anything else unchanged."""
    if isinstance(given, list) and all(type(each) in (int, type(None)) and 0 <= (each or 0) < 256 for each in given):
        return base64.b64encode(bytes(each or 0 for each in given)).decode()
    return given


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return None
