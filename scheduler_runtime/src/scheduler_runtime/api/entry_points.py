"""The classes behind what installed distributions offer."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint

from scheduler_runtime.api.class_checks import flaws_of
from scheduler_runtime.api.contract import Plugin, declaration_of
from scheduler_runtime.catalog import find, is_upstream_plugin
from scheduler_runtime.catalog.entry_points import describe_origin


def load_plugin(name: str, points: Iterable[EntryPoint]) -> type[Plugin] | str:
    """The class of the plugin called ``name``, or what is wrong with what is offered under that name."""
    first, *others = sorted(points, key=describe_origin)
    if others:
        every = " and ".join(describe_origin(point) for point in (first, *others))
        return f"{every} offer it; uninstall all but one of them"
    if find(name) or is_upstream_plugin(name):
        return f"{describe_origin(first)} offers it, but Kubernetes has a plugin of that name; give yours another"
    return _loaded(first)


def _loaded(point: EntryPoint) -> type[Plugin] | str:
    try:
        kind = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module of theirs does is theirs to mend
        return f"{describe_origin(point)} cannot be imported: {type(error).__name__}: {error}"
    if not (isinstance(kind, type) and issubclass(kind, Plugin)):
        return f"{describe_origin(point)} is {kind!r}; wanted is a class of a scheduler_runtime.api.Plugin"
    try:
        own, flaws = declaration_of(kind).name, "; ".join(flaws_of(kind))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
        return f"{describe_origin(point)} cannot be looked at: {type(error).__name__}: {error}"
    if own != point.name:
        return f"{describe_origin(point)} calls itself {own}; let the entry point and the class have the same name"
    return f"{describe_origin(point)}: {flaws}" if flaws else kind
