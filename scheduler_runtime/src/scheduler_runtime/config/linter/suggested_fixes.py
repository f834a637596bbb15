"""What to change so that a plugin runs at some points, or no longer runs there, whatever the reason is.

A plugin can be missing because a line names it, at the point or at multiPoint, because of an asterisk, or because
nobody enabled it. Each reason has its own remedy; which one helps, and breaks nothing, is found by trying.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from pydantic.alias_generators import to_snake

from scheduler_runtime.config.linter import point_pairs as pairs
from scheduler_runtime.config.linter.inputs import ProfileInput, names
from scheduler_runtime.config.merging import WEIGHED
from scheduler_runtime.config.models import PluginEntry, Plugins, PluginSet

MULTI_POINT = "multiPoint"


@dataclass(frozen=True, slots=True)
class FixLine:
    """An entry of a list of plugins."""

    point: str
    field: Literal["enabled", "disabled"]
    name: str
    weight: int | None = None

    def __str__(self) -> str:
        return f"{{name: {self.name}}}" if self.weight is None else f"{{name: {self.name}, weight: {self.weight}}}"


@dataclass(frozen=True, slots=True)
class Fix:
    """Lines to remove from a profile's plugins and lines to add to them. As text it is what an author is told."""

    removed: tuple[FixLine, ...] = ()
    added: tuple[FixLine, ...] = ()

    def __add__(self, other: Fix) -> Fix:
        return Fix((*self.removed, *other.removed), (*self.added, *other.added))

    def __str__(self) -> str:
        removals = [
            f"remove {', '.join(map(str, lines))} from {point}.{field}"
            for (point, field), lines in _grouped(self.removed).items()
        ]
        points = dict.fromkeys(line.point for line in self.added)
        additions = ", ".join(f"{point}: {{{', '.join(self._lists(point))}}}" for point in points)
        return " and ".join((*removals, additions) if additions else removals)

    def _lists(self, point: str) -> Iterator[str]:
        """What is added at ``point``, as YAML."""
        for (where, field), lines in _grouped(self.added).items():
            if where == point:
                yield f"{field}: [{', '.join(map(str, lines))}]"

    def applied(self, written: ProfileInput) -> ProfileInput:
        """``written`` as it is once it was mended."""
        plugins = written.profile.plugins
        for line in self.removed:
            plugins = _with(plugins, line.point, _without(plugins.at(line.point), line))
        for line in self.added:
            plugins = _with(plugins, line.point, _having(plugins.at(line.point), line))
        return ProfileInput(written.profile.model_copy(update={"plugins": plugins}), written.whole)


def _grouped(lines: Iterable[FixLine]) -> dict[tuple[str, str], list[FixLine]]:
    found: dict[tuple[str, str], list[FixLine]] = {}
    for line in lines:
        found.setdefault((line.point, line.field), []).append(line)
    return found


def _with(plugins: Plugins, point: str, changed: PluginSet) -> Plugins:
    return plugins.model_copy(update={to_snake(point): changed})


def _without(found: PluginSet, line: FixLine) -> PluginSet:
    if line.field == "enabled":
        return found.model_copy(update={"enabled": tuple(each for each in found.enabled if each.name != line.name)})
    return found.model_copy(update={"disabled": tuple(each for each in found.disabled if each.name != line.name)})


def _having(found: PluginSet, line: FixLine) -> PluginSet:
    if line.field == "disabled":
        return found.model_copy(update={"disabled": (*found.disabled, PluginEntry(name=line.name))})
    entry = PluginEntry(name=line.name, weight=line.weight)
    return found.model_copy(update={"enabled": (*_without(found, line).enabled, entry)})


def enabling(written: ProfileInput, plugin: str, points: Collection[str]) -> Fix | None:
    """The least that makes ``plugin`` run at ``points``, and where else it has to for that; None when nothing does."""
    wanted = pairs.with_needed(plugin, points, written.points(plugin))
    for mend in _ways(written, plugin, wanted):
        after = mend.applied(written)
        if all(plugin in after.runs(point) for point in wanted) and not _breaks(written, after):
            return mend
    return None


