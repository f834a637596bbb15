"""Durations as Go reads and prints them."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from scheduler_runtime.catalog.syntax import Duration, DurationField

ADAPTER = TypeAdapter(DurationField)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("15s", "15s"),
        ("1h1h", "2h0m0s"),
        (".5m", "30s"),
        ("1.m", "1m0s"),
        ("+90s", "1m30s"),
        ("-1500ms", "-1.5s"),
        ("0", "0s"),
        ("1500us", "1.5ms"),
        ("1µs1ns", "1.001µs"),
        ("10.0000000001s", "10s"),
        ("2562047h47m16.854775807s", "2562047h47m16.854775807s"),
    ],
)
def test_a_duration_is_printed_as_go_prints_it(text: str, printed: str) -> None:
    duration = ADAPTER.validate_python(text)
    assert isinstance(duration, Duration)
    assert (str(duration), duration.canonical) == (text, printed)


@pytest.mark.parametrize("text", ["", "1", "s", ".s", "1d", "1 s", "1S", "2562048h", "1e3s", 15, None])
def test_what_is_no_duration(text: object) -> None:
    with pytest.raises(ValidationError):
        ADAPTER.validate_python(text)
