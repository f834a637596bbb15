"""What checks look at: a document as it is written, one profile of it, and what that profile means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, DefaultSet, PluginArgs, Target
from scheduler_runtime.config.available_plugins import Engine, missing_plugins, points_of
from scheduler_runtime.config.expansion import EffectiveProfile, expand_profile
from scheduler_runtime.config.merging import EnabledPlugin, at_point, merged_multi_point
from scheduler_runtime.config.models import Document, PluginEntry, Profile
from scheduler_runtime.config.problems import Problems

ALL = "*"


def names(plugins: Iterable[PluginEntry]) -> tuple[str, ...]:
    """What the entries name."""
    return tuple(plugin.name for plugin in plugins)


@dataclass(frozen=True, slots=True)
class DocumentInput:
    """A document, and the scheduler that is to run by it."""

    document: Document
    target: Target
    others: Mapping[str, Declaration]
    engine: Engine
    expanded: Sequence[EffectiveProfile] = ()
    """What its profiles mean; empty when that is not known yet."""

    @property
    def profiles(self) -> Iterator[ProfileInput]:
        """Its profiles."""
        profiles = self.document.profiles
        expanded = self.expanded or (None,) * len(profiles)
        return (ProfileInput(profile, self, known) for profile, known in zip(profiles, expanded, strict=True))

    def lacks(self, plugin: str) -> bool:
        """Whether the scheduler that is to run does not have ``plugin``."""
        return bool(missing_plugins(self.engine, (plugin,), self.others))


@dataclass(frozen=True)
class ProfileInput:
    """A profile as it is written. Paths that checks tell of it start at the profile."""

    profile: Profile
    whole: DocumentInput
    expanded: EffectiveProfile | None = None
    """What it means, where that is known already."""

    @cached_property
    def defaults(self) -> DefaultSet:
        """What the target enables by default."""
        return catalog.defaults(self.whole.target.version)

    def points(self, plugin: str) -> tuple[str, ...]:
        """The extension points that ``plugin`` has; none when it is unknown."""
        return tuple(points_of(plugin, self.defaults, self.whole.others) or ())

    def enabled(self, point: str) -> Iterator[tuple[str, PluginEntry]]:
        """What is written as enabled at ``point`` and is in the engine, each with its path."""
        for index, plugin in enumerate(self.profile.plugins.at(point).enabled):
            if not self.whole.lacks(plugin.name):
                yield f"plugins.{point}.enabled[{index}]", plugin

    @cached_property
    def default_plugins(self) -> Mapping[str, int]:
        """The plugins that the target enables by default, and their weights."""
        return dict(self.defaults.default_plugins(self.whole.target))

    def runs(self, point: str) -> tuple[str, ...]:
        """The plugins that come to run at ``point``, also in a profile that a kube-scheduler refuses."""
        return tuple(at_point(point, self.profile.plugins.at(point), self._multi_point, self.points))

    @cached_property
    def _multi_point(self) -> Sequence[EnabledPlugin]:
        return merged_multi_point(self.profile.plugins.multi_point, self.default_plugins.items())

    def gate(self, plugin: str) -> str:
        """The feature gate without which ``plugin`` does nothing; empty when it needs none."""
        return next((each.gate for each in self.defaults.gated if each.name == plugin), "")

    def is_idle(self, plugin: str) -> bool:
        """Whether ``plugin`` does nothing, wherever it runs, because its feature gate is off."""
        gate = self.gate(plugin)
        return bool(gate) and not self.whole.target.enabled(gate)

    def place(self, plugin: str, point: str) -> str:
        """The path of the entry that enables ``plugin`` at ``point``; of the point, when it is there by default."""
        for where in (point, "multiPoint"):
            for path, entry in self.enabled(where):
                if entry.name == plugin:
                    return path
        return f"plugins.{point}"

    def removal(self, plugin: str, point: str) -> str:
        """The path of what takes ``plugin`` from ``point``; of the point itself, when nothing does."""
        for place in (point, "multiPoint"):
            for wanted in (plugin, ALL):
                for index, entry in enumerate(self.profile.plugins.at(place).disabled):
                    if entry.name == wanted:
                        return f"plugins.{place}.disabled[{index}]"
        return f"plugins.{point}"

    @cached_property
    def meaning(self) -> EffectiveInput | None:
        """What the profile means; None when a kube-scheduler would refuse it."""
        found = self.expanded or expand_profile(self.profile, self.whole.target, self.whole.others)
        return None if isinstance(found, Problems) else EffectiveInput(self._in_engine(found), self, found)

    def _in_engine(self, enabled: EffectiveProfile) -> EffectiveProfile:
        """What is left of a profile in the scheduler that is to run it."""
        absent = missing_plugins(self.whole.engine, enabled.names, self.whole.others)
        if not absent:
            return enabled
        points = {
            point: tuple(plugin for plugin in plugins if plugin.name not in absent)
            for point, plugins in enabled.points.items()
        }
        args = {name: args for name, args in enabled.args.items() if name not in absent}
        return replace(enabled, points=MappingProxyType(points), args=MappingProxyType(args))


@dataclass(frozen=True)
class EffectiveInput:
    """A profile that can run, with the plugins that it comes to."""

    running: EffectiveProfile
    """What runs: of what is enabled all that the engine has."""
    written: ProfileInput
    enabled: EffectiveProfile
    """What the document enables, whether or not the engine has it."""

    @cached_property
    def strangers(self) -> frozenset[str]:
        """The plugins that do not come with Kubernetes: nobody here knows what they do."""
        return frozenset(self.running.names) - frozenset(self.written.defaults.extends)

    def at(self, point: str) -> Mapping[str, EnabledPlugin]:
        """The plugins that run at ``point``, by name and in order."""
        return self._points.get(point, {})

    @cached_property
    def _points(self) -> Mapping[str, Mapping[str, EnabledPlugin]]:
        return {point: {each.name: each for each in plugins} for point, plugins in self.running.points.items()}

    def has(self, plugin: str, point: str) -> bool:
        """Whether ``plugin`` runs at ``point``."""
        return plugin in self.at(point)

    def enables(self, plugin: str, point: str) -> bool:
        """Whether the document enables ``plugin`` at ``point``, whether or not the engine has it."""
        return any(each.name == plugin for each in self.enabled.points.get(point, ()))

    def takes_away(self, plugin: str, point: str) -> bool:
        """Whether it is the document that keeps ``plugin`` from ``point``, and not the engine."""
        return not self.enables(plugin, point) and not self.written.whole.lacks(plugin)

    def needs(self, plugin: str, point: str) -> bool:
        """Whether ``plugin`` has something to do at ``point`` in the scheduler that is to run."""
        own = catalog.find(plugin) if self.written.whole.engine == "Python" else None
        return point in (own.points if own else self.written.points(plugin))

    def args(self, plugin: str) -> PluginArgs | None:
        """The arguments ``plugin`` runs with, if it runs and takes any."""
        return self.running.args.get(plugin)

    def entry(self, plugin: str) -> tuple[str, Mapping[str, Any]]:
        """The path of the arguments of ``plugin`` and what is written there; nothing, when nothing is."""
        for index, entry in enumerate(self.written.profile.plugin_config):
            if entry.name == plugin:
                return f"pluginConfig[{index}].args", entry.args
        return "pluginConfig", {}
