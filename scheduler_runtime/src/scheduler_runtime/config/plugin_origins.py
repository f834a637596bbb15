"""Why each plugin runs where it runs: the default of the version, or the entry of the profile that says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config.engines import Engine, missing_plugins, python_only_plugins
from scheduler_runtime.config.expansion import EffectiveProfile, EnabledPlugin, default_profile
from scheduler_runtime.config.models import Profile

NOT_YET = "not in Berth's scheduler yet"
NOT_IN_KUBE_SCHEDULER = "in Berth's scheduler only"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the presence of a plugin at a point, or its absence, comes from."""

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
    """Why the engine does not have it although it is enabled; empty when it has it."""

    def sentence(self, target: Target, prefix: str = "") -> str:
        """Why, in a few words, for a profile that stands at ``prefix`` in what its author wrote."""
        why = self._why(target, prefix)
        return f"{why}; {self.missing}" if self.missing else why

    def _why(self, target: Target, prefix: str) -> str:
        if not self.path:
            gate = f" with {self.gate}" if self.gate else ""
            return f"default of {target.version.major}.{target.version.minor}{gate}"
        place = f"{prefix}.{self.path}" if prefix else self.path
        if not self.runs:
            return f"taken away by {place}"
        if self.default_weight is None:
            return place
        reset = self.default_weight and self.weight != self.default_weight
        return f"{place} replaces the default{f', which has weight {self.default_weight}' if reset else ''}"


def origins(
    profile: Profile,
    found: EffectiveProfile,
    target: Target,
    engine: Engine = "KubeScheduler",
    declared: Mapping[str, Declaration] = MappingProxyType({}),
) -> Mapping[str, tuple[Origin, ...]]:
    """Why each plugin of ``found``, what ``profile`` means for ``target``, is there, and why each default is not.

    Those that are enabled come first, in the order in which they run. ``declared`` are the plugins that do not come
    with the ``engine``.
    """
    defaults, gates = _defaults(target), _gates(target)
    missing = {
        **dict.fromkeys(missing_plugins(engine, found.names, declared), NOT_YET),
        **dict.fromkeys(python_only_plugins(engine, found.names, declared), NOT_IN_KUBE_SCHEDULER),
    }
    return MappingProxyType(
        {
            point: (
                *(_present(profile, point, plugin, defaults.get(point, {}), gates, missing) for plugin in plugins),
                *_absent(profile, point, plugins, defaults.get(point, {})),
            )
            for point, plugins in found.points.items()
        }
    )


def _defaults(target: Target) -> dict[str, dict[str, int]]:
    """The weight of each default plugin, by point."""
    points = default_profile(target).points
    return {point: {plugin.name: plugin.weight for plugin in plugins} for point, plugins in points.items()}


def _gates(target: Target) -> dict[str, str]:
    """The default plugins that the version has only because a feature gate was turned on, with that gate."""
    plain = Target(target.version)
    gated = catalog.defaults(target.version).gated
    return {each.name: each.gate for each in gated if target.enabled(each.gate) and not plain.enabled(each.gate)}


def _present(
    profile: Profile,
    point: str,
    plugin: EnabledPlugin,
    defaults: Mapping[str, int],
    gates: Mapping[str, str],
    missing: Mapping[str, str],
) -> Origin:
    """A plugin that is enabled. An entry at its point is stronger than one at multiPoint, and both than a default."""
    path = _enabling(profile, point, plugin.name) or _enabling(profile, "multiPoint", plugin.name)
    return Origin(
        plugin.name,
        plugin.weight,
        path,
        defaults.get(plugin.name),
        gate=gates.get(plugin.name, ""),
        missing=missing.get(plugin.name, ""),
    )


def _absent(
    profile: Profile, point: str, plugins: tuple[EnabledPlugin, ...], defaults: Mapping[str, int]
) -> list[Origin]:
    running = {plugin.name for plugin in plugins}
    return [
        Origin(
            name,
            0,
            _disabling(profile, point, name) or _disabling(profile, "multiPoint", name),
            weight,
            runs=False,
        )
        for name, weight in defaults.items()
        if name not in running
    ]


def _enabling(profile: Profile, point: str, name: str) -> str:
    for index, entry in enumerate(profile.plugins.at(point).enabled):
        if entry.name == name:
            return f"plugins.{point}.enabled[{index}]"
    return ""


def _disabling(profile: Profile, point: str, name: str) -> str:
    for index, entry in enumerate(profile.plugins.at(point).disabled):
        if entry.name in (name, "*"):
            return f"plugins.{point}.disabled[{index}]"
    return ""
