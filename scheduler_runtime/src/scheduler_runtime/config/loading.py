"""Text to document and back."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml
from pydantic import ValidationError

from .document import DEFAULT_SCHEDULER_NAME, Document
from .problems import Problem, Problems, explain

_SCALARS = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (
        r"y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
        list("yYnNtTfFoO"),
    ),
    "int": (r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)", list("-+0123456789")),
    "float": (r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
}
"""The plain words that are not text to Kubernetes' YAML: no timestamps and no sixties, but y and n."""


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it, without duplicate keys."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - filled below, as PyYAML wants it


class _Dumper(yaml.SafeDumper):
    """YAML that Kubernetes reads as it was meant: text that looks like something else is quoted."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - filled below, as PyYAML wants it


for _name, (_pattern, _first) in _SCALARS.items():
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), _first)


def _bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    return str(loader.construct_scalar(node)).lower() in ("y", "yes", "true", "on")


_Loader.add_constructor("tag:yaml.org,2002:bool", _bool)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(problem=f"line {line}: the key {key!r} is not text")
        if key in found:
            raise yaml.constructor.ConstructorError(problem=f"line {line}: the key {key} is there already")
        found[key] = loader.construct_object(value_node, deep=True)
    return found


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def load(text: str) -> Document | Problems:
    """Read a KubeSchedulerConfiguration from YAML or JSON. Its plugins are looked at by :func:`effective` only."""
    try:
        raw = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader underneath
    except yaml.YAMLError as error:
        return Problems((Problem("", f"is not YAML: {_one_line(error)}"),))
    if not isinstance(raw, dict):
        return Problems((Problem("", "is not a KubeSchedulerConfiguration but " + type(raw).__name__),))
    try:
        return Document.model_validate_json(json.dumps(_with_a_profile(without_nulls(raw))))
    except ValidationError as error:
        return Problems(tuple(explain(error, Document)))


def dump(document: Document) -> str:
    """Write what the document says, leaving out what it leaves out. Equal documents give equal bytes."""
    raw = document.model_dump(by_alias=True, exclude_unset=True, mode="json")
    return yaml.dump(raw, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31)


def without_nulls(value: Any) -> Any:
    """``value`` without the fields that are null: Kubernetes reads those as left out."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value


def _with_a_profile(raw: dict[str, Any]) -> dict[str, Any]:
    """A document without profiles has the default one; a profile that is alone may go without a name."""
    profiles = raw.get("profiles") or [{}]
    if isinstance(profiles, list) and len(profiles) == 1 and isinstance(profiles[0], dict):
        profiles = [{"schedulerName": DEFAULT_SCHEDULER_NAME, **profiles[0]}]
    return {**raw, "profiles": profiles}


def _one_line(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        return f"{where}{error.problem or error.context or 'unreadable'}"
    return str(error).splitlines()[0]
