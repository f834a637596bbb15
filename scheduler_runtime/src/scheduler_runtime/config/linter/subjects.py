"""What checks look at: a document as it is written, one profile of it, and what that profile means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ... import catalog
from ...catalog import Declaration, DefaultSet, PluginArgs, Target
from ..document import Document, Profile
from ..document import EnabledPlugin as WrittenPlugin
from ..expansion import EffectiveProfile, EnabledPlugin, effective
from ..problems import Problems

Engine = Literal["Python", "KubeScheduler"]


@dataclass(frozen=True, slots=True)
class Whole:
    """A document, and the scheduler that is to run by it."""

    document: Document
    target: Target
    others: Mapping[str, Declaration]
    engine: Engine

    @property
    def profiles(self) -> Iterator[Written]:
        """Its profiles."""
        return (Written(profile, self) for profile in self.document.profiles)


@dataclass(frozen=True, slots=True)
class Written:
    """A profile as it is written. Paths that checks tell of it start at the profile."""

    profile: Profile
    whole: Whole

    @property
    def defaults(self) -> DefaultSet:
        """What the target enables by default."""
        return catalog.defaults(self.whole.target.version)

    def points(self, plugin: str) -> tuple[str, ...]:
        """The extension points that ``plugin`` has; none when it is unknown."""
        if plugin in self.defaults.extends:
            return self.defaults.extends[plugin]
        declared = self.whole.others.get(plugin) or catalog.find(plugin)
        return tuple(declared.points) if declared else ()

    def enabled(self, point: str) -> Iterator[tuple[str, WrittenPlugin]]:
        """What is written as enabled at ``point``, each with its path."""
        for index, plugin in enumerate(self.profile.plugins.at(point).enabled):
            yield f"plugins.{point}.enabled[{index}]", plugin

    def meaning(self) -> Meaning | None:
        """What the profile means; None when a kube-scheduler would refuse it."""
        found = effective(self.profile, self.whole.target, self.whole.others)
        return None if isinstance(found, Problems) else Meaning(found, self)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A profile that can run, with the plugins that it comes to."""

    effective: EffectiveProfile
    written: Written

    def at(self, point: str) -> Mapping[str, EnabledPlugin]:
        """The plugins that run at ``point``, by name and in order."""
        return {plugin.name: plugin for plugin in self.effective.points.get(point, ())}

    def has(self, plugin: str, point: str) -> bool:
        """Whether ``plugin`` runs at ``point``."""
        return plugin in self.at(point)

    def args(self, plugin: str) -> PluginArgs | None:
        """The arguments ``plugin`` runs with, if it runs and takes any."""
        return self.effective.args.get(plugin)
