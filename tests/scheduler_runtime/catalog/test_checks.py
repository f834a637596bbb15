"""Whole numbers are read as Go reads them, however long they are written."""

from __future__ import annotations

import pytest

from scheduler_runtime.catalog.syntax import parse_int64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("+7", 7),
        ("-7", -7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("0" * 5000 + "7", 7),
        ("1" * 5000, None),
        ("١", None),
        ("", None),
        ("-", None),
        ("1.0", None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_whole_number_of_64_bits(text: str, expected: int | None) -> None:
    assert parse_int64(text) == expected
