"""A profile expanded for a version: the plugins that run at each point, or everything that the version would refuse.

    profile ──► names exist ──► merged with the defaults ──► counts per point ──► arguments (``arguments``)

    defaults ─► with the profile's multiPoint ─► at each point: its overrides, the rest of multiPoint, its own

The checks and their order are those of upstream's profile.NewMap and frameworkruntime.NewFramework. Merging follows
mergePluginSet in apis/config/v1/default_plugins.go, then expandMultiPointPlugins in framework/runtime/framework.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, PluginArgs, Target
from scheduler_runtime.config.arguments import Arguments
from scheduler_runtime.config.available_plugins import points_by_plugin, since, unknown_plugin_message
from scheduler_runtime.config.models import DEFAULT_SCHEDULER_NAME, PluginSet, Profile
from scheduler_runtime.config.problems import Problem, Problems

_MAX_TOTAL = 2**63 - 1
_MAX_SCORE = 100
WEIGHED = ("score", "placementScore")
"""The points at which a weight counts."""


@dataclass(frozen=True, slots=True)
class EnabledPlugin:
    """A plugin at one point. The weight counts at score and is 0 elsewhere."""

    name: str
    weight: int = 0


@dataclass(frozen=True)
class EffectiveProfile:
    """The plugins that a profile comes to: where they run, in which order, with which weights and arguments."""

    scheduler_name: str
    points: Mapping[str, tuple[EnabledPlugin, ...]]
    args: Mapping[str, PluginArgs]
    percentage_of_nodes_to_score: int | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every enabled plugin once, in the order in which the plugins first appear."""
        return tuple(dict.fromkeys(plugin.name for plugins in self.points.values() for plugin in plugins))


def expand_profile(
    profile: Profile,
    target: Target,
    others: Mapping[str, Declaration] = MappingProxyType({}),
) -> EffectiveProfile | Problems:
    """Expand ``profile`` as the kube-scheduler that is the ``target`` would.

    ``others`` are the plugins that do not come with this build, by name. Returns everything that this kube-scheduler
    would refuse, with paths relative to the profile.
    """
    return Expansion(profile, target, others).result()


def default_profile(target: Target) -> EffectiveProfile:
    """Return what a profile without any settings comes to on the ``target``."""
    profile = expand_profile(Profile(scheduler_name=DEFAULT_SCHEDULER_NAME), target)
    if isinstance(profile, Problems):
        raise TypeError(f"the default profile of {target} is refused: {profile}")
    return profile


