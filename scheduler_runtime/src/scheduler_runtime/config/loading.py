"""Text to document and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import ValidationError

from scheduler_runtime.config.models import API_VERSION, DEFAULT_SCHEDULER_NAME, Document
from scheduler_runtime.config.problems import Problem, Problems, explain
from scheduler_runtime.config.yaml import read_yaml
from scheduler_runtime.config.yaml.nulls import drop_nulls
from scheduler_runtime.config.yaml.scalars import is_plain

_GROUP, _, _VERSION = API_VERSION.partition("/")


def dumper(base: Any) -> Any:
    """YAML that Kubernetes reads as it was meant, on PyYAML's ``base``: what looks like something else is quoted."""

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_representer(str, _text)
    return Dumper


def _text(representing: Any, text: str) -> Any:
    plain = text != "" and is_plain(text)
    return representing.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else "'")


_Dumper = dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper))


def load(text: str | bytes) -> Document | Problems:
    """Read a KubeSchedulerConfiguration from YAML or JSON. Its plugins are looked at by :func:`effective` only."""
    found = read_yaml(text)
    if isinstance(found, Problems):
        return found
    if len(found) > 1:
        lines = " and ".join(str(source.start_line) for source in found)
        message = f"holds {len(found)} documents, at the lines {lines}; kube-scheduler would read the first one only"
        return Problems((Problem("", message),))
    return parse_document(found[0].value)


def parse_document(value: Any) -> Document | Problems:
    """The document that an already parsed ``value`` is."""
    if not isinstance(value, Mapping):
        return Problems((Problem("", f"is not a KubeSchedulerConfiguration but {_called(value)}"),))
    misread = _other_kind(value)
    if misread is not None:
        return Problems((misread,))
    try:
        return Document.model_validate_json(json.dumps(_with_a_profile(drop_nulls(dict(value), Document))))
    except ValidationError as error:
        return Problems(tuple(explain(error, Document)))


def dump(document: Document) -> str:
    """Write what the document says, leaving out what it leaves out. Equal documents give equal bytes."""
    raw = document.model_dump(by_alias=True, exclude_unset=True, mode="json")
    return to_yaml(raw)


def to_yaml(raw: Any) -> str:
    """``raw`` as YAML that Kubernetes reads as it was meant."""
    text: str = yaml.dump(raw, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1)
    return text


def _other_kind(value: Mapping[str, Any]) -> Problem | None:
    """Why ``value`` is not even meant to be a document that can be read."""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not api_version or not kind:
        missing = "apiVersion" if not api_version else "kind"
        wanted = API_VERSION if not api_version else "KubeSchedulerConfiguration"
        return Problem(missing, f"is required; it should be {wanted}")
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


def _called(value: Any) -> str:
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, list) else f"{json.dumps(value)[:40]}"


def _with_a_profile(raw: dict[str, Any]) -> dict[str, Any]:
    """A document without profiles has the default one; a profile that is alone may go without a name."""
    profiles = raw.get("profiles", [])
    if profiles == []:
        profiles = [{}]
    if isinstance(profiles, list) and len(profiles) == 1 and isinstance(profiles[0], dict):
        profiles = [{"schedulerName": DEFAULT_SCHEDULER_NAME, **profiles[0]}]
    return {**raw, "profiles": profiles}
