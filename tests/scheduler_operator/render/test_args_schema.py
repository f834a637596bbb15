"""Schemas of arguments: what they refuse, and which keywords they are honest about."""

import time
from itertools import islice
from typing import Any

import pytest

from scheduler_operator.models import ProfileSpec
from scheduler_operator.render.args_schema import schema_problems, value_problems
from scheduler_runtime.catalog.openapi_schema import structural_schema
from tests.scheduler_operator.builders import matching_long_texts

NUMBER = {"type": "number"}
TEXT = {"type": "string"}
FIELDS = {"type": "object", "properties": {"a": NUMBER}, "required": ["a"]}


def refused(schema: dict[str, Any], value: Any) -> bool:
    inner = {"type": "object", "properties": {"it": schema}}
    assert list(schema_problems(inner)) == []
    return bool(list(value_problems(inner, {"it": value})))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (NUMBER, [1, 1.5], ["1", True, float("nan"), float("inf"), 10**400]),
        ({"type": "integer"}, [1], [1.5, True, "1"]),
        ({"type": "boolean"}, [True], [1, "true"]),
        (TEXT, [""], [1, None]),
        ({**NUMBER, "minimum": 1, "maximum": 2}, [1, 2], [0.9, 2.1]),
        ({**NUMBER, "exclusiveMinimum": 1, "exclusiveMaximum": 2}, [1.5], [1, 2]),
        ({**NUMBER, "minimum": 1, "exclusiveMinimum": True}, [1.1], [1]),
        ({**NUMBER, "maximum": 1, "exclusiveMaximum": True, "minimum": 0}, [0], [1, -1]),
        ({**NUMBER, "minimum": 1, "exclusiveMinimum": False}, [1], [0]),
        ({**NUMBER, "multipleOf": 0.1}, [0.3], [0.35]),
        ({**NUMBER, "multipleOf": 1e-300}, [1e-300], [1e308]),
        ({"type": "integer", "format": "int32"}, [2**31 - 1], [2**31]),
        ({**TEXT, "minLength": 1, "maxLength": 2}, ["a", "ab"], ["", "abc"]),
        ({**TEXT, "pattern": "^a+$"}, ["aa"], ["b"]),
        ({**TEXT, "format": "duration"}, ["1m30s"], ["1 day", "-1s"]),
        ({**TEXT, "enum": ["a", "b"]}, ["a"], ["c"]),
        ({"type": "array", "items": NUMBER, "minItems": 1, "maxItems": 2}, [[1], [1, 2]], [[], [1, 2, 3], ["a"], {}]),
        ({"type": "array", "items": NUMBER, "uniqueItems": True}, [[1, 2]], [[1, 1]]),
        (FIELDS, [{"a": 1}], [{}, {"a": 1, "b": 2}, {"a": "x"}, []]),
        ({**FIELDS, "additionalProperties": TEXT}, [{"a": 1, "b": "x"}], [{"a": 1, "b": 2}]),
        ({**FIELDS, "x-kubernetes-preserve-unknown-fields": True}, [{"a": 1, "b": 2}], [{"b": 2}]),
        ({"type": "object", "additionalProperties": NUMBER, "maxProperties": 1}, [{"a": 1}], [{"a": 1, "b": 2}]),
        ({**NUMBER, "default": 3, "description": "Said only.", "title": "A"}, [1], ["a"]),
    ],
)
def test_a_keyword_holds(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if refused(schema, value)] == []
    assert [value for value in bad if not refused(schema, value)] == []


