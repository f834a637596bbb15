"""A profile and a version to the plugins that run at each point: upstream's merging, as data in and data out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from .. import catalog
from ..catalog import Declaration, DefaultSet, PluginArgs, Target
from .document import API_VERSION, Document, PluginSet, Profile
from .loading import without_nulls
from .problems import Problem, Problems, explain

_MAX_TOTAL_SCORE = 2**63 - 1
_MAX_SCORE = 100
_GONE = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})


@dataclass(frozen=True, slots=True)
class EnabledPlugin:
    """A plugin at one point. The weight counts at score and is 0 elsewhere."""

    name: str
    weight: int = 0


@dataclass(frozen=True, slots=True)
class EffectiveProfile:
    """What a profile means: which plugins run where, in which order, with which weights and arguments."""

    scheduler_name: str
    points: Mapping[str, tuple[EnabledPlugin, ...]]
    args: Mapping[str, PluginArgs]
    percentage_of_nodes_to_score: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every enabled plugin once, in the order in which it first appears."""
        return tuple(dict.fromkeys(plugin.name for plugins in self.points.values() for plugin in plugins))


def effective(
    profile: Profile,
    target: Target,
    others: Mapping[str, Declaration] = MappingProxyType({}),
) -> EffectiveProfile | Problems:
    """Expand ``profile`` as the kube-scheduler that is the ``target`` would.

    ``others`` are the plugins that do not come with this build, by name. Paths are relative to the profile.
    """
    return _Expansion(profile, catalog.defaults(target.version), {**catalog.in_tree(), **others}, target).result()


def effective_profiles(
    document: Document,
    target: Target,
    others: Mapping[str, Declaration] = MappingProxyType({}),
) -> tuple[EffectiveProfile, ...] | Problems:
    """Expand every profile of ``document`` for the Python engine, which has one queue and no extenders yet."""
    found: list[EffectiveProfile] = []
    problems: list[Problem] = []
    for index, profile in enumerate(document.profiles):
        match effective(profile, target, others):
            case Problems() as own:
                problems.extend(problem.below(f"profiles[{index}]") for problem in own)
            case EffectiveProfile() as expanded:
                found.append(expanded)
    if document.extenders:
        problems.append(Problem("extenders", "the Python engine has no extenders yet; leave them out"))
    if not problems:
        problems.extend(_queue_sort_problems(found))
    return Problems(tuple(problems)) if problems else tuple(found)


def _queue_sort_problems(profiles: list[EffectiveProfile]) -> Iterator[Problem]:
    def sorting(profile: EffectiveProfile) -> tuple[str, PluginArgs | None]:
        name = profile.points["queueSort"][0].name
        return name, profile.args.get(name)

    for index, profile in enumerate(profiles):
        if sorting(profile) != sorting(profiles[0]):
            message = f"{sorting(profile)[0]} sorts here, {sorting(profiles[0])[0]} in profiles[0]; "
            message += "all profiles of a process share one queue and must sort it alike, arguments included"
            yield Problem(f"profiles[{index}].plugins.queueSort", message)


