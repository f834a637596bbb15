"""State of the processes that run a profile, read from their Deployment, their Lease and their pods. Pure.

A Deployment reports only how many pods are ready. The rest is in the pods: each scheduler reports the document that it
has loaded in a condition of its own pod (one without a report, such as a kube-scheduler, is assumed to be up to date);
and the reason why a pod does not run is written by a kubelet into the state of the container, by another scheduler into
a condition.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from scheduler_operator.resources.names import HASH_ANNOTATION
from scheduler_runtime.catalog.bounds import cut
from scheduler_runtime.config import Failure, LoadReport, Verdict, read_failures, read_load_report

MAX_MEMBERS = 64
_CONTAINER = "scheduler"
_LONGEST_HOST = 63
_IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"}
    | {"RegistryUnavailable", "SignatureValidationFailed"}
)
_CRASH_LOOP = "CrashLoopBackOff"
_RESTARTS_OF_A_LOOP = 2
_STEADY_SECONDS = 600.0
"""After a container has run so long, a kubelet forgets earlier crashes."""


_MAX_LAST_WORDS = 5
_NO_ERROR = re.compile(r"""\s|Traceback |\S+Z (DEBUG|INFO|WARNING) |[IW]\d{4} |\{.*"level": ?"(debug|info|warning)\"""")
"""Lines of a log that are no errors: of Berth's scheduler as text and as JSON, of kube-scheduler, and of tracebacks."""
_LINE_HEADER = re.compile(r"\S+Z (ERROR|CRITICAL) |[EF]\d{4} [0-9:.]+ +\d+ \S+\] ")
"""The beginning of a line about an error: when, and where in the program."""
_FILE_OF_DOCUMENT = re.compile(r"/\S*/(config\.yaml|berth\.yaml)\b")


@dataclass(frozen=True, slots=True)
class DeploymentState:
    """Replica counts of a profile's Deployment, and what keeps it from more."""

    replicas: int
    """The number that the Deployment asks for."""
    existing: int
    current: int
    """The number with the newest configuration."""
    ready: int
    failure: str = ""
    """Why pods cannot be created."""
    stuck: str = ""
    """Why the newest ones have not become ready for a long time."""

    @classmethod
    def from_deployment(cls, live: Mapping[str, Any]) -> Self:
        """Read a Deployment as the API server sends it."""
        status = live.get("status", {})
        conditions = {condition["type"]: condition for condition in status.get("conditions", [])}
        failure, progress = conditions.get("ReplicaFailure", {}), conditions.get("Progressing", {})
        # Until the controller has seen the newest template, updatedReplicas counts pods of the one before.
        is_observed = status.get("observedGeneration", 0) >= live["metadata"]["generation"]
        return cls(
            replicas=live["spec"]["replicas"],
            existing=status.get("replicas", 0),
            current=status.get("updatedReplicas", 0) if is_observed else 0,
            ready=status.get("readyReplicas", 0),
            failure=failure.get("message", "") if failure.get("status") == "True" else "",
            stuck=progress.get("message", "") if is_observed and progress.get("status") == "False" else "",
        )

    @property
    def is_settled(self) -> bool:
        """True if exactly as many processes exist as requested, all of them current and ready."""
        return self.replicas == self.existing == self.current == self.ready

    @property
    def is_rolling(self) -> bool:
        """True while processes are made, or older ones have yet to end."""
        return not self.replicas == self.existing == self.current


@dataclass(frozen=True, slots=True)
class SchedulerMember:
    """One scheduler process."""

    name: str
    """Its pod."""
    is_leader: bool
    report: LoadReport | None
    """What the process reports of its document; None when it reports nothing."""
    started_with: str = ""
    """The hash of the document that it was started with, where it follows no other; empty otherwise."""
    failures: tuple[Failure, ...] = ()
    """The plugins and extenders that fail in nearly every attempt."""

    def has_loaded(self, document: str) -> bool:
        """Return whether the process runs by the document with that hash, as far as is known."""
        loaded = self.report.hash if self.report else self.started_with
        return loaded in ("", document)

    def error_for(self, verdict: Verdict, document: str) -> str:
        """Return why the document with that hash met with ``verdict``; empty when it did not."""
        report = self.report
        return report.error if report and (report.verdict, report.newest_hash) == (verdict, document) else ""

    def to_status(self, longest_error: int) -> dict[str, Any]:
        """Return the member as ``status.members`` shows it."""
        member: dict[str, Any] = {"name": self.name, "leader": self.is_leader}
        if self.report is not None:
            error = {"error": cut(self.report.error, longest_error)} if self.report.error else {}
            member |= {"configHash": self.report.hash, "loadedAt": self.report.loaded_at, **error}
        return member


