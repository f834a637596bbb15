"""The reason why each plugin runs where it runs: a default of the version, or an entry of the profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config.available_plugins import Engine, missing_plugins, python_only_plugins
from scheduler_runtime.config.expansion import EffectiveProfile, default_profile
from scheduler_runtime.config.models import Profile

NOT_YET = "not in Berth's scheduler yet"
NOT_IN_KUBE_SCHEDULER = "in Berth's scheduler only"


@dataclass(frozen=True, slots=True)
class PluginOrigin:
    """The origin of a plugin's presence at a point, or of its absence."""

    plugin: str
    weight: int
    path: str
    """The entry of the profile that decides it; empty for a default that nothing touches."""
    default_weight: int | None
    """The plugin's weight in the default set of this point; None when it is no default there."""
    runs: bool = True
    gate: str = ""
    """The feature gate without which it would be no default."""
    missing: str = ""
    """The reason why the engine does not have it although it is enabled; empty when the engine has it."""

    def sentence(self, target: Target, prefix: str = "") -> str:
        """Return the origin in a few words, for a profile that stands at ``prefix`` in what its author wrote."""
        why = f"{prefix}.{self.path}" if prefix and self.path else self.path
        if not self.path:
            gate = f" with {self.gate}" if self.gate else ""
            why = f"default of {target.version.major}.{target.version.minor}{gate}"
        elif not self.runs:
            why = f"taken away by {why}"
        elif self.default_weight is not None:
            reset = self.default_weight and self.weight != self.default_weight
            why += f" replaces the default{f', which has weight {self.default_weight}' if reset else ''}"
        return f"{why}; {self.missing}" if self.missing else why


def origins(
    profile: Profile,
    effective: EffectiveProfile,
    target: Target,
    engine: Engine = "KubeScheduler",
    declared: Mapping[str, Declaration] = MappingProxyType({}),
) -> Mapping[str, tuple[PluginOrigin, ...]]:
    """Return for each point why each plugin of ``effective`` is there, and why each default is not.

    ``effective`` is what ``profile`` comes to on the ``target``. The enabled plugins come first, in the order in which
    they run. ``declared`` are the plugins that do not come with the ``engine``.
    """
    plain = Target(target.version)
    # Defaults that the version has only because a feature gate was turned on.
    gates = {
        gated.name: gated.gate
        for gated in catalog.defaults(target.version).gated
        if target.enabled(gated.gate) and not plain.enabled(gated.gate)
    }
    missing = {
        **dict.fromkeys(missing_plugins(engine, effective.names, declared), NOT_YET),
        **dict.fromkeys(python_only_plugins(engine, effective.names, declared), NOT_IN_KUBE_SCHEDULER),
    }
    defaults = default_profile(target).points
    by_point: dict[str, tuple[PluginOrigin, ...]] = {}
    for point, plugins in effective.points.items():
        default_weights = {plugin.name: plugin.weight for plugin in defaults.get(point, ())}
        present = [
            PluginOrigin(
                plugin.name,
                plugin.weight,
                _path(profile, "enabled", point, plugin.name),
                default_weights.get(plugin.name),
                gate=gates.get(plugin.name, ""),
                missing=missing.get(plugin.name, ""),
            )
            for plugin in plugins
        ]
        running = {plugin.name for plugin in plugins}
        absent = [
            PluginOrigin(name, 0, _path(profile, "disabled", point, name), weight, runs=False)
            for name, weight in default_weights.items()
            if name not in running
        ]
        by_point[point] = (*present, *absent)
    return MappingProxyType(by_point)


def _path(profile: Profile, field: Literal["enabled", "disabled"], point: str, name: str) -> str:
    """Return the path of the entry that enables or disables a plugin at ``point``; empty when there is none.

    An entry at the point is stronger than one at multiPoint.
    """
    names = (name,) if field == "enabled" else (name, "*")
    for place in (point, "multiPoint"):
        plugin_set = profile.plugins.at(place)
        for index, entry in enumerate(plugin_set.enabled if field == "enabled" else plugin_set.disabled):
            if entry.name in names:
                return f"plugins.{place}.{field}[{index}]"
    return ""