class _Expansion:
    """The working state of one :func:`effective`."""

    def __init__(
        self, profile: Profile, defaults: DefaultSet, declared: Mapping[str, Declaration], target: Target
    ) -> None:
        self.profile = profile
        self.defaults = defaults
        self.declared = declared
        self.target = target
        self.problems: list[Problem] = []

    def result(self) -> EffectiveProfile | Problems:
        self.check_names()
        if self.problems:
            self.read_args(())
            return Problems(tuple(self.problems))
        multi_point = self.merged_multi_point()
        points = {point: tuple(self.expand(point, multi_point)) for point in self.defaults.points}
        self.check_counts(points)
        names = dict.fromkeys(plugin.name for plugins in points.values() for plugin in plugins)
        args = self.read_args(names)
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

    def extends(self, name: str) -> tuple[str, ...] | None:
        """The points of the plugin called ``name``; None when there is no such plugin."""
        if name in self.defaults.extends:
            return self.defaults.extends[name]
        declared = self.declared.get(name)
        return tuple(declared.points) if declared else None

    def check_names(self) -> None:
        plugins = self.profile.plugins
        for point in plugins.named_points:
            if point not in self.defaults.points:
                self.refuse(f"plugins.{point}", f"{self.target} has no such extension point")
                continue
            for index, plugin in enumerate(plugins.at(point).enabled):
                self.check_name(plugin.name, f"plugins.{point}.enabled[{index}]", point)
        for index, plugin in enumerate(plugins.multi_point.enabled):
            self.check_name(plugin.name, f"plugins.multiPoint.enabled[{index}]", None)
        for point in (*plugins.named_points, "multiPoint"):
            self.check_repeats(plugins.at(point), f"plugins.{point}")

    def check_repeats(self, plugin_set: PluginSet, path: str) -> None:
        names = [plugin.name for plugin in plugin_set.enabled]
        for index, name in enumerate(names):
            if name in names[:index]:
                self.refuse(f"{path}.enabled[{index}]", f"{name} is enabled here already, by entry {names.index(name)}")

    def check_name(self, name: str, path: str, point: str | None) -> None:
        extends = self.extends(name)
        if extends is None:
            self.refuse(f"{path}.name", unknown(name))
        elif point is not None and point not in extends:
            listed = ", ".join(extends) or "none that can be enabled"
            self.refuse(path, f"{name} has nothing to do at {point}; it works at {listed}")

    def merged_multi_point(self) -> list[EnabledPlugin]:
        """The defaults with the profile's multiPoint laid over them: replaced in place, then the new ones."""
        custom = self.profile.plugins.multi_point
        disabled = {plugin.name for plugin in custom.disabled}
        own = {plugin.name: EnabledPlugin(plugin.name, plugin.weight or 0) for plugin in custom.enabled}
        merged: list[EnabledPlugin] = []
        if "*" not in disabled:
            for name, weight in self.defaults.multi_point:
                if name not in disabled:
                    merged.append(own.pop(name, EnabledPlugin(name, weight)))
        return [*merged, *own.values()]

    def expand(self, point: str, multi_point: Iterable[EnabledPlugin]) -> Iterator[EnabledPlugin]:
        """The plugins at ``point``: overrides of multiPoint, the rest of multiPoint, then the point's others."""
        custom = self.profile.plugins.at(point)
        disabled = {plugin.name for plugin in custom.disabled}
        own = {plugin.name: plugin.weight or 0 for plugin in custom.enabled}
        expanded: dict[str, int] = {}
        if "*" not in disabled:
            expanded = {
                plugin.name: plugin.weight
                for plugin in multi_point
                if plugin.name not in disabled and point in (self.extends(plugin.name) or ())
            }
        overrides = {name: weight for name, weight in own.items() if name in expanded}
        weighed = point in ("score", "placementScore")
        for name, weight in {**overrides, **expanded, **own}.items():
            yield EnabledPlugin(name, (weight or 1) if weighed else 0)

    def check_counts(self, points: Mapping[str, tuple[EnabledPlugin, ...]]) -> None:
        sorting = [plugin.name for plugin in points["queueSort"]]
        if len(sorting) != 1:
            listed = ", ".join(sorting) or "none"
            self.refuse("plugins.queueSort", f"exactly one plugin must sort the queue; enabled is {listed}")
        if not points["bind"]:
            self.refuse("plugins.bind", "no plugin is left that binds; enable DefaultBinder or another one")
        if len(points.get("placementGenerate", ())) > 1:
            self.refuse("plugins.placementGenerate", "at most one plugin can generate placements")
        for index, plugin in enumerate(self.profile.plugins.score.enabled):
            if (plugin.weight or 0) < 0:
                self.refuse(f"plugins.score.enabled[{index}].weight", f"{plugin.weight} must not be negative")
        if sum(plugin.weight for plugin in points["score"]) * _MAX_SCORE > _MAX_TOTAL_SCORE:
            self.refuse("plugins.score", "the weights are so large that scores overflow")

    def read_args(self, enabled: Iterable[str]) -> dict[str, PluginArgs]:
        """The arguments of the ``enabled`` plugins, with defaults, having checked every entry of pluginConfig."""
        found: dict[str, PluginArgs] = {}
        for index, entry in enumerate(self.profile.plugin_config):
            path = f"pluginConfig[{index}]"
            if self.extends(entry.name) is None:
                self.refuse(f"{path}.name", unknown(entry.name))
                continue
            args = self.read_one(entry.name, entry.args, f"{path}.args")
            if args is not None:
                found[entry.name] = args
        for name in enabled:
            model = self.args_model(name)
            if model is not None and name not in found and not self.problems:
                found[name] = model()
        return {name: found[name] for name in enabled if name in found}

    def args_model(self, name: str) -> type[PluginArgs] | None:
        declared = self.declared.get(name)
        return declared.args if declared else catalog.IN_TREE_ARGS.get(name)

    def read_one(self, name: str, written: Mapping[str, Any], path: str) -> PluginArgs | None:
        model = self.args_model(name)
        fields = dict(written)
        if name in self.defaults.extends:
            self.check_header(fields, name, path)
        if model is None:
            if fields:
                self.refuse(path, f"{name} takes no arguments")
            return None
        try:
            return model.model_validate_json(json.dumps(without_nulls(fields)))
        except ValidationError as error:
            self.problems.extend(problem.below(path) for problem in explain(error, model))
            return None

    def check_header(self, fields: dict[str, Any], name: str, path: str) -> None:
        """The apiVersion and kind that in-tree arguments may carry."""
        for key, wanted in (("apiVersion", API_VERSION), ("kind", f"{name}Args")):
            given = fields.pop(key, wanted)
            if given != wanted:
                self.refuse(f"{path}.{key}", f"{given!r} is not {wanted}")


def unknown(name: str) -> str:
    """The sentence about a plugin that does not exist, with the names that were perhaps meant."""
    if name in _GONE:
        return f"{name} was removed from Kubernetes; NodeVolumeLimits does its work"
    near = catalog.nearest(name)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no plugin {name!r}{hint}"
