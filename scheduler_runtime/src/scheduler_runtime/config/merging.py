"""Upstream's merging of a profile with the defaults, on plain data.

    defaults ─► with the profile's multiPoint ─► at each point: its overrides, the rest of multiPoint, its own

The first step is apis/config/v1/default_plugins.go, mergePluginSet; the second is expandMultiPointPlugins in
framework/runtime/framework.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scheduler_runtime.config.models import PluginSet

_MAX_TOTAL = 2**63 - 1
_MAX_SCORE = 100
WEIGHED = ("score", "placementScore")
"""The points at which a weight counts."""
Extends = Callable[[str], Sequence[str] | None]
"""Returns the points of the plugin of a name; None when there is no such plugin."""


@dataclass(frozen=True, slots=True)
class EnabledPlugin:
    """A plugin at one point. The weight counts at score and is 0 elsewhere."""

    name: str
    weight: int = 0


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


def spread_multi_point(
    point: str, custom: PluginSet, multi_point: Iterable[EnabledPlugin], extends: Extends
) -> list[str]:
    """Return the multiPoint plugins that come to ``point``, in order.

    A name that comes twice is a mistake of the profile's author, and stays in the list twice.
    """
    disabled = {plugin.name for plugin in custom.disabled}
    if "*" in disabled:
        return []
    elsewhere = disabled | {plugin.name for plugin in custom.enabled}
    names = (plugin.name for plugin in multi_point if plugin.name not in elsewhere)
    return [name for name in names if point in (extends(name) or ())]


def at_point(point: str, custom: PluginSet, multi_point: Sequence[EnabledPlugin], extends: Extends) -> list[str]:
    """Return the plugins at ``point``: overrides of multiPoint, the rest of multiPoint, then the point's others."""
    disabled = {plugin.name for plugin in custom.disabled}
    own = list(dict.fromkeys(plugin.name for plugin in custom.enabled))
    rest = spread_multi_point(point, custom, multi_point, extends)
    if "*" in disabled:
        return own
    everywhere = {plugin.name for plugin in multi_point}
    overrides = [name for name in own if name in everywhere and name not in disabled]
    return list(dict.fromkeys((*overrides, *rest, *own)))


def weights(
    point: str, custom: PluginSet, multi_point: Sequence[EnabledPlugin], extends: Extends
) -> Mapping[str, int] | str:
    """Return the weight of every plugin that has ``point``, or the plugin that makes upstream refuse those after it.

    Upstream's check in getScoreWeights is against an overflow of the total, and overflows itself: after a total below
    zero it refuses any further plugin.
    """
    by_name: dict[str, int] = {}
    total, below_zero = 0, ""
    own = (EnabledPlugin(plugin.name, plugin.weight or 0) for plugin in custom.enabled)
    for plugin in (*own, *multi_point):
        if plugin.name in by_name or point not in (extends(plugin.name) or ()):
            continue
        weight = plugin.weight or 1
        room = (_MAX_TOTAL - total + 2**63) % 2**64 - 2**63  # as an int64, which wraps around
        if weight * _MAX_SCORE > room:
            return below_zero
        by_name[plugin.name] = weight
        total += weight * _MAX_SCORE
        below_zero = below_zero or (plugin.name if total < 0 else "")
    return by_name