@dataclass(frozen=True, slots=True)
class PodTrouble:
    """The reason why a pod does not run."""

    pod: str
    """Namespace and name of the pod."""
    reason: str
    message: str
    is_lasting: bool
    """True if the pod cannot run until somebody changes something."""
    others: int = 0
    """The number of other pods that do not run either."""

    @classmethod
    def of_pod(cls, pod: Mapping[str, Any]) -> Self | None:
        """Return the trouble that a pod reports; None when it reports none."""
        name = f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
        status = pod.get("status", {})
        for container in status.get("containerStatuses", ()):
            if container.get("ready"):
                continue
            waiting = container.get("state", {}).get("waiting", {})
            reason, message = waiting.get("reason", ""), waiting.get("message", "")
            last = container.get("lastState", {}).get("terminated", {})
            start, finish = last.get("startedAt"), last.get("finishedAt")
            is_short = True
            if start and finish:
                lasted = datetime.fromisoformat(finish) - datetime.fromisoformat(start)
                is_short = lasted.total_seconds() < _STEADY_SECONDS
            # Between two crashes of a loop the container runs for a moment, or has just ended: no reason says so then.
            has_crashed = container.get("restartCount", 0) >= _RESTARTS_OF_A_LOOP and bool(last.get("exitCode"))
            if reason == _CRASH_LOOP or (has_crashed and is_short):
                end = f"it ended with exit code {last.get('exitCode', 'unknown')}" if last else message
                words = last_words(str(last.get("message") or "")) or last.get("reason", "")
                return cls(name, _CRASH_LOOP, f"{end}: {words}" if words else end, is_lasting=True)
            if reason and message:
                return cls(name, reason, message, is_lasting=reason in _IMAGE_REASONS)
        for condition in status.get("conditions", ()):
            if (condition["type"], condition["status"]) == ("PodScheduled", "False") and condition.get("message"):
                return cls(name, condition.get("reason", "Pending"), condition["message"], is_lasting=False)
        return None

    def __str__(self) -> str:
        more = f" ({self.others} more wait)" if self.others else ""
        return f"pod {self.pod} waits: {self.reason}: {self.message}{more}"


@dataclass(frozen=True, slots=True)
class SchedulerState:
    """State of the processes that run a profile."""

    deployment: DeploymentState | None = None
    """None when somebody else runs the document."""
    leader: str = ""
    """The pod whose process holds the Lease and is alive."""
    other_holder: str = ""
    """Whoever else holds the Lease and renews it."""
    pod_trouble: PodTrouble | None = None
    """The reason why pods do not run."""
    members: tuple[SchedulerMember, ...] = ()
    """The processes that run, each with its document."""

    @property
    def is_settled(self) -> bool:
        """True if any further change would come as an event: the reasons why pods wait are not watched."""
        return self.deployment is None or self.deployment.replicas == 0 or self.deployment.is_settled

    @property
    def leading_member(self) -> SchedulerMember | None:
        """The process that schedules."""
        return next((member for member in self.members if member.is_leader), None)

    def goes_by(self, document: str) -> bool:
        """Return whether all processes that are wanted are ready and go by the document with that hash."""
        if self.deployment is None or self.deployment.replicas == 0:
            return True
        return self.deployment.is_settled and all(member.has_loaded(document) for member in self.members)

    def failure(self, document: str) -> str:
        """Return why the processes will not go by the document with that hash; empty while they still may."""
        if self.deployment is None or self.goes_by(document):
            return ""
        if self.deployment.stuck:
            trouble = str(self.pod_trouble) if self.pod_trouble else ""
            return "; ".join(filter(None, (trouble, self.deployment.failure, self.deployment.stuck)))
        refusals = ((member.name, member.error_for("refused", document)) for member in self.members)
        return "; ".join(f"pod {name}: {why}" for name, why in refusals if why)


def read_state(
    deployment: Mapping[str, Any] | None,
    lease: Mapping[str, Any],
    pods: Iterable[Mapping[str, Any]],
    *,
    is_silent: bool = False,
) -> SchedulerState:
    """Read the state from the API server's objects; ``deployment`` is None for an engine without processes.

    ``is_silent`` if the holder of the Lease has not renewed it for as long as it may be silent.
    """
    if deployment is None:
        return SchedulerState()
    pods = list(pods)
    leader = find_leader(lease, pods) if not is_silent else ""
    holder = _holder_name(lease)
    is_ours = any(_is_name_of(holder, pod) for pod in pods) or holder.startswith(f"{deployment['metadata']['name']}-")
    state = SchedulerState(
        DeploymentState.from_deployment(deployment),
        leader,
        other_holder="" if is_ours or is_silent else holder,
        members=running_members(pods, leader),
    )
    if state.is_settled or not (state.deployment and state.deployment.current):
        return state  # if there are pods, they are not of the newest configuration
    images = [str(container["image"]) for container in deployment["spec"]["template"]["spec"]["containers"]]
    return replace(state, pod_trouble=find_pod_trouble(pods, images))


