"""``spec.overrides``: the last resort, applied last. The document and its origins change together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonpatch
from jsonpointer import JsonPointer, JsonPointerException

from scheduler_operator.models.override import Override
from scheduler_operator.render.origins import Fields, Items, Origin, Origins, Tree, pointer_steps, with_origins
from scheduler_runtime.config import Problem
from scheduler_runtime.config.paths import Step

_OWN = (
    ("apiVersion",),
    ("kind",),
    ("leaderElection", "leaderElect"),
    ("leaderElection", "resourceLock"),
    ("leaderElection", "resourceName"),
    ("leaderElection", "resourceNamespace"),
)
"""Fields of the document that the rest of what berth makes relies on."""


@dataclass(frozen=True, slots=True)
class Overridden:
    """A document with its overrides, where each part came from, and the overrides that could not be applied."""

    document: dict[str, Any]
    origins: Origins
    problems: tuple[Problem, ...] = ()


def overridden(document: dict[str, Any], tree: Fields, overrides: Sequence[Override], profile: str) -> Overridden:
    """Apply the ``overrides`` of ``profile`` one after the other; the arguments stay as they are."""
    if not overrides:
        return Overridden(document, Origins(tree))
    problems: list[Problem] = []
    removed: list[tuple[tuple[Step, ...], Origin]] = []
    for index, override in enumerate(overrides):
        path = f"spec.overrides[{index}]"
        changed = _applied(document, override)
        if isinstance(changed, str):
            problems.append(Problem(path, changed))
            continue
        if trespasses := [Problem(path, message) for message in _trespasses(document, changed)]:
            problems.extend(trespasses)
            continue
        origin = Origin(path, path, profile)
        removed.extend(_taken(override, document, origin))
        tree, document = _moved_along(tree, override, origin), changed
    return Overridden(document, Origins(tree, tuple(removed)), tuple(problems))


def _applied(document: dict[str, Any], override: Override) -> dict[str, Any] | str:
    """The document after one operation, or why it cannot be done."""
    if override.lacks_value:
        return f"{override.op} needs a value"
    if (missing := _missing(document, override)) is not None:
        return f"cannot {override.op} {_what(override)}: there is no {missing} in the rendered document"
    try:
        changed = jsonpatch.JsonPatch([override.operation()]).apply(document)
    except jsonpatch.JsonPatchTestFailed:
        return f"the document has not {override.value!r} at {override.path}: nothing was rendered"
    except (jsonpatch.JsonPatchException, JsonPointerException) as error:
        return f"cannot {override.op} {_what(override)} in the rendered document: {error}"
    return dict(changed)


def _what(override: Override) -> str:
    return f"{override.source} to {override.path}" if override.source else override.path


def _missing(document: Mapping[str, Any], override: Override) -> str | None:
    """The place that has to be there and is not: what is taken, or what something is put into."""
    taken = override.source if override.op in ("move", "copy") else override.path
    needed = [] if override.op == "add" else [taken or ""]
    if override.op in ("add", "move", "copy"):
        needed.append(override.path.rpartition("/")[0])
    return next((pointer for pointer in needed if JsonPointer(pointer).resolve(document, _NOTHING) is _NOTHING), None)


_NOTHING = object()


def _taken(override: Override, document: dict[str, Any], origin: Origin) -> Iterator[tuple[tuple[Step, ...], Origin]]:
    if override.op == "remove":
        yield pointer_steps(override.path, document), origin
    if override.op == "move" and override.source:
        yield pointer_steps(override.source, document), origin


def _moved_along(tree: Fields, override: Override, origin: Origin) -> Fields:
    """The origins after the same operation: they have the document's shape."""
    operation = override.operation()
    if override.op == "test":
        return tree
    if override.op in ("add", "replace"):
        operation["value"] = with_origins(override.value, Origin(origin.label, f"{origin.path}.value", origin.profile))
    changed: Fields = jsonpatch.JsonPatch([operation]).apply(_copied(tree), in_place=True)
    return changed


def _copied(tree: Tree) -> Tree:
    match tree:
        case Fields():
            return Fields(tree.origin, {key: _copied(inner) for key, inner in tree.items()})
        case Items():
            return Items(tree.origin, [_copied(inner) for inner in tree])
    return tree


def _trespasses(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """What an operation changed that is not the profile's to change."""
    for steps in _OWN:
        if _at(before, steps) != _at(after, steps):
            yield f"changes {'.'.join(steps)}, by which berth finds the scheduler again; leave it as it is"
    if _names(before) != _names(after):
        yield "changes which profiles there are or what they are called: that is what SchedulerProfiles say"


def _at(document: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        document = document.get(step) if isinstance(document, Mapping) else None
    return document


def _names(document: Mapping[str, Any]) -> Any:
    profiles = document.get("profiles")
    if not isinstance(profiles, list):
        return profiles
    return [each.get("schedulerName") if isinstance(each, Mapping) else each for each in profiles]
