"""Documents inside documents: the text of a ConfigMap's key, or of a file that a flag names."""

from __future__ import annotations

from typing import Any

from scheduler_operator.importing.outcome import Notes
from scheduler_operator.importing.parts import Part
from scheduler_runtime import config


def read_text(text: str, path: str, notes: Notes) -> Part | None:
    """The one mapping that ``text`` holds; None, with the reason told, when it holds anything else."""
    match _parsed(text):
        case str() as trouble:
            notes.refuse(path, trouble)
            return None
        case found:
            return Part(found, notes, path)


def holds_a_document(text: str) -> bool:
    """Whether ``text`` looks like a configuration of a scheduler."""
    match _parsed(text):
        case dict() as found:
            return "kind" in found or "predicates" in found or "priorities" in found
    return False


def _parsed(text: str) -> dict[str, Any] | str:
    found = config.read(text)
    if isinstance(found, config.Problems):
        return "; ".join(str(problem) for problem in found)
    if len(found) != 1 or not isinstance(found[0].value, dict):
        return "does not hold one mapping of fields, as a configuration of a scheduler does"
    return found[0].value