def find_leader(lease: Mapping[str, Any], pods: Iterable[Mapping[str, Any]]) -> str:
    """Return the pod whose process holds the Lease; empty when nobody holds it, or that process is gone."""
    holder, renewed = _holder_name(lease), (lease.get("spec") or {}).get("renewTime") or ""
    for pod in pods:
        if holder and _is_name_of(holder, pod) and pod.get("status", {}).get("phase") == "Running":
            return str(pod["metadata"]["name"]) if _has_run_since(pod, renewed) else ""
    return ""


def _holder_name(lease: Mapping[str, Any]) -> str:
    """Return the host name of the holder: an identity is that name, an underscore and a random part."""
    return str((lease.get("spec") or {}).get("holderIdentity") or "").partition("_")[0]


def _is_name_of(host: str, pod: Mapping[str, Any]) -> bool:
    """Return whether a process that is called ``host`` runs in ``pod``: a kubelet cuts long names of hosts."""
    name = pod["metadata"]["name"]
    return host in (name, name[:_LONGEST_HOST].rstrip("-."))


def _has_run_since(pod: Mapping[str, Any], renewed: str) -> bool:
    """Return whether the process of ``pod`` can have renewed the Lease, which was at that time; True if unknown.

    Both times are of one machine, the node of the pod. A container that was started again later has another process.
    """
    for container in pod.get("status", {}).get("containerStatuses", ()):
        if container.get("name") != _CONTAINER:
            continue
        running = container.get("state", {}).get("running")
        if running is None:
            return False
        started = running.get("startedAt")
        if not (container.get("restartCount") and started and renewed):
            return True
        return datetime.fromisoformat(started) <= datetime.fromisoformat(renewed)
    return True


def running_members(pods: Iterable[Mapping[str, Any]], leader: str) -> tuple[SchedulerMember, ...]:
    """Return the processes that run in ``pods``, at most as many as a status holds, by name.

    ``leader`` is the pod that holds the Lease.
    """
    members = []
    for pod in pods:
        metadata, status = pod["metadata"], pod.get("status", {})
        name, conditions = metadata["name"], status.get("conditions", [])
        is_leader = name == leader
        # A leader that was told to end still schedules, until it has released the Lease.
        if status.get("phase") == "Running" and (is_leader or "deletionTimestamp" not in metadata):
            started_with = metadata.get("annotations", {}).get(HASH_ANNOTATION, "")
            report, failures = read_load_report(conditions), read_failures(conditions)
            members.append(SchedulerMember(name, is_leader, report, started_with, failures))
    return tuple(sorted(members, key=lambda member: (not member.is_leader, member.name))[:MAX_MEMBERS])


def find_pod_trouble(pods: Iterable[Mapping[str, Any]], images: Collection[str] = ()) -> PodTrouble | None:
    """Return the most serious trouble of the newest of ``pods``; None when none is reported.

    ``images`` are those of the newest pod template: by them pods are told apart that were created in one second.
    """
    # Trouble of an older template may be fixed already: only pods of the newest one count.
    current = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    if images:
        current = [pod for pod in current if {c["image"] for c in pod["spec"]["containers"]} == set(images)]
    if not current:
        return None
    newest = _template(max(current, key=lambda pod: str(pod["metadata"].get("creationTimestamp"))))
    troubles = [trouble for pod in current if _template(pod) == newest and (trouble := PodTrouble.of_pod(pod))]
    troubles.sort(key=lambda trouble: (not trouble.is_lasting, trouble.pod))
    return replace(troubles[0], others=len(troubles) - 1) if troubles else None


def last_words(log: str) -> str:
    """Return why a process ended, by the end of its log: the lines about errors, the last one first."""
    lines = [line for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if not _NO_ERROR.match(line)] or lines[-1:]
    words = (_FILE_OF_DOCUMENT.sub(r"\1", _LINE_HEADER.sub("", line)).strip() for line in reversed(errors))
    return "; ".join(list(dict.fromkeys(words))[:_MAX_LAST_WORDS])


def _template(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"].get("labels", {}).get("pod-template-hash", ""))
