"""Load the plugin classes behind the entry points of installed distributions, and check them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint

from scheduler_runtime.api.class_checks import flaws_of
from scheduler_runtime.api.contract import Plugin, declaration_of
from scheduler_runtime.catalog import find, is_upstream_plugin
from scheduler_runtime.catalog.entry_points import describe_origin


def load_plugin(name: str, points: Iterable[EntryPoint]) -> type[Plugin] | str:
    """Return the class of the plugin called ``name``, or why the entry points of that name cannot be used.

    Runs the code of the module that the entry point names. Nothing that it raises gets through.
    """
    point, *others = sorted(points, key=describe_origin)
    origin = describe_origin(point)
    if others:
        origins = " and ".join([origin, *map(describe_origin, others)])
        return f"{origins} offer it; uninstall all but one of them"
    if find(name) or is_upstream_plugin(name):
        return f"{origin} offers it, but Kubernetes has a plugin of that name; give yours another"
    try:
        kind = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module of theirs does is theirs to mend
        return f"{origin} cannot be imported: {type(error).__name__}: {error}"
    if not (isinstance(kind, type) and issubclass(kind, Plugin)):
        return f"{origin} is {kind!r}; expected a class of a scheduler_runtime.api.Plugin"
    try:
        own_name, flaws = declaration_of(kind).name, "; ".join(flaws_of(kind))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above: a metaclass or a property of theirs
        return f"{origin} cannot be looked at: {type(error).__name__}: {error}"
    if own_name != point.name:
        return f"{origin} calls itself {own_name}; let the entry point and the class have the same name"
    return f"{origin}: {flaws}" if flaws else kind
