"""Outcomes of a reconcile, and the statuses that report them to authors. Pure.

What the conditions mean is told in ``conditions``.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from scheduler_operator.cluster.api import RequestError
from scheduler_operator.desired.revision import Revision
from scheduler_operator.reconcile.conditions import MESSAGE_LENGTH, conditions, process_conditions
from scheduler_operator.reconcile.scheduler_state import SchedulerState
from scheduler_operator.render import ObjectProblems, Rendered, RenderedProfile
from scheduler_operator.render.findings import with_suggestion
from scheduler_operator.resources import kinds
from scheduler_operator.resources.names import generated_name, pod_labels
from scheduler_operator.resources.user_object import Status, UserObject
from scheduler_runtime import catalog
from scheduler_runtime.catalog.bounds import cut
from scheduler_runtime.config import Problem, Severity

MAX_WARNINGS = 64
WARNINGS_BYTES = 256 * 1024
"""An object may have about a megabyte, and its author needs most of it for the spec."""
MEMBERS_LENGTH = 32 * 1024
"""Of the errors of all members together: as a rule they have the same."""
PATH_LENGTH = 1024
MAX_USERS = 1024
_CONFIGURATION_FIELDS = (
    "plugins",
    "effectivePlugins",
    "warnings",
    "warningCount",
    "configMap",
    "configHash",
    "selector",
)
_LAST_GOOD_FIELDS = (*_CONFIGURATION_FIELDS, "members", "leader", "replicas", "readyReplicas")


@dataclass(frozen=True, slots=True)
class ProfileGroup:
    """A profile with a process of its own, and those that join it there."""

    owner: UserObject
    joiners: Sequence[UserObject]

    def without(self, names: Collection[str]) -> "ProfileGroup":
        """Return the group without the joiners of these names."""
        return replace(self, joiners=[joiner for joiner in self.joiners if joiner.name not in names])


@dataclass(frozen=True, slots=True)
class LastGood:
    """The last good revision, which is in force while the newest is not, and the processes that run it."""

    revision: Revision
    state: SchedulerState
    trouble: str = ""
    """Why it cannot be maintained."""

    @property
    def is_settled(self) -> bool:
        return not self.trouble and self.state.is_settled


@dataclass(frozen=True, slots=True)
class Excluded:
    """Some profiles cannot run in the process that they join, which goes on without them."""

    problems: Mapping[str, ObjectProblems]
    """By profile."""
    last_good: LastGood | None = None
    """What is left of the only one's own process, from before it joined."""
    is_settled: bool = True


@dataclass(frozen=True, slots=True)
class Paused:
    """The author has paused the process, which runs on."""

    state: SchedulerState = field(default_factory=SchedulerState)
    is_settled: bool = True


@dataclass(frozen=True, slots=True)
class Rejected:
    """Somebody has to correct the profile, or what the installation or the cluster permits."""

    problems: ObjectProblems
    is_settled: bool = True
    """False where the correction may come without an event of ours."""
    last_good: LastGood | None = None


@dataclass(frozen=True, slots=True)
class Interrupted:
    """An error that may pass by itself kept the profile from being applied."""

    error: RequestError
    is_settled: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """The profile was applied."""

    rendered: Rendered
    revision: Revision
    state: SchedulerState
    lost_code: Sequence[str] = ()
    """The PluginConfigs whose code could not be loaded now."""

    @property
    def is_settled(self) -> bool:
        # Otherwise the time for it may run out, which is no event.
        return self.state.is_settled and self.state.goes_by(self.revision.document)


Outcome = Excluded | Paused | Rejected | Interrupted | Applied


def profile_statuses(group: ProfileGroup, outcome: Outcome) -> Iterator[tuple[UserObject, Status]]:
    """Yield the new status of every profile of the ``group`` that the ``outcome`` concerns."""
    owner, profiles = group.owner, (group.owner, *group.joiners)
    match outcome:
        case Excluded():
            for profile in profiles:
                if (problems := outcome.problems.get(profile.name)) is not None:
                    yield profile, excluded_status(profile, problems, outcome.last_good)
        case Paused(state):
            for profile in profiles:
                yield profile, paused_status(profile, state, owner)
        case Rejected(problems, _, last_good):
            yield owner, rejected_status(owner, problems, last_good)
            message = f"{owner.name}, in whose process this profile runs, cannot run: {problems}"
            for_joiners = ObjectProblems(problems.reason, (Problem("spec.joins", message),))
            for joiner in group.joiners:
                yield joiner, rejected_status(joiner, for_joiners, last_good)
        case Interrupted(error):
            if error.status != HTTPStatus.CONFLICT:  # another writer was faster: the next attempt is likely to succeed
                yield owner, interrupted_status(owner, str(error))
        case Applied(rendered, revision, state, lost_code):
            for profile in profiles:
                yield profile, applied_status(profile, rendered, revision, state, lost_code)


