"""A profile and a version to the plugins that run at each point, and everything the version would refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, DefaultSet, PluginArgs, Target
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest_name
from scheduler_runtime.config.arguments import Arguments
from scheduler_runtime.config.merging import WEIGHED, EnabledPlugin, at_point, merged_multi_point, spread, weights
from scheduler_runtime.config.models import DEFAULT_SCHEDULER_NAME, PluginSet, Profile
from scheduler_runtime.config.problems import Problem, Problems

__all__ = ["EffectiveProfile", "EnabledPlugin", "expand_profile", "unknown_plugin_message"]


@dataclass(frozen=True)
class EffectiveProfile:
    """What a profile means: which plugins run where, in which order, with which weights and arguments."""

    scheduler_name: str
    points: Mapping[str, tuple[EnabledPlugin, ...]]
    args: Mapping[str, PluginArgs]
    percentage_of_nodes_to_score: int | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every enabled plugin once, in the order in which it first appears."""
        return tuple(dict.fromkeys(plugin.name for plugins in self.points.values() for plugin in plugins))


def expand_profile(
    profile: Profile,
    target: Target,
    others: Mapping[str, Declaration] = MappingProxyType({}),
) -> EffectiveProfile | Problems:
    """Expand ``profile`` as the kube-scheduler that is the ``target`` would.

    ``others`` are the plugins that do not come with this build, by name. Paths are relative to the profile.
    """
    return Expansion(profile, target, others).result()


def default_profile(target: Target) -> EffectiveProfile:
    """What a profile that says nothing means to the ``target``."""
    found = expand_profile(Profile(scheduler_name=DEFAULT_SCHEDULER_NAME), target)
    if isinstance(found, Problems):
        raise TypeError(f"the default profile of {target} is refused: {found}")
    return found


