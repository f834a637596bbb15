"""The path of a place in a document, ``profiles[0].plugins.score``, and the steps that lead there."""

from __future__ import annotations

import re
from collections.abc import Iterable

Step = str | int
_STEP = re.compile(r"\[(\d+)\]|[^.\[\]]+")


def path_of(steps: Iterable[Step]) -> str:
    """The path that ``steps`` make."""
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def steps_of(path: str) -> tuple[Step, ...]:
    """The steps of a ``path``, names and indices."""
    return tuple(int(found[1]) if found[1] else found[0] for found in _STEP.finditer(path))


def joined(above: str, below: str) -> str:
    """The path of what is at ``below`` in what is at ``above``."""
    dot = "." if above and below and not below.startswith("[") else ""
    return f"{above}{dot}{below}"
