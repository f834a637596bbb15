"""Reduction of a profile to the shortest form with the same meaning: entries that repeat defaults are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pydantic import ValidationError

from scheduler_operator.migrate.draft import TARGETS, ProfileDraft
from scheduler_operator.migrate.input_part import ImportNotes
from scheduler_runtime import config

Meaning = dict[str, tuple[dict[str, Any], dict[str, Any]]]
"""For each version that accepts a profile, the plugins at each point, and their arguments."""
Removal = tuple[str, Callable[[], object], Callable[[], object]]
"""The name of an entry or argument, a function that removes it, and one that puts it back."""


def shorten(draft: ProfileDraft, notes: ImportNotes, *, is_alone: bool) -> None:
    """Leave out of ``draft`` each entry without which it means the same to every version that accepts it.

    A profile that no version accepts, such as one with plugins from elsewhere, stays as it is. One that is not alone
    keeps its queueSort, which must be written alike in every profile of a process.
    """
    # validateCommonQueueSort of pkg/scheduler/apis/config/validation compares the written plugins and arguments.
    fixed = None if is_alone else draft.plugins.get("queueSort")
    meaning = _meaning(draft)
    if not meaning:
        return

    def entry_removals() -> Iterator[Removal]:
        for changes in draft.plugins.values():
            for entries in (changes.enabled, changes.disabled) if changes is not fixed else ():
                for entry in tuple(entries):
                    # By identity, as of two equal entries one may be gone; and only now, as earlier ones may be.
                    index = next(index for index, other in enumerate(entries) if other is entry)
                    yield entry.name, partial(entries.pop, index), partial(entries.insert, index, entry)

    def field_removals(fields: dict[str, Any]) -> Iterator[Removal]:
        for field, value in tuple(fields.items()):
            yield field, partial(fields.pop, field), partial(fields.__setitem__, field, value)

    repeating = f"what repeats the defaults of Kubernetes {', '.join(meaning)} was left out"
    if needless := _leave_out(entry_removals, draft, meaning):
        names = ", ".join(dict.fromkeys(needless))
        notes.remark(draft.path_of("plugins"), f"{repeating}: {names}")
    for name, args in draft.args.items():
        needless = _leave_out(partial(field_removals, args.fields), draft, meaning)
        if needless and not any(name in effective_args for _, effective_args in meaning.values()):
            notes.remark(args.path, f"left out, because {name} is off")
        elif needless:
            notes.remark(args.path, f"{repeating}: {', '.join(needless)}")


def _leave_out(removals: Callable[[], Iterator[Removal]], draft: ProfileDraft, meaning: Meaning) -> list[str]:
    """Remove entries until each that remains counts: without one, another may have become needless.

    A version that accepts the shorter profile and did not accept the longer one does no harm.
    """
    needless: list[str] = []
    while True:
        before = len(needless)
        for name, remove, put_back in removals():
            remove()
            if meaning.items() <= _meaning(draft).items():
                needless.append(name)
            else:
                put_back()
        if len(needless) == before:
            return needless


def _meaning(draft: ProfileDraft) -> Meaning:
    """Expand the profile for every known version that accepts it."""
    value = {"schedulerName": "any", "plugins": draft.plugins_field(), "pluginConfig": draft.plugin_config_field()}
    try:
        profile = config.Profile.model_validate(value, strict=False)
    except ValidationError:
        return {}
    expanded = {target.minor: config.expand_profile(profile, target) for target in TARGETS}
    return {
        minor: (dict(effective.points), dict(effective.args))
        for minor, effective in expanded.items()
        if isinstance(effective, config.EffectiveProfile)
    }
