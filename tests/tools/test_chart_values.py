"""The chart's values: all of them described, and the pages in step."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.chart.files import value_pages
from tools.chart.values import UndescribedError, comments, described_values, schema_text, table, with_table

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm/berth"
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def test_the_schema_and_the_readme_say_what_the_comments_say() -> None:
    for path, text in value_pages(CHART).items():
        assert path.read_text() == text, "run: make manifests"


def properties(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for name, inner in node.get("properties", {}).items():
            yield f"{path}.{name}", inner
        for name, inner in node.items():
            yield from properties(inner, path if name == "properties" else f"{path}.{name}")
    elif isinstance(node, list):
        for inner in node:
            yield from properties(inner, path)


def test_every_value_is_described_and_no_other_is_admitted() -> None:
    found = dict(properties({key: value for key, value in SCHEMA.items() if key != "definitions"}))
    assert len(found) > 80
    groups = [path for path, node in found.items() if "properties" in node]
    assert [path for path, node in found.items() if path not in groups and "description" not in node] == []
    assert [path for path in groups if found[path].get("additionalProperties") is not False] == []
    assert SCHEMA["additionalProperties"] is False


VALUES = """\
# About everything.

# Whether there is one,
# or not.
one: true
two:
  # A list.
  three: [a, b]

  # Not right above.

  four: {}
"""
KNOWN = {
    "properties": {
        "one": {"type": "boolean"},
        "two": {"$ref": "#/definitions/two"},
    },
    "definitions": {"two": {"type": "object", "properties": {"three": {}, "four": {}}}},
}


def test_a_comment_belongs_to_the_value_right_below_it() -> None:
    assert comments(VALUES) == {("one",): "Whether there is one, or not.", ("two", "three"): "A list."}


def test_a_value_without_a_comment_is_an_error() -> None:
    with pytest.raises(UndescribedError, match=r"two\.four has no comment above it"):
        list(described_values(VALUES, KNOWN))
    with pytest.raises(UndescribedError, match=r"does not know two\.five"):
        list(described_values("# A.\none: 1\ntwo:\n  # B.\n  five: 1\n", KNOWN))


def test_a_definition_of_several_values_is_described_at_each_of_them() -> None:
    text = VALUES.replace("  # Not right above.\n\n", "  # Another | list.\n")
    written = json.loads(schema_text(text, json.dumps(KNOWN)))
    assert written["properties"]["two"]["properties"]["three"]["description"] == "A list."
    assert written["definitions"] == KNOWN["definitions"]
    assert table(described_values(text, KNOWN)).splitlines()[2:] == [
        "| `one` | `true` | Whether there is one, or not. |",
        '| `two.three` | `["a", "b"]` | A list. |',
        r"| `two.four` | none | Another \| list. |",
    ]


def test_a_page_without_a_place_for_the_table_is_an_error() -> None:
    with pytest.raises(UndescribedError, match="has no place for the table"):
        with_table("# Values\n", iter(()))
