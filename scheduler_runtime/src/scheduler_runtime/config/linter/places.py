"""Where things stand in a document, so that findings can be told in its order."""

from __future__ import annotations

import re
from typing import Any

from ..findings import Finding
from ..models import Document

_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
Place = tuple[int, ...]


def in_order(findings: list[Finding], document: Document) -> tuple[Finding, ...]:
    """The ``findings`` from the document's first field to its last, the worst first within a place."""
    if len(findings) < 2:
        return tuple(findings)
    raw = document.model_dump(by_alias=True, mode="python")
    return tuple(sorted(findings, key=lambda finding: (_place(finding.path, raw), finding.severity.rank, finding.code)))


def _place(path: str, value: Any) -> Place:
    """The position of each part of ``path`` among its siblings."""
    place: list[int] = []
    for index, name in _PART.findall(path):
        if index:
            place.append(int(index))
            value = value[int(index)] if isinstance(value, list | tuple) and int(index) < len(value) else None
        else:
            names = list(value) if isinstance(value, dict) else []
            place.append(names.index(name) if name in names else len(names))
            value = value.get(name) if isinstance(value, dict) else None
    return tuple(place)
