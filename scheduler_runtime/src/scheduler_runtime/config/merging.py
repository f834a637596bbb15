"""Upstream's merging of a profile with the defaults, on plain data.

defaults ─► with the profile's multiPoint ─► at each point: its overrides, the rest of multiPoint, its own
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scheduler_runtime.config.models import PluginSet

_WRAPS = 2**64
_MAX_TOTAL = 2**63 - 1
_MAX_SCORE = 100
WEIGHED = ("score", "placementScore")
"""The points at which a weight counts."""
Extends = Callable[[str], Sequence[str] | None]
"""The points that the plugin of a name has; None when there is no such plugin."""


@dataclass(frozen=True, slots=True)
class EnabledPlugin:
    """A plugin at one point. The weight counts at score and is 0 elsewhere."""

    name: str
    weight: int = 0


def merged_multi_point(custom: PluginSet, defaults: Iterable[tuple[str, int]]) -> tuple[EnabledPlugin, ...]:
    """The defaults with the profile's multiPoint laid over them: replaced in place, then the new ones.

    Of two entries with the same name the later one replaces and the earlier one is added.
    """
    disabled = {plugin.name for plugin in custom.disabled}
    last = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    own = [EnabledPlugin(plugin.name, plugin.weight or 0) for plugin in custom.enabled]
    kept = [] if "*" in disabled else [(name, weight) for name, weight in defaults if name not in disabled]
    replaced = {last[name] for name, _ in kept if name in last}
    merged = [own[last[name]] if name in last else EnabledPlugin(name, weight) for name, weight in kept]
    return (*merged, *(plugin for index, plugin in enumerate(own) if index not in replaced))


def spread(point: str, custom: PluginSet, multi_point: Iterable[EnabledPlugin], extends: Extends) -> list[str]:
    """The multiPoint plugins that come to ``point``, in order. A name that comes twice is a mistake of the author's."""
    disabled = {plugin.name for plugin in custom.disabled}
    if "*" in disabled:
        return []
    elsewhere = disabled | {plugin.name for plugin in custom.enabled}
    names = (plugin.name for plugin in multi_point if plugin.name not in elsewhere)
    return [name for name in names if point in (extends(name) or ())]


def at_point(point: str, custom: PluginSet, multi_point: Sequence[EnabledPlugin], extends: Extends) -> list[str]:
    """The plugins at ``point``: overrides of multiPoint, the rest of multiPoint, then the point's others."""
    disabled = {plugin.name for plugin in custom.disabled}
    own = list(dict.fromkeys(plugin.name for plugin in custom.enabled))
    rest = spread(point, custom, multi_point, extends)
    if "*" in disabled:
        return own
    everywhere = {plugin.name for plugin in multi_point}
    overrides = [name for name in own if name in everywhere and name not in disabled]
    return list(dict.fromkeys((*overrides, *rest, *own)))


def weights(
    point: str, custom: PluginSet, multi_point: Sequence[EnabledPlugin], extends: Extends
) -> Mapping[str, int] | str:
    """The weight of every plugin that has ``point``, or whose weight makes upstream's check refuse those after it.

    That check is against overflow, and overflows itself: after a total below zero it refuses any further plugin.
    """
    found: dict[str, int] = {}
    total, below = 0, ""
    for plugin in _in_order(custom, multi_point):
        if plugin.name in found or point not in (extends(plugin.name) or ()):
            continue
        weight = plugin.weight or 1
        if weight * _MAX_SCORE > _wrapped(_MAX_TOTAL - total):
            return below
        found[plugin.name] = weight
        total += weight * _MAX_SCORE
        below = below or (plugin.name if total < 0 else "")
    return found


def _in_order(custom: PluginSet, multi_point: Iterable[EnabledPlugin]) -> Iterator[EnabledPlugin]:
    yield from (EnabledPlugin(plugin.name, plugin.weight or 0) for plugin in custom.enabled)
    yield from multi_point


def _wrapped(number: int) -> int:
    """``number`` as an int64."""
    return (number + _WRAPS // 2) % _WRAPS - _WRAPS // 2
