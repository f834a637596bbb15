"""Plugins of installed distributions: entry points of the group ``berth.plugins``. Nothing is imported."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

GROUP = "berth.plugins"


def installed_plugins() -> dict[str, list[EntryPoint]]:
    """Return the entry points of the installed distributions, by the plugin's name.

    A name with more than one entry point is offered by several distributions; the caller has to refuse it.
    """
    plugins: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        plugins.setdefault(point.name, []).append(point)
    return plugins


def describe_origin(point: EntryPoint) -> str:
    """Return the place of the plugin's class, and the distribution that declares it with its version."""
    return f"{point.value} of {point.dist.name} {point.dist.version}" if point.dist else point.value
