"""Building blocks for the fields of both kinds: the base model, limited strings, and CEL rules.

A constraint is written once, here or at its field: pydantic enforces it when the operator or the command line reads
an object, and ``scheduler_operator.generate.crds`` copies it into the CRD, so that the API server enforces it too. A
constraint over several fields is a :func:`cel` rule, which only the API server evaluates.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema
from pydantic.alias_generators import to_camel

DURATION = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"
QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]+))?$"

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


class Model(BaseModel):
    """Base of all models: camelCase on the wire, snake_case in Python; unknown fields are refused."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        frozen=True,
        strict=True,
    )


def cel(rule: str, message: str, **more: str) -> dict[str, Any]:
    """Return one ``x-kubernetes-validations`` entry."""
    return {"rule": rule, "message": message, **more}


def rules(*entries: dict[str, Any]) -> dict[str, Any]:
    """Return the ``json_schema_extra`` of a model or a field with these rules."""
    return {"x-kubernetes-validations": list(entries)}


def list_map(*keys: str) -> dict[str, Any]:
    """Return the ``json_schema_extra`` of a list whose entries are identified by ``keys``: duplicates are refused."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


ATOMIC: dict[str, Any] = {"x-kubernetes-list-type": "atomic"}

PluginName = Annotated[str, StringConstraints(min_length=1, max_length=128)]
ObjectName = Annotated[str, StringConstraints(min_length=1, max_length=253)]
LabelKey = Annotated[str, StringConstraints(min_length=1, max_length=317)]
LabelValue = Annotated[str, StringConstraints(max_length=63)]
GoDuration = Annotated[
    str, StringConstraints(max_length=32, pattern=DURATION), Field(json_schema_extra={"format": "duration"})
]
Quantity = Annotated[
    int | str,
    WithJsonSchema(
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": QUANTITY}
    ),
]
Int32 = Annotated[int, Field(json_schema_extra={"format": "int32"})]
Int64 = Annotated[int, Field(json_schema_extra={"format": "int64"})]
AnyObject = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})]
"""An object whose fields somebody else defines and checks: a plugin, or the API server."""
