"""Plugins from other installed distributions.

Only those that a document names are imported: a broken package that nobody uses cannot stop a scheduler.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from weakref import WeakKeyDictionary

from scheduler_runtime import catalog
from scheduler_runtime.api import Plugin
from scheduler_runtime.api.plugin_loading import load_plugin
from scheduler_runtime.catalog import REMOVED_PLUGINS, find, is_upstream_plugin
from scheduler_runtime.catalog.entry_points import describe_origin, installed_plugins
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest_name
from scheduler_runtime.config import Document, Problem, Problems

_origins: WeakKeyDictionary[type[Plugin], str] = WeakKeyDictionary()
"""The distributions that offered each class when it was imported: an upgraded package is not imported again."""


def load_installed(document: Document) -> Mapping[str, type[Plugin]] | Problems:
    """Return the plugins that ``document`` names and installed distributions offer, or why they cannot be used."""
    offered, plugins = installed_plugins(), dict[str, type[Plugin]]()
    problems: list[Problem] = []
    configured = (entry.name for profile in document.profiles for entry in profile.plugin_config)
    for name in sorted(offered.keys() & {*_enabled_plugins(document), *configured}):
        plugin = load_plugin(name, offered[name])
        if isinstance(plugin, str):
            problems.append(Problem(f"plugin {name}", plugin))
        else:
            plugins[name] = plugin
            _origins.setdefault(plugin, " and ".join(map(describe_origin, offered[name])))
    return Problems(tuple(problems)) if problems else plugins


def origin_of(plugin: type[Plugin]) -> str:
    """Return the distribution that offered the plugin when it was imported; its module if none did."""
    return _origins.get(plugin) or f"{plugin.__module__}:{plugin.__qualname__}"


def _enabled_plugins(document: Document) -> Iterator[str]:
    for profile in document.profiles:
        for point in (*profile.plugins.named_points, "multiPoint"):
            yield from (entry.name for entry in profile.plugins.at(point).enabled)


def explain_missing(document: Document, loaded: Collection[str]) -> Mapping[str, str]:
    """Return a sentence for each plugin that ``document`` enables, neither Kubernetes has nor is among ``loaded``.

    A misspelt plugin of Kubernetes has none here: ``config.expansion``, which knows the versions, explains it.
    """
    offered = installed_plugins()
    sentences: dict[str, str] = {}
    for name in unknown_plugins(document, loaded, offered):
        offers_text = ", ".join(describe_origin(point) for _, points in sorted(offered.items()) for point in points)
        these = f"installed packages offer {offers_text}" if offers_text else "no installed package offers any"
        suggestion = did_you_mean(nearest_name(name, offered)) or "; install its package"
        sentences[name] = f"{name} is neither a plugin of Kubernetes nor installed{suggestion} ({these})"
    return sentences


def unknown_plugins(document: Document, loaded: Collection[str], offered: Iterable[str]) -> list[str]:
    """Return the plugins that ``document`` enables, neither Kubernetes has nor are among ``loaded``.

    A name that resembles one of Kubernetes' counts as that one, misspelt, unless it also resembles one that is
    ``offered``.
    """

    def is_known(name: str) -> bool:
        """Return True if Kubernetes has, or had, a plugin of this name, or if it is no name: others report these."""
        return not name or name == "*" or name in REMOVED_PLUGINS or bool(find(name)) or is_upstream_plugin(name)

    return sorted(
        name
        for name in frozenset(_enabled_plugins(document)) - frozenset(loaded)
        if not is_known(name) and (nearest_name(name, offered) or not catalog.similar_plugins(name))
    )
