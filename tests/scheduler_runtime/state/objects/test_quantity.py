"""Quantities mean what Kubernetes means by them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_runtime.state.objects import QuantityError
from scheduler_runtime.state.objects.quantity import MAX_INT64, clamp_int64, to_milli, whole_units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("2", 2000),
        ("100m", 100),
        ("1.5", 1500),
        (".5", 500),
        ("5.", 5000),
        ("+1", 1000),
        ("-1", -1000),
        ("1k", 1_000_000),
        ("1Ki", 1_024_000),
        ("1.5Gi", 1536 * 1024 * 1024 * 1000),
        ("1e3", 1_000_000),
        ("1E3", 1_000_000),
        ("12e-3", 12),
        ("1E", 10**21),
        ("1Ei", 1024**6 * 1000),
        ("1n", 1),
        ("100u", 1),
        ("1001u", 2),
        ("-1n", -1),
    ],
)
def test_a_quantity_in_thousandths(text: str, expected: int) -> None:
    assert to_milli(text) == expected


@pytest.mark.parametrize("text", ["", "m", "1.5.5", "1 Gi", "1gi", "0x10", "1Kib", "e3", "--1", "one", "1e1000", "∞"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(QuantityError, match=r"is not a quantity such as 100m, 1\.5Gi or 2"):
        to_milli(text)


@pytest.mark.parametrize("text", ["1" * 5000, "0." + "1" * 5000, "." + "1" * 5000, "1e" + "1" * 5000, "١", "1e١"])
def test_a_quantity_has_few_digits_and_only_ours(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        to_milli(text)
    assert len(str(caught.value)) < 200
    assert caught.value.text == text


@given(st.integers(-(10**24), 10**24), st.sampled_from(["", "m", "k", "Ki", "M", "Mi", "G", "Gi"]))
def test_suffixes_only_multiply(number: int, suffix: str) -> None:
    exact = Fraction(number) * Fraction(to_milli(f"1{suffix}"))
    assert to_milli(f"{number}{suffix}") == exact


@given(st.integers(-(2**80), 2**80))
def test_whole_units_are_rounded_away_from_zero_and_held_within_64_bits(amount: int) -> None:
    units = whole_units(amount)
    assert abs(units) * 1000 >= abs(amount) > (abs(units) - 1) * 1000
    assert -MAX_INT64 <= clamp_int64(units) <= MAX_INT64
