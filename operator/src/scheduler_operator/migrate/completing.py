"""Plugins that an old configuration would leave half on without meaning to: they came since, or grew a point since."""

from __future__ import annotations

from scheduler_operator.migrate.draft import Entry, PluginChanges, ProfileDraft
from scheduler_operator.migrate.outcome import Notes

_NEWCOMERS = {
    "DynamicResources": ("preFilter", "filter", "reserve", "preBind"),
    "NodeDeclaredFeatures": ("preFilter", "filter"),
}
"""Default plugins that no version before v1 had, and the points that each must have together."""


def complete(draft: ProfileDraft, notes: Notes) -> None:
    """Have those plugins wholly on where a ``*`` of the input, which meant the plugins of its time, takes a part."""
    for name, points in _NEWCOMERS.items():
        if _is_meant(draft, name):
            continue
        message = f"{name}, which came since, is enabled here too: it works with all of its points only"
        for point in points:
            if draft.at(point).bring_back(Entry(name)):
                notes.remark(draft.below(f"plugins.{point}"), message)
    _prepare_volume_restrictions(draft, notes)


def _is_meant(draft: ProfileDraft, name: str) -> bool:
    """Whether the input itself says what becomes of the plugin, by name or for all points at once."""
    every = draft.at("multiPoint")
    return every.disables(name) or any(_names(changes, name) for changes in draft.plugins.values())


def _names(changes: PluginChanges, name: str) -> bool:
    return any(entry.name == name for entry in (*changes.enabled, *changes.disabled))


def _prepare_volume_restrictions(draft: ProfileDraft, notes: Notes) -> None:
    """VolumeRestrictions fails where it filters without its preFilter, which it has since Kubernetes 1.22."""
    name = "VolumeRestrictions"
    if _is_on(draft, name, "filter") and not _is_on(draft, name, "preFilter"):
        preparing = draft.at("preFilter")
        if not preparing.bring_back(Entry(name)):
            preparing.enabled.append(Entry(name))
        message = f"{name} filters and is enabled here too, because it prepares itself here since Kubernetes 1.22"
        notes.remark(draft.below("plugins.preFilter"), message)


def _is_on(draft: ProfileDraft, name: str, point: str) -> bool:
    here, everywhere = draft.at(point), draft.at("multiPoint")
    by_default = everywhere.enables(name) or not everywhere.disables(name)
    return here.enables(name) or (by_default and not here.disables(name))