class Expansion:
    """The working state of one :func:`effective`."""

    def __init__(self, profile: Profile, target: Target, others: Mapping[str, Declaration]) -> None:
        self.profile = profile
        self.target = target
        self.others = others
        self.defaults = catalog.defaults(target.version)
        default_plugins = self.defaults.default_plugins(target)
        self.multi_point = merged_multi_point(profile.plugins.multi_point, default_plugins)
        self.problems: list[Problem] = []

    @property
    def needed(self) -> frozenset[str]:
        """Every plugin that is enabled anywhere; upstream builds these, whether or not any point is left to them."""
        own = {plugin.name for point in self.defaults.points for plugin in self.at(point).enabled}
        return frozenset(own | {plugin.name for plugin in self.multi_point})

    def result(self) -> EffectiveProfile | Problems:
        self.check_names()
        points: dict[str, tuple[EnabledPlugin, ...]] = {}
        if not self.problems:
            points = {point: self.expand(point) for point in self.defaults.points}
            self.check_counts(points)
        args = self.read_args()
        if self.problems:
            return Problems(tuple(self.problems))
        return EffectiveProfile(
            scheduler_name=self.profile.scheduler_name,
            points=MappingProxyType(points),
            args=MappingProxyType(args),
            percentage_of_nodes_to_score=self.profile.percentage_of_nodes_to_score,
        )

    def refuse(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    def at(self, point: str) -> PluginSet:
        return self.profile.plugins.at(point)

    def extends(self, name: str) -> Sequence[str] | None:
        """The points of the plugin called ``name``; None when there is no such plugin."""
        return points_of(name, self.defaults, self.others)

    def check_names(self) -> None:
        for point in self.profile.plugins.named_points:
            if point in self.defaults.points:
                for index, plugin in enumerate(self.at(point).enabled):
                    self.check_name(plugin.name, f"plugins.{point}.enabled[{index}]", point)
                self.check_repeats(self.at(point), f"plugins.{point}")
            else:
                self.refuse(f"plugins.{point}", f"{self.target} has no such extension point{_since(point)}")
        for index, plugin in enumerate(self.profile.plugins.multi_point.enabled):
            self.check_name(plugin.name, f"plugins.multiPoint.enabled[{index}]", None)
        self.check_spread()

    def check_repeats(self, plugin_set: PluginSet, path: str) -> None:
        names = [plugin.name for plugin in plugin_set.enabled]
        for index, name in enumerate(names):
            if name in names[:index]:
                self.refuse(f"{path}.enabled[{index}]", f"{name} is enabled here already, by entry {names.index(name)}")

    def check_name(self, name: str, path: str, point: str | None) -> None:
        extends = self.extends(name)
        if extends is None:
            self.refuse(f"{path}.name", unknown_plugin_message(name, self.target))
        elif point is not None and point not in extends:
            listed = ", ".join(extends) or "none that can be enabled"
            self.refuse(path, f"{name} has nothing to do at {point}; it works at {listed}")

    def check_spread(self) -> None:
        """A plugin named twice in multiPoint is refused where that brings it to one point twice."""
        names = [plugin.name for plugin in self.profile.plugins.multi_point.enabled]
        if len(set(names)) == len(names):
            return
        for point in self.defaults.points:
            coming = spread(point, self.at(point), self.multi_point, self.extends)
            for name in {name for name in coming if coming.count(name) > 1}:
                first = names.index(name)
                path = f"plugins.multiPoint.enabled[{names.index(name, first + 1)}]"
                if all(problem.path != path for problem in self.problems):
                    self.refuse(path, f"{name} is enabled here already, by entry {first}")

    def expand(self, point: str) -> tuple[EnabledPlugin, ...]:
        names = at_point(point, self.at(point), self.multi_point, self.extends)
        if point not in WEIGHED:
            return tuple(EnabledPlugin(name) for name in names)
        found = weights(point, self.at(point), self.multi_point, self.extends)
        if isinstance(found, str):
            path, weight = self.written_weight(found, point)
            message = f"{weight} makes kube-scheduler refuse the weights after it; write 1 or more for {found}"
            self.refuse(f"{path}.weight", message)
            return ()
        return tuple(EnabledPlugin(name, found[name]) for name in names)

    def written_weight(self, name: str, point: str) -> tuple[str, int]:
        """The path of the entry whose weight the plugin called ``name`` has at ``point``, and that weight."""
        return next(
            (f"plugins.{at}.enabled[{index}]", plugin.weight or 0)
            for at in (point, "multiPoint")
            for index, plugin in enumerate(self.at(at).enabled)
            if plugin.name == name
        )

    def check_counts(self, points: Mapping[str, tuple[EnabledPlugin, ...]]) -> None:
        sorting = [plugin.name for plugin in points["queueSort"]]
        if len(sorting) != 1:
            listed = ", ".join(sorting) or "none"
            self.refuse("plugins.queueSort", f"exactly one plugin must sort the queue; enabled is {listed}")
        if not points["bind"]:
            self.refuse("plugins.bind", "no plugin is left that binds; enable DefaultBinder or another one")
        if len(points.get("placementGenerate", ())) > 1:
            self.refuse("plugins.placementGenerate", "at most one plugin can generate placements")

    def read_args(self) -> dict[str, PluginArgs]:
        """The arguments of the enabled plugins, with defaults, having checked every entry of pluginConfig."""
        needed = self.needed
        reader = Arguments(self.target, self.others)
        for index, entry in enumerate(self.profile.plugin_config):
            if entry.name in catalog.REFUSED_ANYWHERE:
                self.refuse(f"pluginConfig[{index}].name", unknown_plugin_message(entry.name, self.target))
            else:
                reader.read(entry.name, entry.args, f"pluginConfig[{index}].args", entry.name in needed)
        complete = reader.complete(needed)
        self.problems.extend(reader.problems)
        if not self.problems:
            for name in self.without_default_args(needed):
                point = next(point for point in self.defaults.without_default_args if self.names_at(point, name))
                message = f"{self.target} builds {name} without arguments when only {point} enables it, and refuses it"
                self.refuse(f"plugins.{point}", f"{message}; give it an entry in pluginConfig")
        return complete

    def without_default_args(self, needed: Iterable[str]) -> list[str]:
        """The plugins that upstream forgets to give their default arguments."""
        given = {entry.name for entry in self.profile.plugin_config}
        named = {plugin.name for plugin in self.multi_point}
        for point in self.defaults.points:
            if point not in self.defaults.without_default_args:
                named.update(plugin.name for plugin in self.at(point).enabled)
        return sorted(name for name in needed if name in catalog.IN_TREE_ARGS and name not in given | named)

    def names_at(self, point: str, name: str) -> bool:
        return any(plugin.name == name for plugin in self.at(point).enabled)


def points_of(name: str, defaults: DefaultSet, others: Mapping[str, Declaration]) -> Sequence[str] | None:
    """The points of the plugin called ``name``; None when there is no such plugin.

    One of the version is first asked for, then one of the ``others``, then one that only this build has.
    """
    if name in defaults.extends:
        return defaults.extends[name]
    declared = others.get(name)
    if declared is None and not catalog.is_upstream_plugin(name):
        declared = catalog.find(name)
    return tuple(declared.points) if declared else None


DECLARE_IT = "it is in an image of yours, give a PluginConfig that declares it"
"""What to do about a plugin that only its author knows, for those who have PluginConfigs."""


def unknown_plugin_message(name: str, target: Target | None = None, others: Iterable[str] = ()) -> str:
    """The sentence about a plugin that does not exist, with the names that were perhaps meant.

    ``others`` are names of plugins that do not come with Kubernetes.
    """
    if name in catalog.REMOVED_PLUGINS:
        return f"{name} was removed from Kubernetes; {catalog.REMOVED_PLUGINS[name]}"
    if target is not None and catalog.is_upstream_plugin(name):
        return f"{target} has no plugin {name}{_since(name)}"
    if not name:
        return "is required"
    meant = did_you_mean([*nearest_name(name, others), *catalog.similar_plugins(name)])
    otherwise = f"{meant} If" if meant else "; if"
    return f"there is no plugin {name!r}{otherwise} {DECLARE_IT}"


def _since(name: str) -> str:
    """When a plugin or a point appeared, as the end of a sentence; empty for what no version has."""
    found = catalog.first_version_with(name)
    return f"; it appeared in Kubernetes {found}" if found else ""
