"""The smallest change that makes a plugin run at some points, or no longer run there.

A plugin can be missing because a line names it, at the point or at multiPoint, because of an asterisk, or because
nobody enabled it. Each reason has its own remedy; which one helps, and breaks nothing, is found by trying.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from pydantic.alias_generators import to_snake

from scheduler_runtime.config.expansion import WEIGHED
from scheduler_runtime.config.linter.inputs import ProfileInput, names
from scheduler_runtime.config.linter.point_pairs import broken_pairs, with_dependent, with_required
from scheduler_runtime.config.models import PluginEntry

MULTI_POINT = "multiPoint"


@dataclass(frozen=True, slots=True)
class FixLine:
    """An entry in a list of plugins, to add or to remove."""

    point: str
    field: Literal["enabled", "disabled"]
    name: str
    weight: int | None = None

    def __str__(self) -> str:
        return f"{{name: {self.name}}}" if self.weight is None else f"{{name: {self.name}, weight: {self.weight}}}"


@dataclass(frozen=True, slots=True)
class Fix:
    """Lines to remove from a profile's plugins and lines to add to them. Its text is the suggestion of a finding."""

    removed: tuple[FixLine, ...] = ()
    added: tuple[FixLine, ...] = ()

    def __add__(self, other: Fix) -> Fix:
        return Fix((*self.removed, *other.removed), (*self.added, *other.added))

    def __str__(self) -> str:
        parts = [
            f"remove {', '.join(map(str, lines))} from {point}.{field}"
            for (point, field), lines in _grouped(self.removed).items()
        ]
        lists: dict[str, list[str]] = {line.point: [] for line in self.added}
        for (point, field), lines in _grouped(self.added).items():
            lists[point].append(f"{field}: [{', '.join(map(str, lines))}]")
        if lists:
            parts.append(", ".join(f"{point}: {{{', '.join(fields)}}}" for point, fields in lists.items()))
        return " and ".join(parts)

    def applied(self, profile: ProfileInput) -> ProfileInput:
        """Return ``profile`` as it is with this fix."""
        plugins = profile.fields.plugins
        removals = ((line, ()) for line in self.removed)
        additions = ((line, (PluginEntry(name=line.name, weight=line.weight),)) for line in self.added)
        for line, new in (*removals, *additions):
            plugin_set = plugins.at(line.point)
            entries = plugin_set.enabled if line.field == "enabled" else plugin_set.disabled
            # A line that is added takes the place of an entry with the same name.
            changed = (*(entry for entry in entries if entry.name != line.name), *new)
            plugin_set = plugin_set.model_copy(update={line.field: changed})
            plugins = plugins.model_copy(update={to_snake(line.point): plugin_set})
        return ProfileInput(profile.fields.model_copy(update={"plugins": plugins}), profile.document)


def _grouped(lines: Iterable[FixLine]) -> dict[tuple[str, str], list[FixLine]]:
    groups: dict[tuple[str, str], list[FixLine]] = {}
    for line in lines:
        groups.setdefault((line.point, line.field), []).append(line)
    return groups


def enabling(profile: ProfileInput, plugin: str, points: Collection[str]) -> Fix | None:
    """Return the least that makes ``plugin`` run at ``points``, and where it also has to run for that.

    None when nothing does that without breaking something else.
    """
    required = with_required(plugin, points, profile.points_of(plugin))
    for fix in _ways_to_enable(profile, plugin, required):
        after = fix.applied(profile)
        if all(plugin in after.plugins_at(point) for point in required) and not _breaks(profile, after):
            return fix
    return None


def enabling_all(profile: ProfileInput, plugins: Iterable[str], points: Collection[str]) -> Fix:
    """Return what makes each of ``plugins`` run at those of ``points`` that it has."""
    fixes = (enabling(profile, plugin, set(points) & set(profile.points_of(plugin))) for plugin in plugins)
    return reduce(Fix.__add__, (fix for fix in fixes if fix is not None), Fix())


def _ways_to_enable(profile: ProfileInput, plugin: str, points: Collection[str]) -> Iterator[Fix]:
    """Yield the changes that could help, the smallest first."""
    here = tuple(_lines_that_disable(profile, plugin, points))
    everywhere = tuple(_lines_that_disable(profile, plugin, (MULTI_POINT,)))
    for removed in (everywhere, here, (*everywhere, *here)):
        if removed:
            yield Fix(removed)
    default_weight = profile.default_plugins.get(plugin, 0)
    weight = default_weight if default_weight > 1 else None  # 1 need not be written
    if plugin in profile.default_plugins or set(points) == set(profile.points_of(plugin)):
        for removed in ((), here):
            yield Fix(removed, (FixLine(MULTI_POINT, "enabled", plugin, weight),))
    for removed in ((), here):
        after = Fix(removed).applied(profile)
        missing = [point for point in points if plugin not in after.plugins_at(point)]
        weights = {point: (weight or 1) if point in WEIGHED else None for point in missing}
        yield Fix(removed, tuple(FixLine(point, "enabled", plugin, weights[point]) for point in missing))


def _lines_that_disable(profile: ProfileInput, plugin: str, points: Iterable[str]) -> Iterator[FixLine]:
    """Yield the lines at ``points`` that disable ``plugin`` by its name."""
    for point in points:
        if plugin in names(profile.own[point].disabled):
            yield FixLine(point, "disabled", plugin)


def disabling(profile: ProfileInput, plugin: str, points: Collection[str]) -> Fix | None:
    """Return what removes ``plugin`` from ``points``, and from where it cannot run without them.

    None when nothing does that without breaking something else.
    """
    dependent = with_dependent(plugin, points, profile.points_of(plugin))
    fix = without(profile, [plugin], dependent)
    after = fix.applied(profile)
    still_runs = any(plugin in after.plugins_at(point) for point in dependent)
    return None if still_runs or _breaks(profile, after) else fix


def without(profile: ProfileInput, plugins: Iterable[str], points: Collection[str]) -> Fix:
    """Return what removes ``plugins`` from ``points``, whatever becomes of the rest.

    An entry of the profile is removed; a plugin that still runs after that, as a default or by multiPoint, is disabled.
    """
    running = [(point, plugin) for plugin in plugins for point in points if plugin in profile.plugins_at(point)]
    enabled = {point: names(profile.own[point].enabled) for point in points}
    fix = Fix(tuple(FixLine(point, "enabled", plugin) for point, plugin in running if plugin in enabled[point]))
    after = fix.applied(profile)
    rest = [(point, plugin) for point, plugin in running if plugin in after.plugins_at(point)]
    return replace(fix, added=tuple(FixLine(point, "disabled", plugin) for point, plugin in rest))


def _breaks(before: ProfileInput, after: ProfileInput) -> bool:
    """Return True if ``after`` has an error that ``before`` has not.

    Errors are: kube-scheduler refuses the profile, a plugin runs at one of two points that go together, or a binder
    comes after DefaultBinder and never gets a pod.
    """
    old, new = before.effective, after.effective
    if old is None:
        return False  # refused already, for a reason that is not known here
    if new is None or not set(broken_pairs(new)) <= set(broken_pairs(old)):
        return True
    return _unreachable_binders(after) > _unreachable_binders(before)


def _unreachable_binders(profile: ProfileInput) -> set[str]:
    binders = profile.plugins_at("bind")
    return set(binders[binders.index("DefaultBinder") + 1 :]) if "DefaultBinder" in binders else set()


def either(*ways: Fix | str | None) -> str:
    """Return the text of the ``ways`` that there are, any of which helps; empty when there is none."""
    return ", or ".join(text for way in ways if way is not None and (text := str(way)))
