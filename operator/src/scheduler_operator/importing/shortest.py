"""The shortest profile that means the same: what repeats the defaults is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from scheduler_operator.importing.draft import PluginChanges, ProfileDraft
from scheduler_operator.importing.known_plugins import TARGETS
from scheduler_operator.importing.outcome import Notes
from scheduler_runtime import config

_VERSIONS = f"Kubernetes {TARGETS[0].version.major}.{TARGETS[0].version.minor} to 1.{TARGETS[-1].version.minor}"
Meaning = tuple[Any, ...]


def shorten(draft: ProfileDraft, notes: Notes) -> None:
    """Leave out of ``draft`` each entry without which it means the same to every version that is known.

    A profile that is not understood by all of them, such as one with plugins from elsewhere, stays as it is.
    """
    meaning = _meaning(draft)
    if meaning is None:
        return
    _leave_out(_entries(draft), draft, meaning, draft.below("plugins"), notes)
    _leave_out(_arguments(draft), draft, meaning, draft.below("pluginConfig"), notes)


def _leave_out(entries: Iterable[Any], draft: ProfileDraft, meaning: Meaning, path: str, notes: Notes) -> None:
    needless: dict[str, None] = {}
    for name, remove, put_back in entries:
        remove()
        if _meaning(draft) == meaning:
            needless[name] = None
        else:
            put_back()
    if needless:
        notes.remark(path, f"what repeats the defaults of {_VERSIONS} was left out: {', '.join(needless)}")


def _entries(draft: ProfileDraft) -> Iterator[Any]:
    for changes in draft.plugins.values():
        for entries in (changes.enabled, changes.disabled):
            for entry in tuple(entries):
                index = next(index for index, each in enumerate(entries) if each is entry)
                yield entry.name, lambda at=entries, index=index: at.pop(index), _insertion(entries, index)


def _insertion(entries: list[Any], index: int) -> Any:
    entry = entries[index]
    return lambda: entries.insert(index, entry)


def _arguments(draft: ProfileDraft) -> Iterator[Any]:
    order = list(draft.args)
    for name in order:
        given = draft.args[name]
        for field in tuple(given.fields):
            value = given.fields[field]
            yield (
                f"{name}.{field}",
                lambda fields=given.fields, field=field: fields.pop(field),
                lambda fields=given.fields, field=field, value=value: fields.__setitem__(field, value),
            )


def _meaning(draft: ProfileDraft) -> Meaning | None:
    """What every known version makes of it; None when one of them refuses it."""
    written = {"schedulerName": "any", "plugins": written_plugins(draft), "pluginConfig": written_args(draft)}
    try:
        profile = config.Profile.model_validate(written, strict=False)
    except ValidationError:
        return None
    found = []
    for target in TARGETS:
        effective = config.effective(profile, target)
        if isinstance(effective, config.Problems):
            return None
        found.append((dict(effective.points), dict(effective.args)))
    return tuple(found)


def written_plugins(draft: ProfileDraft) -> dict[str, Any]:
    """``plugins`` as a profile writes it."""
    return {point: found for point, changes in draft.plugins.items() if (found := _written_changes(changes))}


def _written_changes(changes: PluginChanges) -> dict[str, Any]:
    written: dict[str, Any] = {}
    if changes.disabled:
        written["disabled"] = [{"name": entry.name} for entry in changes.disabled]
    if changes.enabled:
        written["enabled"] = [
            {"name": entry.name} if entry.weight is None else {"name": entry.name, "weight": entry.weight}
            for entry in changes.enabled
        ]
    return written


def written_args(draft: ProfileDraft) -> list[dict[str, Any]]:
    """``pluginConfig`` as a profile writes it."""
    return [{"name": name, "args": given.fields} for name, given in draft.args.items() if given.fields]