def excluded_status(profile: UserObject, problems: ObjectProblems, last_good: LastGood | None = None) -> Status:
    """Return the status of a profile that cannot run in the process it joins, which goes on without it."""
    if last_good is not None:
        return rejected_status(profile, problems, last_good)  # it still has the process of its own from before
    short = f"{problems.places()}; nobody schedules its pods until that is corrected"
    return {"warningCount": 0, **_stalled(profile, problems, short)}


def rejected_status(profile: UserObject, problems: ObjectProblems, last_good: LastGood | None = None) -> Status:
    """Return the status of a profile that its author has to correct, with what runs instead."""
    short = problems.places()
    if last_good is None:
        return {"warningCount": 0, **_stalled(profile, problems, short)}
    if profile.name not in last_good.revision.reports:
        short += "; the last good configuration stays active, without this profile, until that is corrected"
        return {"warningCount": 0, **_stalled(profile, problems, short)}
    short += "; the last good configuration stays active until that is corrected"
    trouble = ""
    if last_good.trouble:
        short += "; it cannot be maintained"
        trouble = f"\nthe last good configuration cannot be maintained: {last_good.trouble}"
    return {**_running(profile, last_good.revision, last_good.state), **_stalled(profile, problems, short, trouble)}


def _stalled(user_object: UserObject, problems: ObjectProblems, short: str, more: str = "") -> Status:
    full = f"{problems.listed()}{more}"
    return conditions(user_object, "False", problems.reason, short, also="Stalled", full=full)


def interrupted_status(profile: UserObject, error: str) -> Status:
    """Return the status of a profile that a passing error kept from being applied."""
    return {
        **_last_good(profile),
        **conditions(profile, "Unknown", "RollingOut", "trying again", also="Reconciling", full=error),
    }


def paused_status(profile: UserObject, state: SchedulerState, owner: UserObject) -> Status:
    """Return the status while the profile, or its ``owner``, in whose process it runs, is paused.

    What was applied last is in force, so that counts: whether it does its work.
    """
    whose = "" if owner.name == profile.name else f" of {owner.name}"
    paused = f"spec.paused{whose} is true: changes wait until it is false again"
    status = {**_last_good(profile, _CONFIGURATION_FIELDS), **_processes(state, is_own="selector" in profile.status)}
    document, has_process = profile.status.get("configHash", ""), "selector" in owner.status
    if state.deployment is not None and document:
        of_process = process_conditions(profile, state.deployment, state, document, owner.name)
        ready, *others = of_process["conditions"]
        if ready["status"] == "True":
            ready = {**ready, "reason": "Paused"}
        return {**status, **of_process, "conditions": [{**ready, "message": f"{paused}; {ready['message']}"}, *others]}
    if document and not has_process:
        return {**status, **conditions(profile, "True", "Paused", f"{paused}; the document is in the ConfigMap")}
    nobody = f"{paused}, and nobody schedules the pods of this profile"
    return {**status, **conditions(profile, "False", "Paused", nobody, "Stalled", f"{nobody}; set it to false")}


def configuration_report(profile: UserObject, rendered: Rendered, config_map: str) -> Status:
    """Return what the status says of a configuration, whatever becomes of it."""
    member = rendered.profiles[profile.name]
    # As many warnings as a status holds, one at least; the count is that of all. Notes are for ``berth lint``.
    findings = [finding for finding in member.findings if finding.severity is not Severity.NOTE]
    warnings: list[dict[str, str]] = []
    room = WARNINGS_BYTES
    for finding in findings[:MAX_WARNINGS]:
        message = _message(with_suggestion(finding))
        warning = {"code": finding.code, "path": cut(finding.path, PATH_LENGTH), "message": message}
        room -= len(json.dumps(warning))
        if room < 0 and warnings:
            break
        warnings.append(warning)
    return {
        "plugins": member.summary,
        "effectivePlugins": effective_plugins(member),
        **({"warnings": warnings} if warnings else {}),
        "warningCount": len(findings),
        "configMap": config_map,
        "configHash": rendered.hash,
    }


