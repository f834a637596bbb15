"""Effective differences between two processes: plugins, order, weights, arguments, and fields of the process."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from scheduler_operator.cli.processes import SchedulerDocument
from scheduler_runtime.catalog.masking import masked_field
from scheduler_runtime.config import EffectiveProfile

Leaves = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. None is the value of something that does not exist on that side."""

    profile: str
    """The profile concerned; empty for the process."""
    where: str
    before: Any
    after: Any


def differences(before: SchedulerDocument, after: SchedulerDocument) -> Iterator[Difference]:
    """Yield all differences, those of the process first and then profile by profile.

    Profiles with equal names are compared; with one profile on either side, these two whatever their names.
    """
    yield from _leaf_differences("", "", _process_leaves(before), _process_leaves(after))
    old_profiles = {part.effective.scheduler_name: part.effective for part in before.parts}
    new_profiles = {part.effective.scheduler_name: part.effective for part in after.parts}
    if len(before.parts) == len(after.parts) == 1:
        yield from _profile_differences(before.parts[0].effective, after.parts[0].effective)
        return
    for name in dict.fromkeys((*old_profiles, *new_profiles)):
        old, new = old_profiles.get(name), new_profiles.get(name)
        if old and new:
            yield from _profile_differences(old, new)
        else:
            yield Difference(name, "the profile", "is there" if old else None, "is there" if new else None)


def _profile_differences(old: EffectiveProfile, new: EffectiveProfile) -> Iterator[Difference]:
    name = new.scheduler_name
    if old.scheduler_name != name:
        yield Difference(name, "schedulerName", old.scheduler_name, name)
    percentages = old.percentage_of_nodes_to_score, new.percentage_of_nodes_to_score
    if percentages[0] != percentages[1]:
        yield Difference(name, "percentageOfNodesToScore", *percentages)
    for point in dict.fromkeys((*old.points, *new.points)):
        before, after = (
            {
                plugin.name: f"weight {plugin.weight}" if plugin.weight else "on"
                for plugin in profile.points.get(point, ())
            }
            for profile in (old, new)
        )
        for plugin in dict.fromkeys((*before, *after)):
            if before.get(plugin) != after.get(plugin):
                yield Difference(name, f"{point}: {plugin}", before.get(plugin), after.get(plugin))
        # The order counts only among the plugins of both sides: the others are differences already.
        common = [plugin for plugin in before if plugin in after], [plugin for plugin in after if plugin in before]
        if moved := [pair for pair in zip_longest(*common) if pair[0] != pair[1]]:
            yield Difference(name, f"{point}: order", *(", ".join(plugins) for plugins in zip(*moved, strict=True)))
    for plugin in dict.fromkeys((*old.names, *new.names)):
        yield from _leaf_differences(name, f"{plugin} args: ", _args_leaves(old, plugin), _args_leaves(new, plugin))


def _args_leaves(profile: EffectiveProfile, plugin: str) -> Leaves:
    args = profile.args.get(plugin)
    return dict(_leaves("", args.model_dump(by_alias=True, mode="json"))) if args else {}


def _process_leaves(process: SchedulerDocument) -> Leaves:
    fields = process.defaulted()
    return dict(_leaves("", {key: fields[key] for key in fields if key not in ("profiles", "apiVersion", "kind")}))


def _leaf_differences(profile: str, prefix: str, before: Leaves, after: Leaves) -> Iterator[Difference]:
    for path in dict.fromkeys((*before, *after)):
        if before.get(path) != after.get(path):
            field = path.rpartition(".")[2]
            values = (masked_field(field, leaves.get(path)) for leaves in (before, after))
            yield Difference(profile, f"{prefix}{path}", *values)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the path and value of everything in ``value`` that is neither a mapping nor a list."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _leaves(f"{path}.{key}" if path else str(key), inner)
        case list():
            for index, inner in enumerate(value):
                yield from _leaves(f"{path}[{index}]", inner)
        case _:
            yield path, value
