"""JSON Patch overrides (``spec.overrides``), applied to the rendered document and its origins together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonpatch
from jsonpointer import JsonPointer, JsonPointerException

from scheduler_operator.models.override import Override
from scheduler_operator.render.origins import Fields, Items, Origin, Origins, Tree, pointer_steps, with_origins
from scheduler_runtime.config import Problem
from scheduler_runtime.config.problems import Step

_PROTECTED_FIELDS = (
    ("apiVersion",),
    ("kind",),
    ("leaderElection", "leaderElect"),
    ("leaderElection", "resourceLock"),
    ("leaderElection", "resourceName"),
    ("leaderElection", "resourceNamespace"),
)
"""Fields of the document that other generated objects rely on."""
_MISSING = object()


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
            f"changes {'.'.join(steps)}, by which berth finds the scheduler again; leave it as it is"
            for steps in _PROTECTED_FIELDS
            if _at(document, steps) != _at(patched, steps)
        ]
        if _names(document) != _names(patched):
            forbidden.append(
                "changes which profiles there are or what they are called: that is what SchedulerProfiles say"
            )
        if forbidden:
            problems.extend(Problem(path, message) for message in forbidden)
            continue
        origin = Origin(path, path, profile)
        # A problem at a place that an override removed is the override's: nothing else explains the missing value.
        if override.op == "remove":
            removed.append((pointer_steps(override.path, document), origin))
        elif override.op == "move" and override.source:
            removed.append((pointer_steps(override.source, document), origin))
        tree, document = _patch_origins(tree, override, origin), patched
    return PatchedDocument(document, Origins(tree, tuple(removed)), tuple(problems))


def _apply_one(document: dict[str, Any], override: Override) -> dict[str, Any] | str:
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
        if JsonPointer(pointer).resolve(document, _MISSING) is _MISSING:
            return f"cannot {override.op} {what}: there is no {pointer} in the rendered document"
    try:
        return dict(jsonpatch.JsonPatch([override.operation()]).apply(document))
    except jsonpatch.JsonPatchTestFailed:
        return f"the document has not {override.value!r} at {override.path}: nothing was rendered"
    except (jsonpatch.JsonPatchException, JsonPointerException) as error:
        return f"cannot {override.op} {what} in the rendered document: {error}"


def _patch_origins(tree: Fields, override: Override, origin: Origin) -> Fields:
    """Return the origins after the same operation: they have the document's shape."""
    operation = override.operation()
    if override.op == "test":
        return tree
    if override.op in ("add", "replace"):
        operation["value"] = with_origins(override.value, Origin(origin.label, f"{origin.path}.value", origin.profile))
    # In place and on a copy of ours: a deep copy by jsonpatch would make plain dicts and lists of the tree.
    patched: Fields = jsonpatch.JsonPatch([operation]).apply(_copy(tree), in_place=True)
    return patched


def _copy(tree: Tree) -> Tree:
    match tree:
        case Fields():
            return Fields(tree.origin, {key: _copy(inner) for key, inner in tree.items()})
        case Items():
            return Items(tree.origin, [_copy(inner) for inner in tree])
    return tree


def _at(document: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        document = document.get(step) if isinstance(document, Mapping) else None
    return document


def _names(document: Mapping[str, Any]) -> Any:
    profiles = document.get("profiles")
    if not isinstance(profiles, list):
        return profiles
    return [profile.get("schedulerName") if isinstance(profile, Mapping) else profile for profile in profiles]
