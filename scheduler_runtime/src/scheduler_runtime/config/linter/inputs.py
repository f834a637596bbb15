"""The inputs of checks: a document, one profile of it, and the plugins that this profile comes to.

They answer the questions that checks have in common, so that a check itself is short. The fields of the document as its
author wrote them are ``fields``; paths in a profile begin at the profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, PluginArgs, Target
from scheduler_runtime.config.available_plugins import Engine, missing_plugins
from scheduler_runtime.config.expansion import EffectiveProfile, EnabledPlugin, Expansion
from scheduler_runtime.config.models import Document, PluginEntry, PluginSet, Profile
from scheduler_runtime.config.problems import Problems

ALL = "*"


def names(plugins: Iterable[PluginEntry]) -> tuple[str, ...]:
    """Return the names of the entries."""
    return tuple(plugin.name for plugin in plugins)


@dataclass(frozen=True)
class DocumentInput:
    """A document, and the scheduler that is to run by it."""

    fields: Document
    target: Target
    others: Mapping[str, Declaration]
    """The plugins that do not come with the engine, by name."""
    engine: Engine
    expanded: Sequence[EffectiveProfile] = ()
    """The expanded profiles, where that is done already; empty otherwise."""

    @cached_property
    def profiles(self) -> tuple[ProfileInput, ...]:
        """Its profiles."""
        profiles = self.fields.profiles
        expanded = self.expanded or (None,) * len(profiles)
        return tuple(ProfileInput(profile, self, own) for profile, own in zip(profiles, expanded, strict=True))

    def is_missing(self, plugin: str) -> bool:
        """Return True if the engine does not have ``plugin``."""
        return bool(missing_plugins(self.engine, (plugin,), self.others))


class ProfileInput:
    """A profile as its author wrote it, which kube-scheduler may refuse."""

    def __init__(self, fields: Profile, document: DocumentInput, expanded: EffectiveProfile | None = None) -> None:
        """``expanded`` is the expanded profile, where that is done already."""
        self.fields = fields
        self.document = document
        self._expanded = expanded
        self._expansion = Expansion(fields, document.target, document.others)
        self.own: Mapping[str, PluginSet] = self._expansion.own
        """What the profile itself has at each point, multiPoint included."""
        self.defaults = self._expansion.defaults
        """The plugins and points of the target's version."""
        self.default_plugins: Mapping[str, int] = self._expansion.default_plugins
        """The plugins that the target enables by default, and their weights."""
        self.places = (*self.defaults.points, "multiPoint")
        """The points that a document of the target's version may name, multiPoint last."""

    @cached_property
    def effective(self) -> EffectiveInput | None:
        """The plugins that the profile comes to; None when kube-scheduler would refuse the profile."""
        document = self.document
        enabled = self._expanded or self._expansion.result()
        if isinstance(enabled, Problems):
            return None
        running, absent = enabled, missing_plugins(document.engine, enabled.names, document.others)
        if absent:
            points = {
                point: tuple(plugin for plugin in plugins if plugin.name not in absent)
                for point, plugins in enabled.points.items()
            }
            args = {name: args for name, args in enabled.args.items() if name not in absent}
            running = replace(enabled, points=MappingProxyType(points), args=MappingProxyType(args))
        return EffectiveInput(running, enabled, self)

    def points_of(self, plugin: str) -> tuple[str, ...]:
        """Return the extension points that ``plugin`` has; none when the plugin is unknown."""
        return tuple(self._expansion.points_by_plugin.get(plugin, ()))

    def plugins_at(self, point: str) -> tuple[str, ...]:
        """Return the plugins that come to run at ``point``, also in a profile that kube-scheduler refuses."""
        return tuple(self._expansion.names_at(point))

    def entries(self, point: str) -> Iterator[tuple[str, PluginEntry]]:
        """Yield the entries under ``enabled`` at ``point`` whose plugins the engine has, each with its path."""
        for index, plugin in enumerate(self.own[point].enabled):
            if not self.document.is_missing(plugin.name):
                yield f"plugins.{point}.enabled[{index}]", plugin

    def gate_of(self, plugin: str) -> str:
        """Return the feature gate without which ``plugin`` does nothing; empty when it needs none."""
        return next((gated.gate for gated in self.defaults.gated if gated.name == plugin), "")

    def is_gated_off(self, plugin: str) -> bool:
        """Return True if ``plugin`` does nothing, wherever it runs, because its feature gate is off."""
        gate = self.gate_of(plugin)
        return bool(gate) and not self.document.target.enabled(gate)

    def path_of_entry(self, plugin: str, point: str) -> str:
        """Return the path of the entry that enables ``plugin`` at ``point``; that of the point for a default plugin."""
        for place in (point, "multiPoint"):
            for path, entry in self.entries(place):
                if entry.name == plugin:
                    return path
        return f"plugins.{point}"

    def path_of_removal(self, plugin: str, point: str) -> str:
        """Return the path of the entry that disables ``plugin`` at ``point``; that of the point if there is none."""
        for place in (point, "multiPoint"):
            for name in (plugin, ALL):
                for index, entry in enumerate(self.own[place].disabled):
                    if entry.name == name:
                        return f"plugins.{place}.disabled[{index}]"
        return f"plugins.{point}"


@dataclass(frozen=True)
class EffectiveInput:
    """A profile that kube-scheduler accepts, with the plugins that it comes to."""

    running: EffectiveProfile
    """The plugins that run: those that are enabled and that the engine has."""
    enabled: EffectiveProfile
    """The plugins that the document enables; the engine need not have them."""
    profile: ProfileInput

    @property
    def document(self) -> DocumentInput:
        """The document of the profile."""
        return self.profile.document

    @cached_property
    def _by_point(self) -> Mapping[str, Mapping[str, EnabledPlugin]]:
        points = self.running.points.items()
        return {point: {plugin.name: plugin for plugin in plugins} for point, plugins in points}

    def at(self, point: str) -> Mapping[str, EnabledPlugin]:
        """Return the plugins that run at ``point``, by name and in order."""
        return self._by_point.get(point, {})

    def runs(self, plugin: str, point: str) -> bool:
        """Return True if ``plugin`` runs at ``point``."""
        return plugin in self._by_point.get(point, ())

    def enables(self, plugin: str, point: str) -> bool:
        """Return True if the document enables ``plugin`` at ``point``, also where the engine does not have it."""
        return any(enabled.name == plugin for enabled in self.enabled.points.get(point, ()))

    def disables(self, plugin: str, point: str) -> bool:
        """Return True if the document keeps ``plugin`` from ``point``, and not the engine."""
        return not self.enables(plugin, point) and not self.document.is_missing(plugin)

    def works_at(self, plugin: str, point: str) -> bool:
        """Return True if ``plugin`` has something to do at ``point`` in the engine that is to run it."""
        own = catalog.find(plugin) if self.document.engine == "Python" else None
        return point in (own.points if own else self.profile.points_of(plugin))

    def args(self, plugin: str) -> PluginArgs | None:
        """Return the arguments that ``plugin`` runs with; None if it does not run or takes none."""
        return self.running.args.get(plugin)

    def args_entry(self, plugin: str) -> tuple[str, Mapping[str, Any]]:
        """Return the path of the arguments of ``plugin`` and what its author wrote there, which may be nothing."""
        for index, entry in enumerate(self.profile.fields.plugin_config):
            if entry.name == plugin:
                return f"pluginConfig[{index}].args", entry.args
        return "pluginConfig", {}
