"""CustomResourceDefinitions generated from the pydantic models: ``python -m scheduler_operator.generate.crds``.

pydantic speaks JSON Schema, a CRD another kind of it: see ``scheduler_runtime.catalog.openapi_schema``.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from scheduler_operator.models import (
    GROUP,
    VERSION,
    PluginConfigSpec,
    PluginConfigStatus,
    ProfileSpec,
    ProfileStatus,
    schema_revision,
)
from scheduler_operator.models.fields import DNS_LABEL, cel
from scheduler_operator.resources.names import (
    DEFAULT_SCHEDULER_MESSAGE,
    NAME_LENGTH,
    RESERVED,
    RESERVED_NAME_MESSAGE,
    SCHEMA_ANNOTATION,
)
from scheduler_runtime.catalog.openapi_schema import Schema, structural_schema


def _column(name: str, path: str, **more: Any) -> Schema:
    return {"name": name, "type": "string", "jsonPath": path, **more}


def _ready(name: str, field: str, **more: Any) -> Schema:
    return _column(name, f".status.conditions[?(@.type=='Ready')].{field}", **more)


AGE = _column("Age", ".metadata.creationTimestamp", type="date")

PROFILE_COLUMNS = [
    _column("Engine", ".spec.engine"),
    _ready("Ready", "status"),
    _ready("Reason", "reason"),
    _column(
        "Warnings",
        ".status.warningCount",
        type="integer",
        description="Number of findings that are not allowed, without notes",
    ),
    _column("Leader", ".status.leader", description="The pod of the process that schedules"),
    AGE,
    _column("Plugins", ".status.plugins", priority=1, description="Differences of the plugins from the defaults"),
    _ready("Message", "message", priority=1),
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
        DEFAULT_SCHEDULER_MESSAGE,
        fieldPath=".spec.replacesDefaultScheduler",
    ),
    cel(f"!(self.metadata.name in {list(RESERVED)})", RESERVED_NAME_MESSAGE),
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
            "spec": structural_schema(spec),
            "status": structural_schema(status),
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


def texts(revision: int = schema_revision.REVISION) -> dict[str, str]:
    """The files of ``crds/``: name and content."""
    annotations = {"annotations": {SCHEMA_ANNOTATION: str(revision)}}
    return {
        f"{crd['metadata']['name']}.yaml": text({**crd, "metadata": crd["metadata"] | annotations})
        for crd in (profile_crd(), plugin_config_crd())
    }


def text(crd: Schema) -> str:
    """A definition as YAML."""
    return yaml.safe_dump(crd, sort_keys=False, allow_unicode=True, width=120)


def digest() -> str:
    """Return a digest of all that the two CRDs admit and store: of everything but descriptions."""

    def undescribed(value: Any) -> Any:
        if isinstance(value, list):
            return [undescribed(item) for item in value]
        if not isinstance(value, dict):
            return value
        # A property may be called description; its value is a schema then.
        return {
            key: undescribed(below)
            for key, below in value.items()
            if not (key == "description" and isinstance(below, str))
        }

    content = json.dumps([undescribed(profile_crd()), undescribed(plugin_config_crd())], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def main(directory: str = "crds") -> None:
    """Write the definitions into ``directory``; raise their revision if they have changed."""
    revision = schema_revision.REVISION
    if digest() != schema_revision.DIGEST:
        revision += 1
        file = Path(schema_revision.__file__)
        docstring = file.read_text(encoding="utf-8").partition("\n\n")[0]
        file.write_text(f'{docstring}\n\nREVISION = {revision}\nDIGEST = "{digest()}"\n', encoding="utf-8")
    for name, content in texts(revision).items():
        Path(directory, name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