class Expansion:
    """The working state of one :func:`expand_profile`."""

    def __init__(self, profile: Profile, target: Target, others: Mapping[str, Declaration]) -> None:
        self.profile = profile
        self.target = target
        self.others = others
        self.own = profile.plugins.by_point()
        """What the profile itself has at each point."""
        self.defaults = catalog.defaults(target.version)
        self.points_by_plugin = points_by_plugin(self.defaults, others)
        self.default_plugins = dict(self.defaults.default_plugins(target))
        """The plugins that the target enables by default, and their weights."""
        self.multi_point = merged_multi_point(self.own["multiPoint"], self.default_plugins.items())
        self.problems: list[Problem] = []

    @property
    def needed(self) -> frozenset[str]:
        """Every plugin that is enabled anywhere. Upstream builds these even if no point is left to them."""
        own = {plugin.name for point in self.defaults.points for plugin in self.own[point].enabled}
        return frozenset(own | {plugin.name for plugin in self.multi_point})

    def result(self) -> EffectiveProfile | Problems:
        """Return the expanded profile, or all problems. Points are expanded only when every name exists."""
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
        """Add a problem."""
        self.problems.append(Problem(path, message))

    def check_names(self) -> None:
        """Refuse points and plugins that do not exist, plugins at points that they do not have, and repetitions."""
        for point in self.profile.plugins.named_points:
            if point not in self.defaults.points:
                self.refuse(f"plugins.{point}", f"{self.target} has no such extension point{since(point)}")
                continue
            names = [plugin.name for plugin in self.own[point].enabled]
            for index, name in enumerate(names):
                self.check_name(name, f"plugins.{point}.enabled[{index}]", point)
            for index, name in enumerate(names):
                if name in names[:index]:
                    message = f"{name} is enabled here already, by entry {names.index(name)}"
                    self.refuse(f"plugins.{point}.enabled[{index}]", message)
        for index, plugin in enumerate(self.profile.plugins.multi_point.enabled):
            self.check_name(plugin.name, f"plugins.multiPoint.enabled[{index}]", None)
        self.check_multi_point()

    def check_name(self, name: str, path: str, point: str | None) -> None:
        """Refuse the plugin called ``name`` at ``path`` if it does not exist, or has no ``point``."""
        points = self.points_by_plugin.get(name)
        if points is None:
            self.refuse(f"{path}.name", unknown_plugin_message(name, self.target))
        elif point is not None and point not in points:
            possible = ", ".join(points) or "none that can be enabled"
            self.refuse(path, f"{name} has nothing to do at {point}; it works at {possible}")

    def check_multi_point(self) -> None:
        """Refuse a plugin that is named twice in multiPoint where that brings it to one point twice.

        A name that is there twice is harmless otherwise: one entry replaces the default, the other is overridden.
        """
        names = [plugin.name for plugin in self.profile.plugins.multi_point.enabled]
        if len(set(names)) == len(names):
            return
        for point in self.defaults.points:
            spread = self.multi_point_names_at(point)
            for name in {name for name in spread if spread.count(name) > 1}:
                first = names.index(name)
                path = f"plugins.multiPoint.enabled[{names.index(name, first + 1)}]"
                if all(problem.path != path for problem in self.problems):
                    self.refuse(path, f"{name} is enabled here already, by entry {first}")

    def names_at(self, point: str) -> list[str]:
        """Return the plugins that come to run at ``point``, whether or not the profile is accepted.

        These are, in this order: what overrides multiPoint there, the rest of multiPoint, and the point's others.
        """
        disabled = {plugin.name for plugin in self.own[point].disabled}
        own = list(dict.fromkeys(plugin.name for plugin in self.own[point].enabled))
        if "*" in disabled:
            return own
        everywhere = {plugin.name for plugin in self.multi_point}
        overrides = [name for name in own if name in everywhere and name not in disabled]
        return list(dict.fromkeys((*overrides, *self.multi_point_names_at(point), *own)))

    def multi_point_names_at(self, point: str) -> list[str]:
        """Return the multiPoint plugins that come to ``point``, in order, and that it does not name itself.

        A name that comes twice is a mistake of the profile's author, and stays in the list twice.
        """
        disabled = {plugin.name for plugin in self.own[point].disabled}
        if "*" in disabled:
            return []
        elsewhere = disabled | {plugin.name for plugin in self.own[point].enabled}
        names = [plugin.name for plugin in self.multi_point if plugin.name not in elsewhere]
        return [name for name in names if point in self.points_by_plugin.get(name, ())]

    def expand(self, point: str) -> tuple[EnabledPlugin, ...]:
        """Return the plugins at ``point``, in order and with their weights where these count."""
        names = self.names_at(point)
        if point not in WEIGHED:
            return tuple(EnabledPlugin(name) for name in names)
        by_name = self.weights_at(point)
        if isinstance(by_name, str):
            path, weight = next(
                (f"plugins.{place}.enabled[{index}]", plugin.weight or 0)
                for place in (point, "multiPoint")
                for index, plugin in enumerate(self.own[place].enabled)
                if plugin.name == by_name
            )
            message = f"{weight} makes kube-scheduler refuse the weights after it; write 1 or more for {by_name}"
            self.refuse(f"{path}.weight", message)
            return ()
        return tuple(EnabledPlugin(name, by_name[name]) for name in names)

    def weights_at(self, point: str) -> Mapping[str, int] | str:
        """Return the weight of every plugin that has ``point``, or the one that makes upstream refuse those after it.

        Upstream's check in getScoreWeights is against an overflow of the total, and overflows itself: after a total
        below zero it refuses any further plugin.
        """
        by_name: dict[str, int] = {}
        total, below_zero = 0, ""
        own = (EnabledPlugin(plugin.name, plugin.weight or 0) for plugin in self.own[point].enabled)
        for plugin in (*own, *self.multi_point):
            if plugin.name in by_name or point not in self.points_by_plugin.get(plugin.name, ()):
                continue
            weight = plugin.weight or 1
            room = (_MAX_TOTAL - total + 2**63) % 2**64 - 2**63  # as an int64, which wraps around
            if weight * _MAX_SCORE > room:
                return below_zero
            by_name[plugin.name] = weight
            total += weight * _MAX_SCORE
            below_zero = below_zero or (plugin.name if total < 0 else "")
        return by_name

    def check_counts(self, points: Mapping[str, tuple[EnabledPlugin, ...]]) -> None:
        """Refuse points with too many plugins, or too few."""
        sorting = [plugin.name for plugin in points["queueSort"]]
        if len(sorting) != 1:
            names = ", ".join(sorting) or "none"
            self.refuse("plugins.queueSort", f"exactly one plugin must sort the queue; enabled is {names}")
        if not points["bind"]:
            self.refuse("plugins.bind", "no plugin is left that binds; enable DefaultBinder or another one")
        if len(points.get("placementGenerate", ())) > 1:
            self.refuse("plugins.placementGenerate", "at most one plugin can generate placements")

    def read_args(self) -> dict[str, PluginArgs]:
        """Return the arguments of the enabled plugins, with defaults, after a check of every entry of pluginConfig."""
        needed = self.needed
        arguments = Arguments(self.target, self.others)
        for index, entry in enumerate(self.profile.plugin_config):
            if entry.name in catalog.REFUSED_ANYWHERE:
                self.refuse(f"pluginConfig[{index}].name", unknown_plugin_message(entry.name, self.target))
            else:
                arguments.read(entry.name, entry.args, f"pluginConfig[{index}].args", entry.name in needed)
        complete = arguments.complete(needed)
        self.problems.extend(arguments.problems)
        if not self.problems:
            for name in self.without_default_args(needed):
                point = next(
                    point
                    for point in self.defaults.without_default_args
                    if any(plugin.name == name for plugin in self.own[point].enabled)
                )
                message = f"{self.target} builds {name} without arguments when only {point} enables it, and refuses it"
                self.refuse(f"plugins.{point}", f"{message}; give it an entry in pluginConfig")
        return complete

    def without_default_args(self, needed: Iterable[str]) -> list[str]:
        """Return the plugins to which upstream forgets to give their default arguments."""
        configured = {entry.name for entry in self.profile.plugin_config}
        named = {plugin.name for plugin in self.multi_point}
        for point in self.defaults.points:
            if point not in self.defaults.without_default_args:
                named.update(plugin.name for plugin in self.own[point].enabled)
        return sorted(name for name in needed if name in catalog.IN_TREE_ARGS and name not in configured | named)


def merged_multi_point(custom: PluginSet, defaults: Iterable[tuple[str, int]]) -> tuple[EnabledPlugin, ...]:
    """Return the defaults with the profile's multiPoint laid over them: replaced in place, then the new ones.

    Of two entries with the same name the later one replaces the default and the earlier one is added.
    """
    disabled = {plugin.name for plugin in custom.disabled}
    last = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    own = [EnabledPlugin(plugin.name, plugin.weight or 0) for plugin in custom.enabled]
    remaining = [] if "*" in disabled else [(name, weight) for name, weight in defaults if name not in disabled]
    replaced = {last[name] for name, _ in remaining if name in last}
    merged = [own[last[name]] if name in last else EnabledPlugin(name, weight) for name, weight in remaining]
    return (*merged, *(plugin for index, plugin in enumerate(own) if index not in replaced))
