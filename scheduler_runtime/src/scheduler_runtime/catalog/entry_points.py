"""Plugins that installed distributions offer: entry points of the group ``berth.plugins``. Nothing is imported."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

GROUP = "berth.plugins"


def installed_plugins() -> dict[str, list[EntryPoint]]:
    """What the installed distributions offer, by the plugin's name."""
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, []).append(point)
    return found


def describe_origin(point: EntryPoint) -> str:
    """Where the class is, and who says so."""
    return f"{point.value} of {point.dist.name} {point.dist.version}" if point.dist else point.value
