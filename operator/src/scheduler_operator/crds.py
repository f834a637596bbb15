"""CustomResourceDefinitions from the pydantic models: ``python -m scheduler_operator.crds`` writes ``crds/``.

pydantic speaks JSON Schema. A CRD wants a *structural* OpenAPI v3 schema, which knows no references, no null
type, no numeric exclusive bounds and no closed objects (unknown fields are refused or dropped by the API server
itself). :func:`structural` turns the one into the other. What JSON Schema cannot say at all, list types and CEL
rules, stands in the models as extra keywords and passes through.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from scheduler_operator.models import GROUP, VERSION, PluginConfigSpec, PluginConfigStatus, ProfileSpec, ProfileStatus
from scheduler_operator.models.fields import DNS_LABEL, NAME_LENGTH, cel
from scheduler_operator.names import OWN_NAME, RESERVED, TAKES_THE_PLACE

Schema = dict[str, Any]


def structural(model: type[BaseModel]) -> Schema:
    """The structural schema of ``model``; raises TypeError for what such a schema cannot say."""
    schema = model.model_json_schema(by_alias=True)
    return _structural(schema, schema.get("$defs", {}))


def _structural(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    node = _resolved(schema, definitions)
    if node.get("x-kubernetes-int-or-string") or _is_of_any_type(node):
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


def _is_of_any_type(node: Mapping[str, Any]) -> bool:
    return bool(node.get("x-kubernetes-preserve-unknown-fields")) and "type" not in node


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """The schema with what it refers to in its place, and ``X | None`` as plain X: absent is how null is written.

    Keywords beside the reference win, so that a field's description stands above that of its model.
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


def _column(name: str, path: str, **more: Any) -> Schema:
    return {"name": name, "type": "string", "jsonPath": path, **more}


def _ready(name: str, field: str, **more: Any) -> Schema:
    return _column(name, f".status.conditions[?(@.type=='Ready')].{field}", **more)


AGE = _column("Age", ".metadata.creationTimestamp", type="date")

PROFILE_COLUMNS = [
    _column("Engine", ".spec.engine"),
    _ready("Ready", "status"),
    _ready("Reason", "reason"),
    _column("Warnings", ".status.warningCount", type="integer", description="How many findings nobody has allowed"),
    _column("Leader", ".status.leader", description="The pod of the process that schedules"),
    AGE,
    _column("Plugins", ".status.plugins", priority=1, description="How the plugins differ from the default ones"),
    _ready("Message", "message", priority=1),
    _column("Hash", ".status.configHash", priority=1),
]
PLUGIN_CONFIG_COLUMNS = [
    _column("Plugin", ".spec.plugin"),
    _ready("Ready", "status"),
    _ready("Reason", "reason"),
    AGE,
    _column("Used by", ".status.usedBy", priority=1),
]
SCALE = {
    "specReplicasPath": ".spec.scheduler.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
PROFILE_RULES = [
    cel(
        "self.metadata.name != 'default-scheduler' || self.spec.?replacesDefaultScheduler.orValue(false)",
        TAKES_THE_PLACE,
        fieldPath=".spec.replacesDefaultScheduler",
    ),
    cel(f"!(self.metadata.name in {list(RESERVED)})", OWN_NAME),
    cel(
        "!has(self.spec.joins) || self.spec.joins != self.metadata.name",
        "a profile cannot join itself: leave out joins for a process of its own",
        fieldPath=".spec.joins",
    ),
]


def profile_crd() -> Schema:
    """The CustomResourceDefinition of SchedulerProfile."""
    description = "A scheduler: pods choose it by spec.schedulerName, which is the name of this object."
    schema = _object_schema("SchedulerProfile", description, ProfileSpec, ProfileStatus)
    name = {"type": "string", "maxLength": NAME_LENGTH, "pattern": DNS_LABEL}
    schema["properties"]["metadata"] = {"type": "object", "properties": {"name": name}}
    schema["x-kubernetes-validations"] = PROFILE_RULES
    return _definition(
        "SchedulerProfile", ["sp"], schema, PROFILE_COLUMNS, {"status": {}, "scale": SCALE}, [".spec.joins"]
    )


def plugin_config_crd() -> Schema:
    """The CustomResourceDefinition of PluginConfig."""
    description = "Arguments of a plugin, for several profiles to share."
    schema = _object_schema("PluginConfig", description, PluginConfigSpec, PluginConfigStatus)
    return _definition("PluginConfig", ["plc"], schema, PLUGIN_CONFIG_COLUMNS, {"status": {}})


def _object_schema(kind: str, description: str, spec: type[BaseModel], status: type[BaseModel]) -> Schema:
    return {
        "type": "object",
        "description": description,
        "required": ["spec"],  # without it a rule on self.spec has no spec
        "properties": {
            "apiVersion": {"type": "string", "description": f"{GROUP}/{VERSION}"},
            "kind": {"type": "string", "description": kind},
            "spec": structural(spec),
            "status": structural(status),
        },
    }


def _definition(
    kind: str,
    short_names: list[str],
    schema: Schema,
    columns: list[Schema],
    subresources: Schema,
    selectable: Sequence[str] = (),
) -> Schema:
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": short_names,
                "categories": ["berth"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": subresources,
                    "additionalPrinterColumns": columns,
                    **({"selectableFields": [{"jsonPath": path} for path in selectable]} if selectable else {}),
                }
            ],
        },
    }


def texts() -> dict[str, str]:
    """The files of ``crds/``: name and content."""
    return {f"{crd['metadata']['name']}.yaml": text(crd) for crd in (profile_crd(), plugin_config_crd())}


def text(crd: Schema) -> str:
    """A definition as YAML."""
    return yaml.safe_dump(crd, sort_keys=False, allow_unicode=True, width=120)


def main(directory: str = "crds") -> None:
    """Write the definitions into ``directory``."""
    for name, content in texts().items():
        Path(directory, name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