@pytest.mark.parametrize(
    ("schema", "at"),
    [
        ({"type": "string"}, ("type",)),
        ({}, ("type",)),
        ({"type": "object", "anyOf": []}, ("anyOf",)),
        ({"type": "object", "$ref": "#/a"}, ("$ref",)),
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, ("properties", "a", "type")),
        ({"type": "object", "properties": {"a": {"type": "string", "minimum": 1}}}, ("properties", "a", "minimum")),
        ({"type": "object", "properties": {"a": {"type": "string", "format": "email"}}}, ("properties", "a", "format")),
        (
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=a)"}}},
            ("properties", "a", "pattern"),
        ),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, ("properties", "a", "items")),
        ({"type": "object", "properties": {"a": {"type": "number", "default": "x"}}}, ("properties", "a", "default")),
        ({"type": "object", "properties": {"a": True}}, ("properties", "a")),
        ({"type": "object", "properties": []}, ("properties",)),
        ({"type": "object", "required": "a"}, ("required",)),
        ({"type": "object", "maxProperties": -1}, ("maxProperties",)),
        (
            {"type": "object", "properties": {"a": {"type": "number", "maximum": 10**400}}},
            ("properties", "a", "maximum"),
        ),
    ],
)
def test_what_cannot_be_enforced_is_refused_where_it_stands(schema: dict[str, Any], at: tuple[str, ...]) -> None:
    assert at in [where for where, _ in schema_problems(schema)]


def test_a_schema_without_end_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(64):
        schema = {"type": "object", "properties": {"a": schema}}
    assert any("nested deeper" in message for _, message in schema_problems(schema))


def test_the_schemas_of_our_own_models_are_in_the_dialect() -> None:
    schema = structural_schema(ProfileSpec)["properties"]["scheduler"]["properties"]["leaderElection"]["properties"]
    durations = {"type": "object", "properties": schema}
    assert list(schema_problems(durations)) == []
    assert list(value_problems(durations, {"leaseDuration": "15s"})) == []


def string(pattern: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$", id="dns"),
        pytest.param("^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$", id="uuid"),
        pytest.param(r"^(\d{1,3}\.){3}\d{1,3}(/\d{1,2})?$", id="address"),
        pytest.param(r"^\w{1,128}$", id="words"),
        pytest.param("^.{1,4096}$", id="anything"),
        pytest.param("^[[:alpha:]]{1,63}[^]a]?[]]*$", id="brackets"),
    ],
)
def test_ordinary_patterns_are_possible(pattern: str) -> None:
    assert list(schema_problems(string(pattern))) == []


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        pytest.param("(a{99}b){999}", "larger than 50,000 items", id="nested"),
        pytest.param("a{99}{99}{ 9 }", "larger than 50,000 items", id="repeated-at-once"),
        pytest.param(r"(\w{1,90}\d?){1,40}", "larger than 50,000 items", id="unicode"),
        pytest.param("([)]a{99}){999}", "larger than 50,000 items", id="parenthesis-in-brackets"),
        pytest.param("(a{99}#)\n) {999}".replace("(a", "(?x)(a"), "has the flag x", id="comments"),
        pytest.param("(?i-s:a)(?sx:b)", "has the flag x", id="flags-of-a-group"),
        pytest.param("[a[)]]", "one within brackets", id="brackets"),
        pytest.param("a[b", "not closed", id="open-bracket"),
    ],
)
def test_patterns_too_large_or_unlike_those_of_crds_are_refused(pattern: str, message: str) -> None:
    [(at, text)] = schema_problems(string(pattern))
    assert at == ("properties", "a", "pattern")
    assert message in text


def test_all_patterns_together_have_a_bound_and_all_texts_too() -> None:
    schema, args = matching_long_texts(0)
    began = time.process_time()
    assert "makes the patterns larger" in next(message for _, message in schema_problems(schema))
    ten = {"type": "object", "properties": dict(islice(schema["properties"].items(), 10))}
    assert list(schema_problems(ten)) == []
    texts = {name: args[name] for name in ten["properties"]}
    assert any("is too much to match" in message for _, message in islice(value_problems(ten, texts), 101))
    # Before there were bounds: 8 s. 0.3 s on an idle machine.
    assert time.process_time() - began < 4


def test_defaults_share_the_bound() -> None:
    schema, args = matching_long_texts(0)
    ten = {name: {**inner, "default": args[name]} for name, inner in islice(schema["properties"].items(), 10)}
    assert any(
        "is too much to match" in message for _, message in schema_problems({"type": "object", "properties": ten})
    )


def test_many_short_texts_are_matched_with_a_usual_pattern() -> None:
    pattern = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$"
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "pattern": pattern}}}}
    assert list(schema_problems(schema)) == []
    assert list(value_problems(schema, {"a": [f"host-{number}.a-zone.of.example.com" for number in range(2000)]})) == []
