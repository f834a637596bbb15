"""What to tell the author of a profile. Pure: from the outcome of a reconcile to ``status``.

``Ready`` is always there. ``Reconciling`` and ``Stalled`` are there only while true: the first says that it
will come right by itself, the second that somebody has to change something.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from scheduler_operator.models.status import Reason
from scheduler_operator.reconcile.members import Member as RunningMember
from scheduler_operator.reconcile.pod_trouble import PodTrouble
from scheduler_operator.render import Member, Problems, Rendered, judging
from scheduler_operator.resources import version_support as kubernetes_versions
from scheduler_operator.resources.authored import UserObject
from scheduler_operator.resources.conditions import Status
from scheduler_operator.resources.labels import pod_labels
from scheduler_operator.resources.names import generated_name
from scheduler_operator.resources.text_limits import cut
from scheduler_runtime.config import Finding, Verdict

LONGEST_MESSAGE = 4096
MOST_WARNINGS = 64
_IN_FORCE = (
    *("plugins", "effectivePlugins", "warnings", "warningCount", "configMap", "configHash", "members", "leader"),
    *("replicas", "readyReplicas", "selector"),
)


@dataclass(frozen=True, slots=True)
class DeploymentState:
    """How a profile's Deployment is doing."""

    wanted: int
    existing: int
    current: int
    """How many of them have the newest configuration."""
    ready: int
    failure: str = ""
    """Why pods cannot be created."""
    stuck: str = ""
    """Why the newest ones have not become ready for a long time."""

    @classmethod
    def from_deployment(cls, live: Mapping[str, Any]) -> Self:
        """Read a Deployment as the API server has it."""
        status = live.get("status", {})
        conditions = {each["type"]: each for each in status.get("conditions", [])}
        failure, progress = conditions.get("ReplicaFailure", {}), conditions.get("Progressing", {})
        seen = status.get("observedGeneration", 0) >= live["metadata"]["generation"]
        return cls(
            wanted=live["spec"]["replicas"],
            existing=status.get("replicas", 0),
            current=status.get("updatedReplicas", 0) if seen else 0,
            ready=status.get("readyReplicas", 0),
            failure=failure.get("message", "") if failure.get("status") == "True" else "",
            stuck=progress.get("message", "") if progress.get("status") == "False" else "",
        )

    @property
    def is_settled(self) -> bool:
        """Whether exactly the wanted processes exist, all of them current and ready."""
        return self.wanted == self.existing == self.current == self.ready


@dataclass(frozen=True, slots=True)
class SchedulerState:
    """What is known of the processes that run a profile."""

    processes: DeploymentState | None = None
    """None when somebody else runs the document."""
    leader: str = ""
    """The pod that holds the Lease."""
    hindrance: PodTrouble | None = None
    """What keeps their pods from running."""
    members: tuple[RunningMember, ...] = ()
    """Those that run, and what each goes by."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing is to be expected of them of which no event would tell: what pods wait for is not watched."""
        return self.processes is None or self.processes.wanted == 0 or self.processes.is_settled


def left_out(profile: UserObject, problems: Problems) -> Status:
    """The profile cannot run in the process that it joins, which goes on without it."""
    if profile.status.get("configMap") == generated_name(profile.name):
        return rejected(profile, problems)  # the process that it had before it wanted to join is still its own
    short = f"{problems.places()}; until then nobody schedules its pods"
    return {"warningCount": 0, **_stalled(profile, problems, short)}


def rejected(profile: UserObject, problems: Problems) -> Status:
    """Only its author can mend the profile. What runs already keeps running as it was."""
    short = problems.places()
    if profile.status.get("configHash"):
        short += "; until then the last good configuration stays in force"
    return {"warningCount": 0, **_in_force(profile), **_stalled(profile, problems, short)}


def _stalled(authored: UserObject, problems: Problems, short: str) -> Status:
    return _conditions(authored, "False", problems.reason, short, also="Stalled", whole=problems.listed())


def interrupted(profile: UserObject, error: str) -> Status:
    """Something that passes by itself kept the profile from being applied."""
    return {
        **_in_force(profile),
        **_conditions(profile, "Unknown", "RollingOut", "trying again", also="Reconciling", whole=error),
    }


def paused(profile: UserObject, owner: str) -> Status:
    """Nobody looks after the profile, or after its ``owner``, in whose process it runs."""
    whose = "" if owner == profile.name else f" of {owner}"
    message = f"spec.paused{whose} is true: what runs keeps running, and changes wait until it is false again"
    return {**_in_force(profile), **_conditions(profile, "Unknown", "Paused", message)}


def accepted(profile: UserObject, rendered: Rendered, running: SchedulerState) -> Status:
    """The profile is applied. It runs in the process of the first that was rendered, which may be another."""
    owner, member = next(iter(rendered.members)), rendered.members[profile.name]
    remark = kubernetes_versions.remark(rendered.version)
    status: Status = {
        "plugins": member.summary,
        "effectivePlugins": effective_plugins(member),
        **_warnings(member.findings),
        "configMap": generated_name(owner),
        "configHash": rendered.hash,
    }
    processes = running.processes
    if processes is None:
        message = f"ConfigMap {generated_name(owner)} holds the document under config.yaml"
        return {**status, **_remarked(_conditions(profile, "True", "Rendered", message), remark)}
    if running.leader:
        status["leader"] = running.leader
    if running.members:
        status["members"] = [each.shown() for each in running.members]
    if owner == profile.name:
        selector = ",".join(f"{key}={value}" for key, value in sorted(pod_labels(profile.name).items()))
        status |= {"replicas": processes.existing, "readyReplicas": processes.ready, "selector": selector}
    return {**status, **_remarked(_running(profile, processes, running, rendered.hash, owner), remark)}


