"""Write ``schema.json``: the types of which pods and nodes are made, out of the OpenAPI document of an API server.

kubectl get --raw /openapi/v3/api/v1 | python -m tests.fuzz.schema
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PREFIX = "#/components/schemas/"
SIMPLE = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "time",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
}


def compact(schemas: dict[str, Any], roots: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return the fields of each type that the ``roots`` are made of."""
    result: dict[str, dict[str, str]] = {}
    waiting = [f"io.k8s.api.core.v1.{root}" for root in roots]
    while waiting:
        name = waiting.pop()
        if _short(name) not in result:
            properties = schemas[name].get("properties", {})
            result[_short(name)] = {field: _type(schema, waiting) for field, schema in properties.items()}
    return dict(sorted(result.items()))


def _type(schema: dict[str, Any], waiting: list[str]) -> str:
    reference = schema.get("$ref") or next((one["$ref"] for one in schema.get("allOf", ()) if "$ref" in one), "")
    if reference:
        name = reference.removeprefix(PREFIX)
        if name in SIMPLE:
            return SIMPLE[name]
        waiting.append(name)
        return _short(name)
    match schema.get("type"):
        case "array":
            return f"[]{_type(schema['items'], waiting)}"
        case "object" if "additionalProperties" in schema:
            return f"{{}}{_type(schema['additionalProperties'], waiting)}"
        case "integer":
            return str(schema.get("format", "int64"))
        case "string" | "boolean" as kind:
            return str(kind)
    return "any"


def _short(name: str) -> str:
    return name.rpartition(".")[2]


if __name__ == "__main__":
    document = json.load(sys.stdin)
    types = compact(document["components"]["schemas"], ("Pod", "Node"))
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(fields)}" for name, fields in types.items())
    (Path(__file__).parent / "schema.json").write_text(f"{{\n{lines}\n}}\n")