def enabling_all(written: ProfileInput, plugins: Iterable[str], points: Collection[str]) -> Fix:
    """What makes each of ``plugins`` run at those of ``points`` that it has."""
    mends = (enabling(written, plugin, set(points) & set(written.points(plugin))) for plugin in plugins)
    return reduce(Fix.__add__, (mend for mend in mends if mend is not None), Fix())


def _ways(written: ProfileInput, plugin: str, wanted: Collection[str]) -> Iterator[Fix]:
    """What could help, the smallest change first."""
    here = tuple(_naming(written, plugin, wanted))
    everywhere = tuple(_naming(written, plugin, (MULTI_POINT,)))
    for removed in (everywhere, here, (*everywhere, *here)):
        if removed:
            yield Fix(removed)
    weight = _default_weight(written, plugin)
    if plugin in written.default_plugins or set(wanted) == set(written.points(plugin)):
        for removed in ((), here):
            yield Fix(removed, (FixLine(MULTI_POINT, "enabled", plugin, weight),))
    for removed in ((), here):
        freed = Fix(removed).applied(written)
        missing = [point for point in wanted if plugin not in freed.runs(point)]
        weights = {point: (weight or 1) if point in WEIGHED else None for point in missing}
        yield Fix(removed, tuple(FixLine(point, "enabled", plugin, weights[point]) for point in missing))


def _naming(written: ProfileInput, plugin: str, points: Iterable[str]) -> Iterator[FixLine]:
    """The lines that disable ``plugin`` by its name."""
    for point in points:
        if plugin in names(written.profile.plugins.at(point).disabled):
            yield FixLine(point, "disabled", plugin)


def _default_weight(written: ProfileInput, plugin: str) -> int | None:
    """The weight to write so that ``plugin`` counts as much as by default; None when it need not be written."""
    weight = written.default_plugins.get(plugin, 0)
    return weight if weight > 1 else None


def disabling(written: ProfileInput, plugin: str, points: Collection[str]) -> Fix | None:
    """What takes ``plugin`` from ``points``, and from where it cannot run without them; None when nothing does."""
    unwanted = pairs.with_needing(plugin, points, written.points(plugin))
    mend = without(written, [plugin], unwanted)
    after = mend.applied(written)
    gone = all(plugin not in after.runs(point) for point in unwanted)
    return mend if gone and not _breaks(written, after) else None


def without(written: ProfileInput, plugins: Iterable[str], points: Collection[str]) -> Fix:
    """What takes ``plugins`` from ``points``, whatever becomes of the rest."""
    running = [(point, plugin) for plugin in plugins for point in points if plugin in written.runs(point)]
    own = [(point, plugin) for point, plugin in running if plugin in names(written.profile.plugins.at(point).enabled)]
    mend = Fix(tuple(FixLine(point, "enabled", plugin) for point, plugin in own))
    freed = mend.applied(written)
    left = [(point, plugin) for point, plugin in running if plugin in freed.runs(point)]
    return replace(mend, added=tuple(FixLine(point, "disabled", plugin) for point, plugin in left))


def _breaks(before: ProfileInput, after: ProfileInput) -> bool:
    """Whether ``after`` is refused, or some plugin runs at one of two points that go together, unlike ``before``."""
    was, becomes = before.meaning, after.meaning
    if was is None:
        return False  # what else is wrong is not known
    return (
        becomes is None or not pairs.halves(becomes) <= pairs.halves(was) or _left_behind(after) > _left_behind(before)
    )


def _left_behind(written: ProfileInput) -> set[str]:
    """The binders that come after DefaultBinder and never get a pod."""
    binders = written.runs("bind")
    return set(binders[binders.index("DefaultBinder") + 1 :]) if "DefaultBinder" in binders else set()


def either(*mends: Fix | None) -> str:
    """The text of the ``mends`` that there are, any of which helps."""
    return ", or ".join(str(mend) for mend in mends if mend is not None and mend != Fix())
