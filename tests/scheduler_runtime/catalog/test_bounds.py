"""Bounds on what people write, and on how much of it a message repeats."""

import time
from typing import Any

import pytest

from scheduler_runtime.catalog.bounds import MAX_BYTES, MAX_DEPTH, MAX_VALUES, describe_value, excess, largest_part
from scheduler_runtime.catalog.suggestions import nearest, not_a_field


def nested(levels: int, innermost: Any = 1) -> Any:
    value = innermost
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(nested(MAX_DEPTH), "", id="just-deep-enough"),
        pytest.param(nested(MAX_DEPTH + 1), "is nested more than 100 deep", id="too-deep"),
        pytest.param(nested(100_000), "is nested more than 100 deep", id="far-too-deep"),
        pytest.param([0] * (MAX_VALUES - 1), "", id="just-few-enough"),
        pytest.param([0] * MAX_VALUES, "has more than 50,000 values", id="too-many"),
        pytest.param({"a": "x" * (MAX_BYTES - 1)}, "", id="just-short-enough"),
        pytest.param({"a": "x" * MAX_BYTES}, "has more than 1,048,576 bytes of text", id="too-long"),
        pytest.param({"é" * MAX_BYTES: 1}, "has more than 1,048,576 bytes of text", id="too-long-a-key"),
    ],
)
def test_excess(value: Any, message: str) -> None:
    assert excess(value) == message


def test_what_refers_to_itself_many_times_is_counted_no_further_than_the_bound() -> None:
    bomb: Any = 1
    for _ in range(40):
        bomb = [bomb] * 10
    began = time.process_time()
    assert excess(bomb) == "has more than 50,000 values"
    assert time.process_time() - began < 1


def test_the_largest_part_is_found() -> None:
    spec = {"plugin": "A", "declares": {"argsSchema": {"type": "string", "enum": list(range(1000))}, "hooks": ["a"]}}
    assert largest_part(spec) == (("declares", "argsSchema", "enum"), 1001)
    assert largest_part({}) == ((), 1)


def test_a_value_is_repeated_only_as_far_as_a_message_shows_it() -> None:
    assert describe_value({"a": [1, True, None], "b": {}}) == "{'a': [1, True, None], 'b': {}}"
    assert describe_value("x" * 10**6) == f"'{'x' * 56}…"
    assert describe_value([[["y" * 50]] * 10**6] * 10**6).startswith("[[['yyy")
    assert len(describe_value(nested(100_000))) == 58


def test_a_word_of_extreme_length_is_near_nothing() -> None:
    began = time.process_time()
    assert nearest("a" * 10**6, ["a" * 10**6] * 1000) == []
    assert len(not_a_field("b", [f"field{number}" for number in range(10**6)])) < 2000
    assert time.process_time() - began < 2
