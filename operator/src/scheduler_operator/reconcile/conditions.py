"""Conditions of profiles and PluginConfigs (ADR 32). Pure.

| type | is there | means |
|---|---|---|
| Ready | always | a leader schedules, and goes by the document that was rendered last |
| Reconciling | while true | it will come right by itself |
| Stalled | while true | somebody has to change something |
| Redundant | where several processes are wanted | as many as wanted are ready, so that others stand by |
| PluginsFailing, ExtendersFailing | while true | what fails in nearly every attempt, as the leader reports |

kstatus, and with it Flux, reads the first three: it waits while Reconciling is true, or while Ready is not; it gives up
when Stalled is true. So a state that nothing but a change of somebody's ends is Stalled, and no state is neither.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from scheduler_operator.models.status import Reason
from scheduler_operator.reconcile.scheduler_state import DeploymentState, SchedulerMember, SchedulerState
from scheduler_operator.resources.user_object import Status, UserObject
from scheduler_runtime.catalog.bounds import cut
from scheduler_runtime.config import Failure, Verdict

MESSAGE_LENGTH = 4096
Condition = dict[str, object]


def conditions(
    user_object: UserObject,
    ready: Literal["True", "False", "Unknown"],
    reason: Reason | Literal["Valid"],
    message: str,
    also: Literal["Reconciling", "Stalled"] | None = None,
    full: str = "",
) -> Status:
    """Return Ready with a short ``message`` and, if given, the condition ``also`` with the ``full`` reason."""
    of_all = [condition(user_object, "Ready", ready, reason, message)]
    if also is not None:
        of_all.append(condition(user_object, also, "True", reason, full))
    return {"observedGeneration": user_object.generation, "conditions": of_all}


def condition(
    user_object: UserObject, of_type: str, status: Literal["True", "False", "Unknown"], reason: str, message: str
) -> Condition:
    """Return one condition."""
    return {
        "type": of_type,
        "status": status,
        "observedGeneration": user_object.generation,
        "reason": reason,
        "message": cut(message, MESSAGE_LENGTH),
    }


def process_conditions(
    profile: UserObject, deployment: DeploymentState, state: SchedulerState, document: str, owner: str
) -> Status:
    """Return the conditions of a profile whose process is that of ``owner``, with the document of that hash."""
    whose = "" if owner == profile.name else f" of {owner}"
    leader = state.leading_member
    failures = [failure for failure in leader.failures if failure.profile == profile.name] if leader else []
    blocking = [failure for failure in failures if failure.is_blocking]
    if deployment.replicas == 0:
        message = f"spec.scheduler.replicas{whose} is 0: nobody schedules the pods of this profile"
        full = f"{message}; set it to 1 or more, or delete the profile"
        return conditions(profile, "False", "NoMemberAvailable", message, "Stalled", full)
    if leader is None:
        status = _without_leader(profile, deployment, state, whose)
    elif not leader.has_loaded(document):
        status = _behind(profile, deployment, state, leader, document)
    elif blocking:
        reason: Reason = "PluginsFailing" if blocking[0].kind == "plugin" else "ExtendersFailing"
        names = ", ".join(dict.fromkeys(failure.name for failure in blocking))
        short = f"no pod is placed: {names} fail{'s' if len(blocking) == 1 else ''} in nearly every attempt"
        status = conditions(profile, "False", reason, short, "Stalled", _lines(blocking))
    else:
        ready = condition(profile, "Ready", "True", "Scheduling", _counts(deployment, whose))
        status = {"observedGeneration": profile.generation, "conditions": [ready]}
        if deployment.is_rolling:
            kind = "Stalled" if _is_lasting(state) else "Reconciling"
            status["conditions"].append(condition(profile, kind, "True", "RollingOut", _causes(state)))
    if deployment.replicas > 1:
        # The causes are told once.
        causes = "" if len(status["conditions"]) > 1 else _causes(state, rollout=False)
        status["conditions"].append(_redundant(profile, deployment, state, document, whose, causes))
    for of_type, kinds in (("PluginsFailing", ("plugin",)), ("ExtendersFailing", ("extender", "ignored extender"))):
        if failing := [failure for failure in failures if failure.kind in kinds]:
            status["conditions"].append(condition(profile, of_type, "True", "NearlyEveryAttempt", _lines(failing)))
    return status


def _without_leader(profile: UserObject, deployment: DeploymentState, state: SchedulerState, whose: str) -> Status:
    """Return the conditions while nobody schedules."""
    counts = _counts(deployment, whose)
    if deployment.ready and not deployment.is_rolling:
        full = f"{counts}, and none of them leads: the next one takes the Lease when the last leader's has run out"
        if state.other_holder:
            full = f"the Lease is held by {state.other_holder}, which is no process of this profile: end that one"
        return conditions(profile, "False", "NoLeader", f"{counts}, none leads", "Reconciling", full)
    is_lasting = _is_lasting(state)
    is_blocked = is_lasting or bool(deployment.failure)
    reason: Reason = "NoMemberAvailable" if is_blocked and not deployment.ready else "RollingOut"
    return conditions(profile, "False", reason, counts, "Stalled" if is_lasting else "Reconciling", _causes(state))


def _behind(
    profile: UserObject, deployment: DeploymentState, state: SchedulerState, leader: SchedulerMember, document: str
) -> Status:
    """Return the conditions while the leader goes by an older document."""
    if refusals := errors_of(state.members, "refused", document):
        # A refused document is stalled: no wait helps, only another document.
        short = "the newest configuration was refused; the last good one stays in force"
        return conditions(profile, "False", "NotLoaded", short, "Stalled", refusals)
    short = "the leader goes by an older configuration"
    if deployment.is_rolling:
        kind: Literal["Reconciling", "Stalled"] = "Stalled" if _is_lasting(state) else "Reconciling"
        return conditions(profile, "False", "RollingOut", short, kind, _causes(state))
    waits = errors_of((leader,), "waiting", document) or "it is about to follow the newest"
    return conditions(profile, "False", "RollingOut", short, "Reconciling", waits)


def _redundant(
    profile: UserObject, deployment: DeploymentState, state: SchedulerState, document: str, whose: str, causes: str
) -> Condition:
    """Return whether others stand by, ready to schedule by the same document; ``causes`` are why some do not run."""
    counts = _counts(deployment, whose)
    behind = [member for member in state.members if not member.has_loaded(document)]
    if deployment.ready < deployment.replicas:
        message = "; ".join(filter(None, (counts, causes)))
        return condition(profile, "Redundant", "False", "MembersMissing", message)
    if behind:
        count = len(state.members)
        message = f"{count - len(behind)} of {count} scheduler processes{whose} go by the newest configuration"
        errors = [errors_of(behind, verdict, document) for verdict in ("refused", "waiting")]
        return condition(profile, "Redundant", "False", "MembersBehind", "\n".join(filter(None, (message, *errors))))
    return condition(profile, "Redundant", "True", "MembersReady", counts)


def _counts(deployment: DeploymentState, whose: str) -> str:
    # During a rollout, some that are about to end may be among those that are ready.
    if (surplus := deployment.ready - deployment.replicas) > 0:
        return (
            f"{deployment.ready} scheduler processes{whose} are ready, {surplus} more than wanted until the older ones "
            "have ended"
        )
    older = ", not all by the newest configuration" if deployment.is_rolling and deployment.ready else ""
    return f"{deployment.ready} of {deployment.replicas} scheduler processes{whose} are ready{older}"


def _is_lasting(state: SchedulerState) -> bool:
    """Return whether pods will not become ready until somebody changes something."""
    stuck = state.deployment.stuck if state.deployment else ""
    return bool(stuck) or (state.pod_trouble is not None and state.pod_trouble.is_lasting)


def _causes(state: SchedulerState, *, rollout: bool = True) -> str:
    """Return why not all processes run; without a cause how far the rollout is."""
    deployment, trouble = state.deployment, state.pod_trouble
    causes = [str(trouble) if trouble else ""]
    if deployment is not None:
        causes += [deployment.failure, deployment.stuck]
        if rollout and not any(causes):
            causes.append(f"{deployment.current} of {deployment.replicas} have the newest configuration")
    return "; ".join(filter(None, causes))


def errors_of(members: Iterable[SchedulerMember], verdict: Verdict, document: str) -> str:
    """Return why ``members`` do not run by the document, a line for each that reports ``verdict``."""
    return "\n".join(f"pod {member.name}: {why}" for member in members if (why := member.error_for(verdict, document)))


def _lines(failures: Sequence[Failure]) -> str:
    return "\n".join(f"{failure.kind} {failure.name}: {failure.text}" for failure in failures)