def applied_status(
    profile: UserObject, rendered: Rendered, revision: Revision, state: SchedulerState, lost_code: Sequence[str] = ()
) -> Status:
    """Return the status of an applied profile. It runs in the process of the first that was rendered."""
    owner, status = next(iter(rendered.profiles)), _running(profile, revision, state)
    remark = catalog.newer_version_remark(rendered.version)
    if lost_code:
        names = ", ".join(sorted(lost_code))
        remark = "; ".join(filter(None, (f"no scheduler can start: see PluginConfig {names}", remark)))
    count, listed = status["warningCount"], len(status.get("warnings", ()))
    if left_out := count - listed:
        remark = "; ".join(filter(None, (remark, f"{left_out} of {count} findings are not listed")))
    if state.deployment is None:
        message = f"ConfigMap {status['configMap']} holds the document under config.yaml"
        return {**status, **with_remark(conditions(profile, "True", "Rendered", message), remark)}
    of_process = process_conditions(profile, state.deployment, state, rendered.hash, owner)
    return {**status, **with_remark(of_process, remark)}


def _running(profile: UserObject, revision: Revision, state: SchedulerState) -> Status:
    """Return what the status says of a revision and of the processes that run it."""
    is_own = (kinds.DEPLOYMENT.name, generated_name(profile.name)) in revision.identities
    selector = ",".join(f"{key}={value}" for key, value in sorted(pod_labels(profile.name).items()))
    has_selector = {"selector": selector} if is_own and state.deployment is not None else {}
    return {**revision.reports[profile.name], **_processes(state, is_own=is_own), **has_selector}


def _processes(state: SchedulerState, *, is_own: bool) -> Status:
    """Return what the status says of the processes that run; of their number only if they are the profile's own."""
    status: Status = {}
    if state.leader:
        status["leader"] = state.leader
    if state.members:
        longest_error = min(MESSAGE_LENGTH, MEMBERS_LENGTH // len(state.members))
        status["members"] = [member.to_status(longest_error) for member in state.members]
    if state.deployment is not None and is_own:
        status |= {"replicas": state.deployment.existing, "readyReplicas": state.deployment.ready}
    return status


def _message(text: str) -> str:
    return cut(text, MESSAGE_LENGTH)


def with_remark(status: Status, remark: str) -> Status:
    """Return the status with ``remark`` added to the message of Ready."""
    if not remark:
        return status
    ready, *others = status["conditions"]
    return {**status, "conditions": [{**ready, "message": _message(f"{ready['message']}; {remark}")}, *others]}


def _last_good(profile: UserObject, fields: Iterable[str] = _LAST_GOOD_FIELDS) -> Status:
    """Return what the status says about the configuration that was applied last."""
    return {name: profile.status[name] for name in fields if name in profile.status}


def effective_plugins(member: RenderedProfile) -> Status:
    """Return the plugins of every extension point, in order, with weights where they count."""
    points: Status = {}
    for point, plugins in member.effective.points.items():
        for plugin in plugins:
            if plugin.name not in member.absent:
                weight = {"weight": plugin.weight} if plugin.weight else {}
                points.setdefault(point, []).append({"name": plugin.name, **weight})
    return points


def is_used_by(plugin_config: UserObject, profile: str) -> bool | None:
    """Return whether the status of a PluginConfig says that a profile uses it; None if it has no room for all."""
    users = plugin_config.status.get("usedBy", ())
    return True if profile in users else None if len(users) >= MAX_USERS else False


def plugin_config_status(plugin_config: UserObject, problems: ObjectProblems | None, used_by: Iterable[str]) -> Status:
    """Return the status of a PluginConfig."""
    # An empty list is left out: the API server may store it or not, and what is not as written is written again.
    users = {"usedBy": names} if (names := sorted(used_by)[:MAX_USERS]) else {}
    if problems is not None:
        return {**users, **_stalled(plugin_config, problems, problems.places())}
    return {**users, **conditions(plugin_config, "True", "Valid", "the arguments are valid")}
