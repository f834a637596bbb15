"""Models as schemas that Kubernetes understands: *structural* OpenAPI v3.

Such a schema has no references, no null type, no numeric exclusive bounds and no closed objects, because unknown fields
are refused or dropped by the API server itself. Where JSON Schema has no words, for list types and CEL rules, the
models have extra keywords, which pass through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]


def structural_schema(model: type[BaseModel]) -> Schema:
    """Return the structural schema of ``model``. Raises TypeError where a field has no single type."""
    schema = model.model_json_schema(by_alias=True)
    return _structural(schema, schema.get("$defs", {}))


def _structural(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """Return ``schema``, in which references point to ``definitions``, as a structural one.

    Keywords that a structural schema does not know are translated where they have an equivalent, and left out
    otherwise.
    """
    node = _resolve(schema, definitions)
    of_any_type = node.get("x-kubernetes-preserve-unknown-fields") and "type" not in node
    if node.get("x-kubernetes-int-or-string") or of_any_type:
        return {keyword: value for keyword, value in node.items() if keyword not in ("title", "default")}
    result: Schema = {}
    for keyword, value in node.items():
        match keyword, value:
            case ("properties", _):
                result[keyword] = {name: _structural(child, definitions) for name, child in value.items()}
            case ("items", _) | ("additionalProperties", dict()):
                result[keyword] = _structural(value, definitions)
            case ("const", _):
                result["enum"] = [value]
            case ("exclusiveMinimum" | "exclusiveMaximum", _):
                result |= {keyword.replace("exclusiveM", "m"): value, keyword: True}
            case ("title" | "$defs" | "propertyNames" | "additionalProperties", _) | ("default", None):
                pass
            case _:
                result[keyword] = value
    if not isinstance(result.get("type"), str):
        raise TypeError(f"a structural schema needs one type here: {dict(schema)}")
    return result


def _resolve(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """Return ``schema`` with references replaced by what they refer to, and ``X | None`` as plain X.

    A field that may be null may also be left out, and only that can be said in a structural schema. Keywords beside a
    reference are stronger than those of its model, so that a field's description stands above that of its model.
    """
    node = dict(schema)
    while "$ref" in node or {"type": "null"} in node.get("anyOf", ()):
        if "$ref" in node:
            referred = definitions[node.pop("$ref").rpartition("/")[2]]
        else:
            options = [option for option in node.pop("anyOf") if option != {"type": "null"}]
            referred = options[0] if len(options) == 1 else {"anyOf": options}
        node = {**referred, **node}
    return node
