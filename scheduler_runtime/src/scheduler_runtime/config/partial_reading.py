"""What of a document can still be looked at although parts of it are wrong.

A mistake in one place must not hide those in another, and must not make up new ones: left out is only what changes
nothing about the rest.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from scheduler_runtime.config.loading import parse_document
from scheduler_runtime.config.models import Document, Profile
from scheduler_runtime.config.problems import Problem, Problems
from scheduler_runtime.config.yaml.nulls import drop_nulls

_KEPT = frozenset({"apiVersion", "kind", "profiles"})
_MEANT = frozenset({"plugins", "pluginConfig"})


def read_remaining(value: Any) -> tuple[tuple[Problem, ...], Mapping[str, Any], Document | None]:
    """What is wrong with the fields of ``value``, the rest of it, and the document that this is if it can be read."""
    said: dict[Problem, None] = {}
    rest = value if isinstance(value, Mapping) else {}
    while isinstance(found := parse_document(rest if said else value), Problems):
        said.update(dict.fromkeys(found))
        wrong = {problem.path.partition(".")[0].partition("[")[0] for problem in found} - _KEPT
        if not wrong & rest.keys():
            if rest.get("profiles"):
                said.update(
                    dict.fromkeys(read_remaining({**rest, "profiles": []})[0])
                )  # what a profile kept from being seen
            return tuple(said), rest, None
        rest = {key: inner for key, inner in rest.items() if key not in wrong}
    return tuple(said), rest, found


def readable_profiles(value: Mapping[str, Any]) -> Iterator[tuple[int, Profile]]:
    """The profiles of ``value`` whose plugins are understood, with their indices."""
    profiles = value.get("profiles")
    for index, written in enumerate(profiles if isinstance(profiles, list) else ()):
        profile = _profile({} if written is None else written)
        if profile is not None:
            yield index, profile


def _profile(written: Any) -> Profile | None:
    rest = copy.deepcopy(drop_nulls(written, Profile))
    for _ in range(2 if isinstance(rest, dict) else 0):
        try:
            return Profile.model_validate_json(json.dumps(rest))
        except ValidationError as error:
            for details in error.errors(include_url=False):
                _leave_out(rest, details)
    return None


def _leave_out(rest: Any, details: ErrorDetails) -> None:
    """Take away what is wrong, where that says nothing of the plugins: an unknown field, or one beside them."""
    *above, name = details["loc"] or ("",)
    if details["type"] != "extra_forbidden" and (above or name in _MEANT):
        return
    for part in above:
        rest = rest[part]
    rest.pop(name, None)
