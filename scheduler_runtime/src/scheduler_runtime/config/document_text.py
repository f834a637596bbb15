"""Text to document and back: read, check the fields, write.

What null means to Go is decided here too: nothing was written, except in a list, where null is an empty entry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from scheduler_runtime.config.models import API_VERSION, DEFAULT_SCHEDULER_NAME, Document, PluginSet
from scheduler_runtime.config.problems import Problem, Problems, explain
from scheduler_runtime.config.yaml import read_yaml
from scheduler_runtime.config.yaml.scalars import is_plain

_GROUP, _, _VERSION = API_VERSION.partition("/")
_REFUSES_NULL = frozenset({"leaseDuration", "renewDeadline", "retryPeriod", "httpTimeout"})
"""Upstream reads null here as the duration '', which it refuses."""


def load(text: str | bytes) -> Document | Problems:
    """Read a KubeSchedulerConfiguration from YAML or JSON.

    Its fields are checked here; its plugins and their arguments by
    :func:`~scheduler_runtime.config.expansion.expand_profile`, because these depend on the version.
    """
    sources = read_yaml(text)
    if isinstance(sources, Problems):
        return sources
    if len(sources) > 1:
        lines = " and ".join(str(source.start_line) for source in sources)
        message = f"holds {len(sources)} documents, at the lines {lines}; kube-scheduler would read the first one only"
        return Problems((Problem("", message),))
    return parse_document(sources[0].value)


def parse_document(value: Any) -> Document | Problems:
    """Return the document that an already parsed ``value`` is, or everything that is wrong with its fields."""
    if not isinstance(value, Mapping):
        kind = "nothing" if value is None else "a list" if isinstance(value, list) else json.dumps(value)[:40]
        return Problems((Problem("", f"is not a KubeSchedulerConfiguration but {kind}"),))
    problem = _problem_with_header(value)
    if problem is not None:
        return Problems((problem,))
    raw = drop_nulls(dict(value), Document)
    profiles = raw.get("profiles", [])
    # As upstream's defaults: a document without profiles has one, and a profile that is alone may go without a name.
    if profiles == []:
        profiles = [{}]
    if isinstance(profiles, list) and len(profiles) == 1 and isinstance(profiles[0], dict):
        profiles = [{"schedulerName": DEFAULT_SCHEDULER_NAME, **profiles[0]}]
    try:
        return Document.model_validate_json(json.dumps({**raw, "profiles": profiles}))
    except ValidationError as error:
        return Problems(tuple(explain(error, Document)))


def _problem_with_header(value: Mapping[str, Any]) -> Problem | None:
    """Return why apiVersion and kind of ``value`` are not those of a document that can be read."""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not api_version or not kind:
        missing = "apiVersion" if not api_version else "kind"
        expected = API_VERSION if not api_version else "KubeSchedulerConfiguration"
        return Problem(missing, f"is required; it should be {expected}")
    group, _, version = str(api_version).partition("/")
    if group == _GROUP and version != _VERSION:
        way = "berth import makes a SchedulerProfile of it, and berth render a document of that"
        return Problem("apiVersion", f"{api_version} is not read any more; write {API_VERSION}: {way}")
    if api_version != API_VERSION:
        way = "; berth render makes a document of a SchedulerProfile" if kind == "SchedulerProfile" else ""
        return Problem("apiVersion", f"{api_version!r} is not {API_VERSION}{way}")
    if kind != "KubeSchedulerConfiguration":
        return Problem("kind", f"{kind!r} is not KubeSchedulerConfiguration")
    return None


def dumper(base: Any) -> Any:
    """Return a subclass of PyYAML's dumper ``base`` whose output Kubernetes reads back unchanged.

    Text that Kubernetes would take for something else, such as ``on`` or ``1e3``, is quoted.
    """

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def represent_text(dumper: Any, text: str) -> Any:
        plain = text != "" and is_plain(text)
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else "'")

    Dumper.add_representer(str, represent_text)
    return Dumper


_Dumper = dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper))


def dump(document: Document) -> str:
    """Write the fields that ``document`` was given, and leave out its defaults. Equal documents give equal bytes."""
    return to_yaml(document.model_dump(by_alias=True, exclude_unset=True, mode="json"))


def to_yaml(raw: Any) -> str:
    """Return ``raw`` as YAML that Kubernetes reads back unchanged."""
    text: str = yaml.dump(raw, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1)
    return text


def drop_nulls(value: Any, model: type[BaseModel]) -> Any:
    """Return ``value``, which is to become a ``model``, as Go would fill it.

    Nulls are left out; in a list they are empty entries. A field that does not exist keeps its null, so that the field
    is refused.
    """
    if not isinstance(value, dict):
        return value
    types, fields = _types_of_fields(model), {}
    for key, inner in value.items():
        if key not in types:
            fields[key] = inner
        elif inner is not None:
            fields[key] = _drop_nulls_in(inner, types[key])
        elif key in _REFUSES_NULL:
            fields[key] = None
        elif types[key] is PluginSet:
            fields[key] = {}  # so that a version without this point can still refuse the point by name
    return fields


def _drop_nulls_in(value: Any, annotation: Any) -> Any:
    model = _model_in(annotation)
    if isinstance(value, list) and (element := _type_of_elements(annotation)) is not None:
        empty: Any = {} if model else "" if element is str else None
        return [empty if inner is None else _drop_nulls_in(inner, element) for inner in value]
    return drop_nulls(value, model) if model else value


# Cached, because every field of every document would walk through the same annotations again.
@cache
def _types_of_fields(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


@cache
def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model in a field's type, also where that is a list or may be left out."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for inner in get_args(annotation) if (model := _model_in(inner)) is not None), None)


def _type_of_elements(annotation: Any) -> Any:
    """Return the type of a list's elements; None for a type that is no list."""
    if get_origin(annotation) is tuple:
        inner = get_args(annotation)[0]
        return get_args(inner)[0] if hasattr(inner, "__metadata__") else inner
    elements = (_type_of_elements(inner) for inner in get_args(annotation))
    return next((element for element in elements if element is not None), None)
