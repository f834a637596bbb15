"""Plugins of other distributions that a document names and that are installed beside this one.

Only those are imported: what nobody uses cannot keep a scheduler from starting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint
from weakref import WeakKeyDictionary

from scheduler_runtime import catalog
from scheduler_runtime.api import Plugin
from scheduler_runtime.api.entry_points import load_plugin
from scheduler_runtime.catalog import REMOVED, find, is_upstreams
from scheduler_runtime.catalog.entry_points import offers, origin
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest_name
from scheduler_runtime.config import Document, Problem, Problems

_from: WeakKeyDictionary[type[Plugin], str] = WeakKeyDictionary()
"""Who offered a class first: a package that is upgraded while we run is not imported again."""


def installed(document: Document) -> Mapping[str, type[Plugin]] | Problems:
    """The plugins that ``document`` names and installed distributions offer, or why they cannot be used."""
    offered, loaded = offers(), dict[str, type[Plugin]]()
    problems: list[Problem] = []
    for name, points in sorted((name, offered[name]) for name in offered.keys() & frozenset(_named(document))):
        plugin = load_plugin(name, points)
        if isinstance(plugin, str):
            problems.append(Problem(f"plugin {name}", plugin))
        else:
            loaded[name] = plugin
            _from.setdefault(plugin, " and ".join(map(origin, points)))
    return Problems(tuple(problems)) if problems else loaded


def origin_of(plugin: type[Plugin]) -> str:
    """Who offered the plugin when it was imported; its module, if nobody did."""
    return _from.get(plugin) or f"{plugin.__module__}:{plugin.__qualname__}"


def _named(document: Document) -> Iterator[str]:
    """Every plugin that ``document`` enables or gives arguments to."""
    yield from _enabled(document)
    yield from (entry.name for profile in document.profiles for entry in profile.plugin_config)


def _enabled(document: Document) -> Iterator[str]:
    for profile in document.profiles:
        for point in (*profile.plugins.named_points, "multiPoint"):
            yield from (entry.name for entry in profile.plugins.at(point).enabled)


def missing(document: Document, found: Collection[str]) -> Mapping[str, str]:
    """The plugins that ``document`` enables and which neither Kubernetes has nor are ``found``, each with a sentence.

    A misspelt plugin of Kubernetes is left to whoever knows the versions.
    """
    offered = offers()
    return {name: _not_installed(name, offered) for name in unknown(document, found, offered)}


def unknown(document: Document, found: Collection[str], offered: Iterable[str]) -> list[str]:
    """The plugins that ``document`` enables, which neither Kubernetes has nor are ``found``.

    One that is written almost like one of Kubernetes is none of them, unless it is like one that is ``offered``.
    """
    others = frozenset(_enabled(document)) - frozenset(found)
    return sorted(
        name for name in others if not _is_known(name) and (nearest_name(name, offered) or not catalog.nearest(name))
    )


def _is_known(name: str) -> bool:
    """Whether Kubernetes has, or had, a plugin of this name, or it is none: others say more of these."""
    return not name or name == "*" or name in REMOVED or bool(find(name)) or is_upstreams(name)


def _not_installed(name: str, offered: Mapping[str, Iterable[EntryPoint]]) -> str:
    """That nobody offers the plugin called ``name``, and what is offered."""
    listed = ", ".join(origin(point) for _, points in sorted(offered.items()) for point in points)
    these = f"installed packages offer {listed}" if listed else "no installed package offers any"
    meant = did_you_mean(nearest_name(name, offered)) or "; install its package"
    return f"{name} is neither a plugin of Kubernetes nor installed{meant} ({these})"
