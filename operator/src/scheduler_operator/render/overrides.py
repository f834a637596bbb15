"""JSON Patch overrides (``spec.overrides``), applied to the rendered document and its origins together."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import jsonpatch
from jsonpointer import JsonPointerException

from scheduler_operator.models.override import Override
from scheduler_operator.render.origins import Fields, Origin, Origins, pointer_steps, with_origins
from scheduler_runtime.catalog.bounds import cut, describe_value, excess
from scheduler_runtime.config import Problem
from scheduler_runtime.config.problems import Step

_FINDS_IT = "by which berth finds the scheduler again; leave it as it is"
_PROTECTED_FIELDS = {
    ("apiVersion",): _FINDS_IT,
    ("kind",): _FINDS_IT,
    ("leaderElection", "leaderElect"): _FINDS_IT,
    ("leaderElection", "resourceLock"): _FINDS_IT,
    ("leaderElection", "resourceName"): _FINDS_IT,
    ("leaderElection", "resourceNamespace"): _FINDS_IT,
    # By an exec section the file would be a program that runs with the scheduler's permissions.
    ("clientConnection", "kubeconfig"): "but a scheduler has the credentials of its pod; leave it out",
}
"""Fields of the document that overrides may not change, and the end of the sentence about one that does."""
_MISSING = object()
MAX_REASON = 200
"""Characters of the library's reason, which may repeat a value."""
AnyDict = TypeVar("AnyDict", bound=dict[str, Any])
"""The document, or the origins of its values."""


@dataclass(frozen=True, slots=True)
class PatchedDocument:
    """A document with its overrides, its origins, and the problems of overrides that could not be applied."""

    document: dict[str, Any]
    origins: Origins
    problems: tuple[Problem, ...] = ()


def apply_overrides(
    document: dict[str, Any], tree: Fields, overrides: Sequence[Override], profile: str
) -> PatchedDocument:
    """Apply the ``overrides`` of ``profile`` one after the other, without changing the arguments."""
    if not overrides:
        return PatchedDocument(document, Origins(tree))
    problems: list[Problem] = []
    removed: list[tuple[tuple[Step, ...], Origin]] = []
    for index, override in enumerate(overrides):
        path = f"spec.overrides[{index}]"
        patched = _apply_one(document, override)
        if isinstance(patched, str):
            problems.append(Problem(path, patched))
            continue
        forbidden = [
            f"changes {'.'.join(steps)}, {why}"
            for steps, why in _PROTECTED_FIELDS.items()
            if _at(document, steps) != _at(patched, steps)
        ]
        if _names(document) != _names(patched):
            forbidden.append(
                "changes which profiles there are or what they are called: that is what SchedulerProfiles say"
            )
        if too_much := excess(patched):
            problems.append(Problem(path, f"makes a document that {too_much}; a document has no more"))
            break  # the next ones would only be tried in vain, and each try costs as much
        if forbidden:
            problems.extend(Problem(path, message) for message in forbidden)
            continue
        origin = Origin(path, path, profile)
        # A problem at a place that an override removed is the override's: nothing else explains the missing value.
        if override.op == "remove":
            removed.append((pointer_steps(override.path, document), origin))
        elif override.op == "move" and override.source:
            removed.append((pointer_steps(override.source, document), origin))
        if override.op != "test":  # the origins have the shape of the document, so they change in the same way
            tree = _patched(tree, override, with_origins(override.value, origin.below(["value"])))
        document = patched
    return PatchedDocument(document, Origins(tree, tuple(removed)), tuple(problems))


def _apply_one(document: AnyDict, override: Override) -> AnyDict | str:
    """Return the document after one operation, or the reason why that is impossible."""
    if override.lacks_value:
        return f"{override.op} needs a value"
    what = f"{override.source} to {override.path}" if override.source else override.path
    # The source has to exist, and the parent of the target. Looked up here: the library's error has the whole document.
    source = override.source if override.op in ("move", "copy") else override.path
    needed = [] if override.op == "add" else [source or ""]
    if override.op in ("add", "move", "copy"):
        needed.append(override.path.rpartition("/")[0])
    for pointer in needed:
        if _resolve(document, pointer) is _MISSING:
            return f"cannot {override.op} {what}: there is no {pointer} in the rendered document"
    try:
        return _patched(document, override, override.value)
    except jsonpatch.JsonPatchTestFailed:
        return f"the document has not {describe_value(override.value)} at {override.path}: nothing was rendered"
    except (jsonpatch.JsonPatchException, JsonPointerException, LookupError, TypeError) as error:
        return f"cannot {override.op} {what} in the rendered document: {cut(str(error), MAX_REASON)}"


def _patched(whole: AnyDict, override: Override, value: Any) -> AnyDict:
    """Return ``whole`` after the operation, with ``value`` for that of the override.

    Only what lies on the way to a change is copied; the library then works in place. All else is shared with the whole
    before, and so is what a copy operation puts into a second place: nothing changes it later. So the cost is that of
    the way, not of the whole. Raises JsonPatchException, JsonPointerException, LookupError or TypeError.
    """
    changed = copy(whole)
    for pointer in filter(None, (override.source, override.path)):
        holder: Any = changed
        for step in pointer_steps(pointer, whole)[:-1]:
            holder[step] = copy(holder[step])
            holder = holder[step]
    operation: dict[str, Any] = {"op": override.op, "path": override.path, "from": override.source, "value": value}
    if override.op == "copy":  # as an addition: the library's own copy is a deep one
        operation |= {"op": "add", "value": _resolve(whole, override.source or "")}
    jsonpatch.JsonPatch([operation]).apply(changed, in_place=True)
    return changed


def _resolve(whole: AnyDict, pointer: str) -> Any:
    """Return the value at a pointer, or ``_MISSING``."""
    value: Any = whole
    for step in pointer_steps(pointer, whole):
        try:
            value = value[step]
        except (LookupError, TypeError):
            return _MISSING
    return value


def _at(document: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        document = document.get(step) if isinstance(document, Mapping) else None
    return document


def _names(document: Mapping[str, Any]) -> Any:
    profiles = document.get("profiles")
    if not isinstance(profiles, list):
        return profiles
    return [profile.get("schedulerName") if isinstance(profile, Mapping) else profile for profile in profiles]
