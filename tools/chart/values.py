"""The chart's values, with the comments above them, which become the schema's descriptions and the README's table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

Schema = dict[str, Any]

_KEY = re.compile(r"( *)([A-Za-z0-9]+):(?: |$)")
_COMMENT = re.compile(r" *# ?(.*)")
_WIDTH = 120
_BEGIN = "<!-- Written by `make manifests` from values.yaml. -->"
_END = "<!-- End of what make manifests writes. -->"


class UndescribedError(Exception):
    """A value has no comment, or the schema does not know it."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of the chart."""

    path: tuple[str, ...]
    default: Any
    description: str

    @property
    def name(self) -> str:
        """The value, as ``helm --set`` names it."""
        return ".".join(self.path)


def comments(text: str) -> dict[tuple[str, ...], str]:
    """Return the comment right above each key of ``text`` that has one, by the path of the key."""
    found: dict[tuple[str, ...], str] = {}
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    for line in text.splitlines():
        if comment := _COMMENT.fullmatch(line):
            lines.append(comment[1])
            continue
        if key := _KEY.match(line):
            indent = len(key[1])
            path = [*((depth, name) for depth, name in path if depth < indent), (indent, key[2])]
            if lines:
                found[tuple(name for _, name in path)] = " ".join(lines)
        lines = []
    return found


def described_values(text: str, schema: Schema) -> Iterator[Value]:
    """Yield the values of ``text`` in its order. Raises UndescribedError."""
    descriptions = comments(text)

    def below(node: Schema, default: Any, path: tuple[str, ...]) -> Iterator[Value]:
        properties = _resolved(node, schema).get("properties")
        if properties and default:
            for name, inner in default.items():
                if name not in properties:
                    raise UndescribedError(f"values.schema.json does not know {'.'.join((*path, name))}")
                yield from below(properties[name], inner, (*path, name))
        elif path in descriptions:
            yield Value(path, default, descriptions[path])
        else:
            raise UndescribedError(f"{'.'.join(path)} has no comment above it in values.yaml")

    yield from below(schema, yaml.safe_load(text), ())


def schema_text(values: str, text: str) -> str:
    """Return values.schema.json with the comments of values.yaml as descriptions. Raises UndescribedError."""
    schema = json.loads(text)
    for value in described_values(values, schema):
        node = schema
        for name in value.path:
            # A definition is that of several values, and each has a description of its own.
            node["properties"][name] = node = _inlined(node["properties"][name], schema)
        node["description"] = value.description
    return _compact(schema, "") + "\n"


def _resolved(node: Schema, schema: Schema) -> Schema:
    reference = node.get("$ref")
    return schema["definitions"][reference.rpartition("/")[2]] if reference else node


def _inlined(node: Schema, schema: Schema) -> Schema:
    """Return a copy of ``node``, and what it refers to instead of it, if that has values of its own."""
    resolved = _resolved(node, schema)
    return json.loads(json.dumps(resolved)) if "properties" in resolved else node


def _compact(value: Any, indent: str) -> str:
    """Return ``value`` as JSON: in one line, where that is short."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDTH - 40 or not isinstance(value, dict | list) or not value:
        return line
    inner = f"{indent}  "
    if isinstance(value, list):
        items = [_compact(item, inner) for item in value]
    else:
        items = [f"{json.dumps(key)}: {_compact(item, inner)}" for key, item in value.items()]
    brackets = "[]" if isinstance(value, list) else "{}"
    return f"{brackets[0]}\n{inner}" + f",\n{inner}".join(items) + f"\n{indent}{brackets[1]}"


def table(values: Iterator[Value]) -> str:
    """Return the values as a table of Markdown."""
    rows = ["| value | default | meaning |", "|---|---|---|"]
    for value in values:
        default = f"`{json.dumps(value.default, ensure_ascii=False)}`" if value.default not in ("", [], {}) else "none"
        if isinstance(value.default, str) and value.default:
            default = f"`{value.default}`"
        rows.append(f"| `{value.name}` | {default} | {value.description.replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def with_table(page: str, values: Iterator[Value]) -> str:
    """Return ``page`` with the table between its two marks."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise UndescribedError(f"helm/berth/README.md has no place for the table: write {_BEGIN} and {_END} there")
    return f"{before}{_BEGIN}\n{table(values)}\n{_END}{after}"
