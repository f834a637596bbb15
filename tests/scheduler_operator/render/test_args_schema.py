"""Schemas of arguments: what they refuse, and which keywords they are honest about."""

from typing import Any

import pytest

from scheduler_operator.models import ProfileSpec
from scheduler_operator.render.args_schema import schema_problems, value_problems
from scheduler_runtime.catalog.openapi_schema import structural_schema

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
        (NUMBER, [1, 1.5], ["1", True, float("nan"), float("inf")]),
        ({"type": "integer"}, [1], [1.5, True, "1"]),
        ({"type": "boolean"}, [True], [1, "true"]),
        (TEXT, [""], [1, None]),
        ({**NUMBER, "minimum": 1, "maximum": 2}, [1, 2], [0.9, 2.1]),
        ({**NUMBER, "exclusiveMinimum": 1, "exclusiveMaximum": 2}, [1.5], [1, 2]),
        ({**NUMBER, "minimum": 1, "exclusiveMinimum": True}, [1.1], [1]),
        ({**NUMBER, "maximum": 1, "exclusiveMaximum": True, "minimum": 0}, [0], [1, -1]),
        ({**NUMBER, "minimum": 1, "exclusiveMinimum": False}, [1], [0]),
        ({**NUMBER, "multipleOf": 0.1}, [0.3], [0.35]),
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
