"""A whole document and a version: every profile expanded, and what its profiles must have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config.arguments import FIT
from scheduler_runtime.config.expansion import EffectiveProfile, expand_profile
from scheduler_runtime.config.models import Document, Extender, Profile
from scheduler_runtime.config.partial_reading import read_remaining, readable_profiles
from scheduler_runtime.config.problems import Problem, Problems

__all__ = ["Accepted", "check_document", "expand_profiles", "ignored_resources"]


@dataclass(frozen=True, slots=True)
class Accepted:
    """A document that the scheduler it was meant for takes, and what its profiles mean there."""

    document: Document
    profiles: tuple[EffectiveProfile, ...]


def expand_profiles(
    whole: Document,
    target: Target,
    others: Mapping[str, Declaration] = MappingProxyType({}),
    extenders: Mapping[str, Iterable[Extender]] | None = None,
) -> tuple[EffectiveProfile, ...] | Problems:
    """Expand every profile of ``whole`` as the kube-scheduler that is the ``target`` would.

    ``extenders`` are those that the profile of a name asks, where that is not all of them.
    """
    found: list[EffectiveProfile] = []
    problems: list[Problem] = []
    for index, profile in enumerate(whole.profiles):
        asked = whole.extenders if extenders is None else extenders.get(profile.scheduler_name, ())
        ignored = ignored_resources(asked)
        match expand_profile(profile, target, others):
            case Problems() as own:
                problems.extend(problem.below(f"profiles[{index}]") for problem in own)
            case EffectiveProfile() as expanded:
                found.append(_ignoring(ignored, expanded))
                if ignored and not _has_fit(profile, expanded):
                    path = f"profiles[{index}].pluginConfig"
                    message = f"an extender's ignoredByScheduler is told to {FIT}, which this profile does not have"
                    problems.append(Problem(path, message))
    problems.extend(_written_differently(whole.profiles))
    if not problems:
        problems.extend(_sorted_differently(whole.profiles, found))
    return Problems(tuple(problems)) if problems else tuple(found)


def check_document(
    value: Any,
    target: Target,
    others: Mapping[str, Declaration] = MappingProxyType({}),
) -> Accepted | Problems:
    """What an already parsed ``value`` is to the ``target``, or everything that is wrong with it."""
    said, rest, read = read_remaining(value)
    if read is None:
        expanded = [(index, expand_profile(profile, target, others)) for index, profile in readable_profiles(rest)]
        each = ((index, own) for index, own in expanded if isinstance(own, Problems))
        return Problems((*said, *(problem.below(f"profiles[{index}]") for index, own in each for problem in own)))
    found = expand_profiles(read, target, others)
    if isinstance(found, Problems):
        return Problems((*said, *found))
    return Problems(said) if said else Accepted(read, found)


def ignored_resources(extenders: Iterable[Extender]) -> tuple[str, ...]:
    """The resources that one of ``extenders`` looks after alone."""
    return tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def _ignoring(resources: tuple[str, ...], profile: EffectiveProfile) -> EffectiveProfile:
    """``profile``, with these ``resources`` and no others ignored, as far as there are any."""
    fit = profile.args.get(FIT)
    if not resources or fit is None:
        return profile
    return replace(profile, args={**profile.args, FIT: fit.model_copy(update={"ignored_resources": resources})})


def _has_fit(profile: Profile, expanded: EffectiveProfile) -> bool:
    return FIT in expanded.args or any(entry.name == FIT for entry in profile.plugin_config)


def _written_differently(profiles: Iterable[Profile]) -> Iterator[Problem]:
    """All profiles must say the same about queueSort, to the letter."""
    first, *rest = (profile.plugins.queue_sort for profile in profiles)
    if len(first.enabled) > 1:
        yield Problem("profiles[0].plugins.queueSort.enabled", f"{len(first.enabled)} plugins cannot sort one queue")
    said = _said(first)
    for index, other in enumerate(rest, start=1):
        if _said(other) != said:
            message = "must say the same as in profiles[0]: all profiles of a process share one queue"
            yield Problem(f"profiles[{index}].plugins.queueSort", message)


def _said(queue_sort: Any) -> tuple[Any, ...]:
    enabled = tuple((plugin.name, plugin.weight or 0) for plugin in queue_sort.enabled)
    return enabled, tuple(plugin.name for plugin in queue_sort.disabled)


def _sorted_differently(profiles: tuple[Profile, ...], found: list[EffectiveProfile]) -> Iterator[Problem]:
    def sorting(index: int) -> tuple[str, Any]:
        name = found[index].points["queueSort"][0].name
        written = next((entry for entry in profiles[index].plugin_config if entry.name == name), None)
        return name, written.args if written and "args" in written.model_fields_set else None

    for index in range(1, len(found)):
        if sorting(index) != sorting(0):
            message = f"{sorting(index)[0]} sorts here, {sorting(0)[0]} in profiles[0]; "
            message += "all profiles of a process share one queue and must sort it alike, arguments included"
            yield Problem(f"profiles[{index}].plugins.queueSort", message)
