"""Plugins that installed distributions offer: entry points of the group ``berth.plugins``."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from ..catalog import find, is_upstreams
from .contract import Plugin, declaration_of
from .flaws import flaws_of

GROUP = "berth.plugins"


def offers() -> dict[str, list[EntryPoint]]:
    """What the installed distributions offer, by the plugin's name. Nothing is imported."""
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, []).append(point)
    return found


def chosen(name: str, points: Iterable[EntryPoint]) -> type[Plugin] | str:
    """The class of the plugin called ``name``, or what is wrong with what is offered under that name."""
    first, *others = sorted(points, key=origin)
    if others:
        every = " and ".join(origin(point) for point in (first, *others))
        return f"{every} both offer it; uninstall one of them"
    if find(name) or is_upstreams(name):
        return f"{origin(first)} offers it, but Kubernetes has a plugin of that name; give yours another"
    return _loaded(first)


def _loaded(point: EntryPoint) -> type[Plugin] | str:
    try:
        kind = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module of theirs does is theirs to mend
        return f"{origin(point)} cannot be imported: {type(error).__name__}: {error}"
    if not (isinstance(kind, type) and issubclass(kind, Plugin)):
        return f"{origin(point)} is {kind!r}; wanted is a class of a scheduler_runtime.api.Plugin"
    if (own := declaration_of(kind).name) != point.name:
        return f"{origin(point)} calls itself {own}; let the entry point and the class have the same name"
    if flaws := "; ".join(flaws_of(kind)):
        return f"{origin(point)}: {flaws}"
    return kind


def origin(point: EntryPoint) -> str:
    """Where the class is, and who says so."""
    return f"{point.value} of {point.dist.name} {point.dist.version}" if point.dist else point.value
