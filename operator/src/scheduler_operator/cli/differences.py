"""What changes between two processes in effect: plugins, order, weights, arguments, and fields of the process."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from scheduler_operator.cli.processes import Process
from scheduler_runtime.config import EffectiveProfile, EnabledPlugin

Leaves = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same. None is how a thing that is not there is written."""

    profile: str
    """The profile concerned; empty for the process."""
    where: str
    before: Any
    after: Any


def differences(before: Process, after: Process) -> Iterator[Difference]:
    """All that is different, the process first and then profile by profile.

    Profiles are the same when their names are, or when there is one on either side.
    """
    yield from _of_leaves("", "", _process_fields(before), _process_fields(after))
    for old, new in _pairs(_profiles(before), _profiles(after)):
        if old is None or new is None:
            present = old or new
            name = present.scheduler_name if present else ""
            yield Difference(name, "the profile", _presence(old), _presence(new))
        else:
            yield from _of_profiles(old, new)


def _profiles(process: Process) -> tuple[EffectiveProfile, ...]:
    return tuple(part.effective for part in process.parts)


def _presence(profile: EffectiveProfile | None) -> str | None:
    return None if profile is None else "is there"


def _pairs(
    before: Sequence[EffectiveProfile], after: Sequence[EffectiveProfile]
) -> Iterator[tuple[EffectiveProfile | None, EffectiveProfile | None]]:
    if len(before) == len(after) == 1:
        yield before[0], after[0]
        return
    old = {profile.scheduler_name: profile for profile in before}
    new = {profile.scheduler_name: profile for profile in after}
    for name in dict.fromkeys((*old, *new)):
        yield old.get(name), new.get(name)


def _of_profiles(old: EffectiveProfile, new: EffectiveProfile) -> Iterator[Difference]:
    name = new.scheduler_name
    if old.scheduler_name != name:
        yield Difference(name, "schedulerName", old.scheduler_name, name)
    percentages = old.percentage_of_nodes_to_score, new.percentage_of_nodes_to_score
    if percentages[0] != percentages[1]:
        yield Difference(name, "percentageOfNodesToScore", *percentages)
    for point in dict.fromkeys((*old.points, *new.points)):
        yield from _at_point(name, point, old.points.get(point, ()), new.points.get(point, ()))
    for plugin in dict.fromkeys((*old.names, *new.names)):
        yield from _of_leaves(name, f"{plugin} args: ", _args(old, plugin), _args(new, plugin))


def _at_point(
    profile: str, point: str, old: Sequence[EnabledPlugin], new: Sequence[EnabledPlugin]
) -> Iterator[Difference]:
    before, after = ({plugin.name: _shown(plugin) for plugin in plugins} for plugins in (old, new))
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield Difference(profile, f"{point}: {name}", before.get(name), after.get(name))
    stayed = [name for name in before if name in after], [name for name in after if name in before]
    moved = [pair for pair in zip_longest(*stayed) if pair[0] != pair[1]]
    if moved:
        yield Difference(profile, f"{point}: order", *(", ".join(names) for names in zip(*moved, strict=True)))


def _shown(plugin: EnabledPlugin) -> str:
    return f"weight {plugin.weight}" if plugin.weight else "on"


def _args(profile: EffectiveProfile, plugin: str) -> Leaves:
    args = profile.args.get(plugin)
    return dict(_leaves("", args.model_dump(by_alias=True, mode="json"))) if args else {}


def _process_fields(process: Process) -> Leaves:
    written = {
        key: value for key, value in process.defaulted().items() if key not in ("profiles", "apiVersion", "kind")
    }
    return dict(_leaves("", written))


def _of_leaves(profile: str, prefix: str, before: Leaves, after: Leaves) -> Iterator[Difference]:
    for path in dict.fromkeys((*before, *after)):
        if before.get(path) != after.get(path):
            yield Difference(profile, f"{prefix}{path}", before.get(path), after.get(path))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value inside ``value`` that holds no others, by its path."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _leaves(f"{path}.{key}" if path else str(key), inner)
        case list():
            for index, inner in enumerate(value):
                yield from _leaves(f"{path}[{index}]", inner)
        case _:
            yield path, value
