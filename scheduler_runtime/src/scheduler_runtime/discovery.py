"""Plugins of other distributions that are installed beside this one: entry points of the group ``berth.plugins``.

Only those that a document names are imported: what nobody uses cannot keep a scheduler from starting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points

from scheduler_runtime.api import Plugin, declaration_of, flaws_of
from scheduler_runtime.catalog import find, is_upstreams
from scheduler_runtime.config import Document, Problem, Problems

GROUP = "berth.plugins"


def installed(document: Document) -> Mapping[str, type[Plugin]] | Problems:
    """The plugins that ``document`` names and installed distributions offer, or why they cannot be used."""
    wanted = frozenset(_named(document))
    offers: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        if point.name in wanted:
            offers.setdefault(point.name, []).append(point)
    loaded: dict[str, type[Plugin]] = {}
    problems: list[Problem] = []
    for name, points in sorted(offers.items()):
        plugin = _chosen(name, points)
        if isinstance(plugin, str):
            problems.append(Problem(f"plugin {name}", plugin))
        else:
            loaded[name] = plugin
    return Problems(tuple(problems)) if problems else loaded


def _named(document: Document) -> Iterator[str]:
    """Every plugin that ``document`` enables or gives arguments to."""
    for profile in document.profiles:
        for point in (*profile.plugins.named_points, "multiPoint"):
            yield from (entry.name for entry in profile.plugins.at(point).enabled)
        yield from (entry.name for entry in profile.plugin_config)


def _chosen(name: str, points: Iterable[EntryPoint]) -> type[Plugin] | str:
    """The class of the plugin called ``name``, or what is wrong with what is offered under that name."""
    first, *others = sorted(points, key=_origin)
    if others:
        every = " and ".join(_origin(point) for point in (first, *others))
        return f"{every} both offer it; uninstall one of them"
    if find(name) or is_upstreams(name):
        return f"{_origin(first)} offers it, but Kubernetes has a plugin of that name; give yours another"
    return _loaded(first)


def _loaded(point: EntryPoint) -> type[Plugin] | str:
    try:
        kind = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module of theirs does is theirs to mend
        return f"{_origin(point)} cannot be imported: {type(error).__name__}: {error}"
    if not (isinstance(kind, type) and issubclass(kind, Plugin)):
        return f"{_origin(point)} is {kind!r}; wanted is a class of a scheduler_runtime.api.Plugin"
    if (own := declaration_of(kind).name) != point.name:
        return f"{_origin(point)} calls itself {own}; let the entry point and the class have the same name"
    if flaws := "; ".join(flaws_of(kind)):
        return f"{_origin(point)}: {flaws}"
    return kind


def _origin(point: EntryPoint) -> str:
    """Where the class is, and who says so."""
    return f"{point.value} of {point.dist.name} {point.dist.version}" if point.dist else point.value
