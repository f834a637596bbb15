"""Plugins of other distributions that are installed beside this one: entry points of the group ``berth.plugins``.

Only those that a document names are imported: what nobody uses cannot keep a scheduler from starting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points

from scheduler_runtime import catalog
from scheduler_runtime.api import Plugin, declaration_of, flaws_of
from scheduler_runtime.catalog import REMOVED, find, is_upstreams
from scheduler_runtime.catalog.spelling import did_you_mean, nearest
from scheduler_runtime.config import Document, Problem, Problems

GROUP = "berth.plugins"


def installed(document: Document) -> Mapping[str, type[Plugin]] | Problems:
    """The plugins that ``document`` names and installed distributions offer, or why they cannot be used."""
    offers, loaded = _offers(), dict[str, type[Plugin]]()
    problems: list[Problem] = []
    for name, points in sorted((name, offers[name]) for name in offers.keys() & frozenset(_named(document))):
        plugin = _chosen(name, points)
        if isinstance(plugin, str):
            problems.append(Problem(f"plugin {name}", plugin))
        else:
            loaded[name] = plugin
    return Problems(tuple(problems)) if problems else loaded


def _named(document: Document) -> Iterator[str]:
    """Every plugin that ``document`` enables or gives arguments to."""
    yield from _enabled(document)
    yield from (entry.name for profile in document.profiles for entry in profile.plugin_config)


def _enabled(document: Document) -> Iterator[str]:
    for profile in document.profiles:
        for point in (*profile.plugins.named_points, "multiPoint"):
            yield from (entry.name for entry in profile.plugins.at(point).enabled)


def missing(document: Document, found: Collection[str]) -> Problems | None:
    """That ``document`` enables plugins which neither Kubernetes has nor are ``found``, with those that are installed.

    A misspelt plugin of Kubernetes is left to whoever knows the versions.
    """
    offers = _offers()
    problems = tuple(
        Problem(f"plugin {name}", _not_installed(name, offers)) for name in unknown(document, found, offers)
    )
    return Problems(problems) if problems else None


def unknown(document: Document, found: Collection[str], offered: Iterable[str]) -> list[str]:
    """The plugins that ``document`` enables, which neither Kubernetes has nor are ``found``.

    One that is written almost like one of Kubernetes is none of them, unless it is like one that is ``offered``.
    """
    others = frozenset(_enabled(document)) - frozenset(found)
    return sorted(name for name in others if not _is_known(name) and (near(name, offered) or not catalog.nearest(name)))


def _offers() -> dict[str, list[EntryPoint]]:
    offers: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        offers.setdefault(point.name, []).append(point)
    return offers


def _is_known(name: str) -> bool:
    """Whether Kubernetes has, or had, a plugin of this name, or it is none: others say more of these."""
    return not name or name == "*" or name in REMOVED or bool(find(name)) or is_upstreams(name)


def _not_installed(name: str, offers: Mapping[str, Iterable[EntryPoint]]) -> str:
    """That nobody offers the plugin called ``name``, and what is offered."""
    listed = ", ".join(_origin(point) for _, points in sorted(offers.items()) for point in points)
    offered = f"installed packages offer {listed}" if listed else "no installed package offers any"
    meant = did_you_mean(near(name, offers)) or "; install its package"
    return f"is neither a plugin of Kubernetes nor installed{meant} ({offered})"


def near(name: str, names: Iterable[str]) -> list[str]:
    """The one of ``names`` that was perhaps meant."""
    by_letters = {each.lower(): each for each in names}
    return [by_letters[each] for each in nearest(name.lower(), by_letters)]


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
