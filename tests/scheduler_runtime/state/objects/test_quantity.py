"""Quantities mean what Kubernetes means by them."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_runtime.state.objects import AnnotatedMeta, Node, NodeStatus, QuantityError
from scheduler_runtime.state.objects.quantity import thousandths, to_milli, whole_units
from scheduler_runtime.state.table import Table


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


@pytest.mark.parametrize("text", ["", "m", "1.5.5", "1 Gi", "1gi", "0x10", "1Kib", "e3", "--1", "one", "∞"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(QuantityError, match=r"is not a quantity such as 100m, 1\.5Gi or 2"):
        to_milli(text)


@pytest.mark.parametrize("text", ["1" * 5000, "0." + "1" * 5000, "." + "1" * 5000, "1e" + "1" * 5000, "١", "1e١"])
def test_a_quantity_has_few_digits_and_only_ours(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        to_milli(text)
    assert len(str(caught.value)) < 200
    assert caught.value.text == text


@given(st.integers(-(10**9), 10**9), st.sampled_from(["", "m", "k", "Ki", "M", "Mi", "G", "Gi"]))
def test_suffixes_only_multiply(number: int, suffix: str) -> None:
    exact = Fraction(number) * Fraction(to_milli(f"1{suffix}"))
    assert to_milli(f"{number}{suffix}") == exact


@given(st.integers(-(2**80), 2**80))
def test_whole_units_are_rounded_away_from_zero(amount: int) -> None:
    units = whole_units(amount)
    assert abs(units) * 1000 >= abs(amount) > (abs(units) - 1) * 1000


def test_amounts_beyond_64_bits_are_what_go_makes_of_them() -> None:
    """The file has what Go printed for each line: 0, a wrapped number, or the largest, by how the text is written."""
    lines = (Path(__file__).parent / "quantities.txt").read_text().splitlines()[1:]
    ours = []
    for line in lines:
        texts = line.partition(" = ")[0]
        try:
            total = reduce(add, map(to_milli, texts.split(" + ")))
            ours.append(f"{texts} = {whole_units(total)} {thousandths(total)}")
        except QuantityError:
            ours.append(f"{texts} = error")
    assert len(lines) > 400
    assert ours == lines


@pytest.mark.parametrize(("pods", "places"), [("1e25", 0), ("9223372036854775807", 2**63 - 1), ("1500m", 2), ("3", 3)])
def test_a_node_takes_as_many_pods_as_go_reads(pods: str, places: int) -> None:
    table = Table()
    table.set_node(Node(AnnotatedMeta(name="n"), status=NodeStatus(allocatable={"pods": pods, "cpu": "1e30"})))
    assert table.max_pods.tolist() == [places]
    assert table.allocatable("cpu").tolist() == [0]


@pytest.mark.parametrize("exponent", ["999999999", "-999999999"])
def test_an_exponent_takes_no_time_however_large_it_is(exponent: str) -> None:
    for number in ("1", "12345678901234567890", "0.0001", "0"):
        amount = to_milli(f"{number}e{exponent}")
        assert whole_units(amount + amount) == (0 if exponent[0] != "-" or number == "0" else 1)
