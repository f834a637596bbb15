"""Profiles that share a process (``spec.joins``), and the conflicts that prevent it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scheduler_operator.models.scheduler_profile import Engine
from scheduler_operator.render.drafts import Draft
from scheduler_operator.render.outcome import ObjectProblems
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.config import EffectiveProfile, Problem


def owner_name(profile: UserObject) -> str:
    """Return the profile in whose process ``profile`` asks to run; empty when it has one of its own."""
    target = profile.spec.get("joins")
    return target if isinstance(target, str) and target != profile.name else ""


def joiners(name: str, profiles: Iterable[UserObject]) -> list[UserObject]:
    """Return the profiles that join the one called ``name``, the oldest first."""
    joining = (profile for profile in profiles if owner_name(profile) == name)
    return sorted(joining, key=lambda profile: (profile.created, profile.name))


def join_problem(profile: UserObject, profiles: Mapping[str, UserObject]) -> ObjectProblems | None:
    """Return why ``profile`` cannot join: the other profile does not exist, or has no process of its own."""
    target = owner_name(profile)
    if not target:
        return None
    if target not in profiles:
        message = f"there is no profile {target}; create it, or leave joins out for a process of its own"
        return ObjectProblems("JoinTargetMissing", (Problem("spec.joins", message),))
    # One level only: a chain could be a circle, which has no process at all.
    if further := owner_name(profiles[target]):
        message = f"{target} has no process of its own, because it joins {further}; join {further} instead"
        return ObjectProblems("JoinConflict", (Problem("spec.joins", message),))
    return None


def conflicts(
    drafts: Sequence[Draft], expanded: Mapping[str, EffectiveProfile], engine: Engine
) -> Iterator[tuple[str, Problem]]:
    """Yield what keeps later profiles out of the process of the first: the profile to leave out, and the reason."""
    owner = drafts[0]
    for joiner in drafts[1:]:
        if joiner.spec.engine != engine:
            message = f"{joiner.spec.engine} is not the engine of {owner.name}, {engine}"
            message += f", in whose process {joiner.name} runs; write engine: {engine}"
            yield joiner.name, Problem("spec.engine", message)
        # Berth's own scheduler asks only a profile's own extenders; kube-scheduler's belong to the process.
        for one, other in ((owner, joiner), (joiner, owner)) if engine != "Python" else ():
            if one.extenders:
                message = (
                    f"kube-scheduler would ask the extenders of {one.name} about the pods of {other.name} too, "
                    "because they belong to a process; give the profile with extenders a process of its own"
                )
                yield joiner.name, Problem("spec.joins", message)
        own_sort, first_sort = _queue_sort(expanded[joiner.name]), _queue_sort(expanded[owner.name])
        if own_sort != first_sort:
            message = (
                f"{own_sort[0]} sorts the queue of {joiner.name} and {first_sort[0]} that of {owner.name}; the "
                "profiles of a process share one queue and must sort it alike, arguments included"
            )
            yield joiner.name, Problem("spec.plugins.queueSort", message)


def extender_conflicts(drafts: Sequence[Draft], engine: Engine) -> Iterator[tuple[str, Problem]]:
    """Yield conflicts, as ``conflicts`` does, for extenders that cannot be in one document: its rules forbid them.

    These are an extender that binds in two profiles, and a resource that two extenders manage.
    """
    if engine != "Python":
        return
    owner, remedy = drafts[0], "give one of the two a process of its own"
    for joiner in drafts[1:]:
        if all(any(extender.get("bindVerb") for extender in draft.extenders) for draft in (owner, joiner)):
            message = f"{owner.name} and {joiner.name} both have an extender that binds; {remedy}"
            yield joiner.name, Problem("spec.joins", message)
        for resource in sorted(_managed_resources(owner) & _managed_resources(joiner)):
            message = f"extenders of both {owner.name} and {joiner.name} manage {resource}; {remedy}"
            yield joiner.name, Problem("spec.joins", message)


def _managed_resources(draft: Draft) -> set[str]:
    return {resource["name"] for extender in draft.extenders for resource in extender.get("managedResources", ())}


def _queue_sort(effective: EffectiveProfile) -> tuple[str, Any]:
    name = effective.points["queueSort"][0].name
    return name, effective.args.get(name)
