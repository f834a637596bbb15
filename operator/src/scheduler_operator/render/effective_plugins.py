"""Effective plugins of a profile: the permissions they need, and a summary of their difference from the defaults."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from scheduler_operator.resources.user_object import truncate
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Declaration, Rule, Target, Version
from scheduler_runtime.config import EffectiveProfile

SUMMARY_LENGTH = 1024


def required_rules(effective: EffectiveProfile, declared: Mapping[str, Declaration]) -> tuple[Rule, ...]:
    """Return the permissions of the enabled plugins, as far as their declarations exist."""
    declarations = {**catalog.in_tree(), **declared}
    plugins = [name for name in effective.names if name in declarations]
    return tuple(rule for name in plugins for rule in declarations[name].rules_for(effective.args.get(name)))


def unused_arguments(plugin: str, args: Mapping[str, Any], declared: Mapping[str, Declaration]) -> str:
    """Return why ``args`` of a known plugin have no effect; empty when the plugin takes arguments, or has none."""
    declaration = declared.get(plugin)
    takes_arguments = declaration.args is not None if declaration else plugin in catalog.IN_TREE_ARGS
    return "" if takes_arguments or not set(args) - _HEADER else f"{plugin} takes no arguments"


_HEADER = frozenset({"apiVersion", "kind"})
"""Fields that the arguments of upstream's plugins may have beside their own."""


def summarize(effective: EffectiveProfile, target: Target) -> str:
    """Summarize how the plugins differ from the default ones: ``+Added -Removed -Partly(filter) Weighed=5``."""
    # The defaults of the profile's own version and gates: what is new in a version is no difference.
    default = _default_points(target.version, tuple(sorted(target.feature_gates.items())))
    actual = _points_by_plugin(effective)
    words: list[str] = []
    for name in {**actual, **default}:
        before, now = default.get(name, {}), actual.get(name, {})
        weight = now.get("score", 0)
        if not now:
            words.append(f"-{name}")
        elif not before:
            words.append(f"+{name}={weight}" if weight > 1 else f"+{name}")
        else:
            if removed := [point for point in before if point not in now]:
                words.append(f"-{name}({','.join(removed)})")
            if added := [point for point in now if point not in before]:
                words.append(f"+{name}({','.join(added)})")
            if weight and before.get("score", weight) != weight:
                words.append(f"{name}={weight}")
    return truncate(" ".join(words) or "default", SUMMARY_LENGTH)


@lru_cache(maxsize=16)
def _default_points(version: Version, gates: tuple[tuple[str, bool], ...]) -> dict[str, dict[str, int]]:
    """Return the extension points of the default plugins."""
    return _points_by_plugin(config.default_profile(Target(version, dict(gates))))


def _points_by_plugin(effective: EffectiveProfile) -> dict[str, dict[str, int]]:
    """Return the extension points of each plugin, and its weight there."""
    points_by_plugin: dict[str, dict[str, int]] = {}
    for point, plugins in effective.points.items():
        for plugin in plugins:
            points_by_plugin.setdefault(plugin.name, {})[point] = plugin.weight
    return points_by_plugin
