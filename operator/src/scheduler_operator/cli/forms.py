"""Answers for programs: YAML and JSON."""

import json
from collections.abc import Iterable
from typing import Any

import yaml


def document(value: Any, form: str) -> str:
    """``value`` as one document of YAML or JSON."""
    if form == "json":
        return json.dumps(plain(value), indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(plain(value), sort_keys=False, allow_unicode=True, width=2**31)


def documents(values: Iterable[Any], form: str) -> str:
    """Each of ``values`` as a document of its own, one after the other."""
    between = "" if form == "json" else "---\n"
    return between.join(document(value, form) for value in values)


def plain(value: Any) -> Any:
    """``value`` with whole numbers written as such: 50 and not 50.0, as Kubernetes writes them."""
    match value:
        case dict():
            return {key: plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case float() if value.is_integer():
            return int(value)
    return value


def inline(value: Any) -> str:
    """``value`` on one line, as YAML has it."""
    return (
        yaml.safe_dump(value, default_flow_style=True, width=2**31, sort_keys=False)
        .removesuffix("\n")
        .removesuffix("\n...")
    )
