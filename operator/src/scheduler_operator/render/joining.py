"""Profiles that share a process: who joins whom, and what keeps them apart."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scheduler_operator.models.scheduler_profile import Engine
from scheduler_operator.render.drafting import Draft
from scheduler_operator.render.outcome import Problems
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.config import EffectiveProfile, Problem


def joins(profile: UserObject) -> str:
    """The profile in whose process ``profile`` wants to run; empty when it has one of its own."""
    wanted = profile.spec.get("joins")
    return wanted if isinstance(wanted, str) and wanted != profile.name else ""


def joiners(name: str, profiles: Iterable[UserObject]) -> list[UserObject]:
    """The profiles that run in the process of the one called ``name``; who came first stands first."""
    return sorted((each for each in profiles if joins(each) == name), key=lambda each: (each.created, each.name))


def join_problem(profile: UserObject, profiles: Mapping[str, UserObject]) -> Problems | None:
    """Why ``profile`` cannot run where it wants to: what it joins is not there, or has no process of its own."""
    wanted = joins(profile)
    if not wanted:
        return None
    if wanted not in profiles:
        message = f"there is no profile {wanted}; create it, or leave joins out for a process of its own"
        return Problems("JoinTargetMissing", (Problem("spec.joins", message),))
    if further := joins(profiles[wanted]):
        message = f"{wanted} has no process of its own, because it joins {further}; join {further} instead"
        return Problems("JoinConflict", (Problem("spec.joins", message),))
    return None


def conflicts(
    drafts: Sequence[Draft], expanded: Mapping[str, EffectiveProfile], engine: Engine
) -> Iterator[tuple[str, Problem]]:
    """What keeps later profiles out of the process of the first: the one to leave, and why, naming both."""
    owner = drafts[0]
    for each in drafts[1:]:
        found = (
            *_of_engines(owner, each, engine),
            *_of_extenders(owner, each, engine),
            *_of_sorting(owner, each, expanded),
        )
        yield from ((each.name, problem) for problem in found)


def _of_engines(owner: Draft, each: Draft, engine: Engine) -> Iterator[Problem]:
    if each.spec.engine != engine:
        message = f"{each.spec.engine} is not the engine of {owner.name}, {engine}, in whose process {each.name} runs"
        yield Problem("spec.engine", f"{message}; write engine: {engine}")


def _of_extenders(owner: Draft, each: Draft, engine: Engine) -> Iterator[Problem]:
    """The Python engine asks a profile's own extenders."""
    if engine == "Python":
        return
    for one, other in ((owner, each), (each, owner)):
        if one.extenders:
            message = (
                f"kube-scheduler would ask the extenders of {one.name} about the pods of {other.name} too, "
                "because they belong to a process; give the profile with extenders a process of its own"
            )
            yield Problem("spec.joins", message)


def clashes(drafts: Sequence[Draft], engine: Engine) -> Iterator[tuple[str, Problem]]:
    """As ``conflicts``: those because of which the extenders of several profiles cannot stand in one document."""
    if engine == "Python":
        for each in drafts[1:]:
            yield from ((each.name, problem) for problem in _clashing_extenders(drafts[0], each))


def _clashing_extenders(owner: Draft, each: Draft) -> Iterator[Problem]:
    alone = "give one of the two a process of its own"
    if all(any(extender.get("bindVerb") for extender in one.extenders) for one in (owner, each)):
        yield Problem("spec.joins", f"{owner.name} and {each.name} both have an extender that binds; {alone}")
    for resource in sorted(_managed(owner) & _managed(each)):
        yield Problem("spec.joins", f"extenders of both {owner.name} and {each.name} manage {resource}; {alone}")


def _managed(draft: Draft) -> set[str]:
    return {resource["name"] for extender in draft.extenders for resource in extender.get("managedResources", ())}


def _of_sorting(owner: Draft, each: Draft, expanded: Mapping[str, EffectiveProfile]) -> Iterator[Problem]:
    own, first = _sorting(expanded[each.name]), _sorting(expanded[owner.name])
    if own != first:
        message = (
            f"{own[0]} sorts the queue of {each.name} and {first[0]} that of {owner.name}; the profiles of a process "
            "share one queue and must sort it alike, arguments included"
        )
        yield Problem("spec.plugins.queueSort", message)


def _sorting(effective: EffectiveProfile) -> tuple[str, Any]:
    name = effective.points["queueSort"][0].name
    return name, effective.args.get(name)
