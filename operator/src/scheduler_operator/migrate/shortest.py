"""The shortest profile that means the same: what repeats the defaults is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pydantic import ValidationError

from scheduler_operator.migrate.draft import Args, PluginChanges, ProfileDraft
from scheduler_operator.migrate.outcome import Notes
from scheduler_operator.migrate.targets import TARGETS
from scheduler_runtime import config

Meaning = dict[str, tuple[dict[str, Any], dict[str, Any]]]
"""For each version that accepts a profile, the plugins at each point, and their arguments."""
Piece = tuple[str, Callable[[], object], Callable[[], object]]
"""What may go: its name, how it goes, and how it comes back."""


def shorten(draft: ProfileDraft, notes: Notes, *, is_alone: bool) -> None:
    """Leave out of ``draft`` each entry without which it means the same to every version that accepts it.

    A profile that none accepts, such as one with plugins from elsewhere, stays as it is. One that is not alone
    keeps its queueSort, which must be written alike in every profile of a process.
    """
    kept = None if is_alone else draft.plugins.get("queueSort")
    meaning = _meaning(draft)
    if not meaning:
        return
    if needless := _leave_out(partial(_entries, draft, kept), draft, meaning):
        names = ", ".join(dict.fromkeys(needless))
        notes.remark(draft.below("plugins"), f"{_repeating(meaning)}: {names}")
    for name, given in draft.args.items():
        if needless := _leave_out(partial(_arguments, given), draft, meaning):
            notes.remark(given.path, _needless_arguments(name, needless, meaning))


def _needless_arguments(name: str, fields: list[str], meaning: Meaning) -> str:
    if not any(name in args for _, args in meaning.values()):
        return f"left out, because {name} is off"
    return f"{_repeating(meaning)}: {', '.join(fields)}"


def _repeating(meaning: Meaning) -> str:
    return f"what repeats the defaults of Kubernetes {', '.join(meaning)} was left out"


def _leave_out(pieces: Callable[[], Iterator[Piece]], draft: ProfileDraft, meaning: Meaning) -> list[str]:
    """Leave pieces out until each that is left counts: without one, another may have become needless."""
    needless: list[str] = []
    while True:
        before = len(needless)
        for name, remove, put_back in pieces():
            remove()
            if meaning.items() <= _meaning(draft).items():
                needless.append(name)
            else:
                put_back()
        if len(needless) == before:
            return needless


def _entries(draft: ProfileDraft, kept: PluginChanges | None) -> Iterator[Piece]:
    for changes in draft.plugins.values():
        if changes is kept:
            continue
        for entries in (changes.enabled, changes.disabled):
            for entry in tuple(entries):
                index = next(index for index, each in enumerate(entries) if each is entry)
                yield entry.name, partial(entries.pop, index), partial(entries.insert, index, entry)


def _arguments(given: Args) -> Iterator[Piece]:
    for field, value in tuple(given.fields.items()):
        yield field, partial(given.fields.pop, field), partial(given.fields.__setitem__, field, value)


def _meaning(draft: ProfileDraft) -> Meaning:
    """What each known version that accepts it makes of it."""
    written = {"schedulerName": "any", "plugins": written_plugins(draft), "pluginConfig": written_args(draft)}
    try:
        profile = config.Profile.model_validate(written, strict=False)
    except ValidationError:
        return {}
    expanded = {target.minor: config.expand_profile(profile, target) for target in TARGETS}
    return {
        minor: (dict(effective.points), dict(effective.args))
        for minor, effective in expanded.items()
        if isinstance(effective, config.EffectiveProfile)
    }


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