def _warnings(findings: Sequence[Finding]) -> Status:
    """What the author should know, at most as many as a status holds, and how many there are."""
    shown = [
        {"code": each.code, "path": each.path, "message": _message(judging.with_suggestion(each))}
        for each in findings[:MOST_WARNINGS]
    ]
    return {"warnings": shown, "warningCount": len(findings)} if shown else {"warningCount": 0}


def _message(text: str) -> str:
    return cut(text, LONGEST_MESSAGE)


def _remarked(status: Status, remark: str) -> Status:
    """The status with a ``remark`` in Ready, which is always there."""
    if not remark:
        return status
    ready, *others = status["conditions"]
    return {**status, "conditions": [{**ready, "message": f"{ready['message']}; {remark}"}, *others]}


def _in_force(profile: UserObject) -> Status:
    """What the status says about the configuration that was applied last."""
    return {field: profile.status[field] for field in _IN_FORCE if field in profile.status}


def _running(
    profile: UserObject, processes: DeploymentState, running: SchedulerState, document: str, owner: str
) -> Status:
    hindrance = running.hindrance
    whose = "" if owner == profile.name else f" of {owner}"
    ready = _readiness(processes, whose)
    if processes.wanted == 0:
        message = f"spec.scheduler.replicas{whose} is 0: nobody schedules the pods of this profile"
        return _conditions(profile, "False", "NoMemberAvailable", message)
    if processes.is_settled:
        return _following(profile, running.members, document) or _conditions(profile, "True", "Scheduling", ready)
    is_lasting = bool(processes.stuck) or (hindrance is not None and hindrance.is_lasting)
    causes = [str(hindrance) if hindrance else "", processes.failure, processes.stuck]
    rollout = f"{processes.current} of {processes.wanted} have the newest configuration"
    hindered = is_lasting or bool(processes.failure)
    return _conditions(
        profile,
        "False",
        "NoMemberAvailable" if hindered and not processes.ready else "RollingOut",
        ready,
        also="Stalled" if is_lasting else "Reconciling",
        whole="; ".join(filter(None, causes)) or rollout,
    )


def _readiness(processes: DeploymentState, whose: str) -> str:
    """How many are ready. While a Deployment rolls, those that are to end may be among them."""
    ready, more = f"scheduler processes{whose} are ready", processes.ready - processes.wanted
    if more > 0:
        return f"{processes.ready} {ready}, {more} more than wanted until the older ones have ended"
    older = "" if more or processes.is_settled else ", not all by the newest configuration"
    return f"{processes.ready} of {processes.wanted} {ready}{older}"


def _following(profile: UserObject, members: Sequence[RunningMember], document: str) -> Status | None:
    """What there is to say while not every process goes by the newest document; None when all do."""
    behind = [each for each in members if not each.goes_by(document)]
    if not behind:
        return None
    refusals, waits = _told(behind, "refused", document), _told(behind, "waiting", document)
    short = f"{len(members) - len(behind)} of {len(members)} scheduler processes go by the newest configuration"
    if not refusals:
        whole = waits or "the others are about to follow it"
        return _conditions(profile, "False", "RollingOut", short, also="Reconciling", whole=whole)
    short += "; the last good one stays in force"
    return _conditions(profile, "False", "NotLoaded", short, also="Stalled", whole=refusals)


def _told(members: Iterable[RunningMember], verdict: Verdict, document: str) -> str:
    """What those of ``members`` say by which that became of the document, a line for each."""
    return "\n".join(f"pod {each.name}: {why}" for each in members if (why := each.why(verdict, document)))


def effective_plugins(member: Member) -> Status:
    """Every extension point at which plugins run, in order, with weights where they count."""
    points: Status = {}
    for point, plugins in member.effective.points.items():
        for plugin in plugins:
            if plugin.name not in member.absent:
                weight = {"weight": plugin.weight} if plugin.weight else {}
                points.setdefault(point, []).append({"name": plugin.name, **weight})
    return points


def plugin_config_status(plugin_config: UserObject, problems: Problems | None, used_by: Iterable[str]) -> Status:
    """What became of a PluginConfig."""
    users = {"usedBy": sorted(used_by)}
    if problems is not None:
        return {**users, **_stalled(plugin_config, problems, problems.places())}
    return {**users, **_conditions(plugin_config, "True", "Valid", "the arguments are valid")}


def _conditions(
    authored: UserObject,
    ready: Literal["True", "False", "Unknown"],
    reason: Reason | Literal["Valid"],
    message: str,
    also: Literal["Reconciling", "Stalled"] | None = None,
    whole: str = "",
) -> Status:
    """Ready with a short ``message``, and the condition that says the ``whole`` of why it is not."""
    common = {"observedGeneration": authored.generation, "reason": reason}
    conditions = [{"type": "Ready", "status": ready, **common, "message": _message(message)}]
    if also is not None:
        conditions.append({"type": also, "status": "True", **common, "message": _message(whole)})
    return {"observedGeneration": authored.generation, "conditions": conditions}
