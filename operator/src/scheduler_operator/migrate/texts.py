"""Documents inside documents: the text of a ConfigMap's key, or of a file that a flag names."""

from __future__ import annotations

from collections.abc import Collection

from scheduler_operator.migrate.outcome import Notes
from scheduler_operator.migrate.parts import Part
from scheduler_runtime import config


def read_text(text: str, path: str, notes: Notes, allowed: Collection[str] = ()) -> Part | None:
    """The one mapping that ``text`` holds; None, with the reason told, when it holds anything else.

    ``allowed`` are the codes of findings that comments around the text accept, besides those in it.
    """
    match _parsed(text):
        case str() as trouble:
            notes.refuse(path, trouble)
            return None
        case found:
            return Part(found.value, notes, path, {*allowed, *found.allowed_codes})


def holds_a_document(text: str) -> bool:
    """Whether ``text`` looks like a configuration of a scheduler."""
    match _parsed(text):
        case config.Source() as found:
            return "kind" in found.value or "predicates" in found.value or "priorities" in found.value
    return False


def _parsed(text: str) -> config.Source | str:
    """The one document of ``text``, which is a mapping, or why there is none."""
    found = config.read_yaml(text)
    if isinstance(found, config.Problems):
        return "; ".join(str(problem) for problem in found)
    if len(found) != 1 or not isinstance(found[0].value, dict):
        return "does not hold one mapping of fields, as a configuration of a scheduler does"
    return found[0]
