"""Where things stand in a document, so that findings can be told in its order."""

from __future__ import annotations

from typing import Any

from scheduler_runtime.config.findings import Finding
from scheduler_runtime.config.models import Document
from scheduler_runtime.config.problems import steps_of

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
    for step in steps_of(path):
        if isinstance(step, int):
            place.append(step)
            value = value[step] if isinstance(value, list | tuple) and step < len(value) else None
        else:
            names = list(value) if isinstance(value, dict) else []
            place.append(names.index(step) if step in names else len(names))
            value = value.get(step) if isinstance(value, dict) else None
    return tuple(place)
