"""The status of a pod as a kubelet reports it. Pure: from the state of the containers to one patch, or to none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from devcluster.node.api import Object


@dataclass(frozen=True, slots=True)
class Waiting:
    """A container that does not run yet, or waits for its next run."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """A container that runs."""

    started_at: str


@dataclass(frozen=True, slots=True)
class Terminated:
    """A container that ran."""

    exit_code: int
    reason: str
    started_at: str
    finished_at: str
    message: str = ""
    signal: int = 0
    container_id: str = ""


State = Waiting | Running | Terminated


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerReport:
    """The state of one container, for the status."""

    name: str
    image: str
    state: State
    last: Terminated | None = None
    restarts: int = 0
    started: bool = False
    ready: bool = False
    container_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodReport:
    """The state of one pod on the node, for the status."""

    address: str
    containers: Sequence[ContainerReport]
    init_containers: Sequence[ContainerReport] = ()
    mounted: bool = False
    ended: bool = False  # no container will be started again
    failure: tuple[str, str] | None = None  # reason and message, when the pod was ended for a reason of its own


def phase(report: PodReport, restart_policy: str) -> str:
    """The phase, by the rules of a kubelet."""
    if report.failure is not None and report.ended:
        return "Failed"
    if _incomplete(report):
        failed = any((end := _end(container)) and end.exit_code != 0 for container in report.init_containers)
        return "Failed" if report.ended or (failed and restart_policy == "Never") else "Pending"
    if any(isinstance(container.state, Waiting) and container.last is None for container in report.containers):
        return "Failed" if report.ended else "Pending"
    running = any(isinstance(container.state, Running) for container in report.containers)
    if running or (restart_policy == "Always" and not report.ended):
        return "Running"
    ends = [_end(container) for container in report.containers]
    if all(end is not None and end.exit_code == 0 for end in ends):
        return "Succeeded"
    return "Failed" if report.ended or restart_policy == "Never" else "Running"


def _end(container: ContainerReport) -> Terminated | None:
    """The last end of the container; None while it runs, and before its first end."""
    match container.state:
        case Terminated():
            return container.state
        case Waiting():
            return container.last
        case Running():
            return None


def _incomplete(report: PodReport) -> list[str]:
    """The init containers that have not succeeded."""
    ends = {container.name: _end(container) for container in report.init_containers}
    return [name for name, end in ends.items() if end is None or end.exit_code != 0]


def desired_status(pod: Object, report: PodReport, now: str) -> Object:
    """The parts of the status that the node reports."""
    policy = pod["spec"].get("restartPolicy", "Always")
    current = pod.get("status", {})
    reached = phase(report, policy)
    reason, message = report.failure or (None, None)
    status = {
        "phase": reached,
        "reason": reason,
        "message": message,
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "podIP": report.address,
        "podIPs": [{"ip": report.address}],
        "startTime": current.get("startTime", now),
        "containerStatuses": [container_status(container) for container in report.containers],
        "conditions": _conditions(pod, report, reached, now),
    }
    if report.init_containers:
        status["initContainerStatuses"] = [container_status(container) for container in report.init_containers]
    if "generation" in pod["metadata"]:
        status["observedGeneration"] = pod["metadata"]["generation"]
    return status


def container_status(report: ContainerReport) -> Object:
    """One entry of containerStatuses."""
    status = {
        "name": report.name,
        "image": report.image,
        "imageID": "",
        "restartCount": report.restarts,
        "ready": report.ready,
        "started": report.started,
        "state": _state(report.state),
        "lastState": _state(report.last) if report.last else {},
    }
    if report.container_id:
        status["containerID"] = report.container_id
    return status


def _state(state: State) -> Object:
    match state:
        case Waiting():
            return {"waiting": _without_empty(reason=state.reason, message=state.message)}
        case Running():
            return {"running": {"startedAt": state.started_at}}
        case Terminated():
            optional = _without_empty(message=state.message, signal=state.signal, containerID=state.container_id)
            return {
                "terminated": {
                    "exitCode": state.exit_code,
                    "reason": state.reason,
                    "startedAt": state.started_at,
                    "finishedAt": state.finished_at,
                    **optional,
                }
            }


def terminated(state: Object) -> Terminated:
    """Read a ``terminated`` state back, as ``container_status`` made it."""
    return Terminated(
        exit_code=state["exitCode"],
        reason=state.get("reason", ""),
        started_at=state["startedAt"],
        finished_at=state["finishedAt"],
        message=state.get("message", ""),
        signal=state.get("signal", 0),
        container_id=state.get("containerID", ""),
    )


def _without_empty(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _conditions(pod: Object, report: PodReport, reached: str, now: str) -> list[Object]:
    """The node's own conditions, each with the moment of its last change."""
    current = {condition["type"]: condition for condition in pod.get("status", {}).get("conditions", [])}
    initialized = _condition(True, "PodCompleted" if reached == "Succeeded" else None)
    if incomplete := _incomplete(report):
        message = f"containers with incomplete status: [{' '.join(incomplete)}]"
        initialized = _condition(False, "ContainersNotInitialized", message)
    containers_ready = ready = _containers_ready(report, reached)
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates", [])]
    closed = [gate for gate in gates if current.get(gate, {}).get("status") != "True"]
    if containers_ready["status"] == "True" and closed:
        reasons = ", ".join(f'the condition "{gate}" is not "True"' for gate in closed)
        ready = _condition(False, "ReadinessGatesNotReady", f"readiness gates of this pod: {reasons}")
    desired = {
        "PodReadyToStartContainers": _condition(report.mounted and not report.ended),
        "Initialized": initialized,
        "ContainersReady": containers_ready,
        "Ready": ready,
        "PodScheduled": _condition(True),
    }
    generation = _without_empty(observedGeneration=pod["metadata"].get("generation"))
    conditions = []
    for kind, condition in desired.items():
        before = current.get(kind, {})
        same = before.get("status") == condition["status"]
        since = before["lastTransitionTime"] if same and before.get("lastTransitionTime") else now
        conditions.append({"type": kind, **condition, "lastTransitionTime": since, **generation})
    return conditions


def _condition(holds: bool, reason: str | None = None, message: str | None = None) -> Object:
    return {"status": "True" if holds else "False", "reason": reason, "message": message}


def _containers_ready(report: PodReport, reached: str) -> Object:
    if reached in ("Succeeded", "Failed"):
        return _condition(False, "PodCompleted" if reached == "Succeeded" else "PodFailed")
    unready = [container.name for container in report.containers if not container.ready]
    if unready:
        return _condition(False, "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    return _condition(True)


def status_patch(pod: Object, desired: Object) -> Object | None:
    """A strategic merge patch from the status of ``pod`` to ``desired``, or None when they are equal.

    Conditions are merged by type, so those of others stay. The uid makes the API server refuse the patch for another
    pod of the same name.
    """
    current = pod.get("status", {})
    before = {condition["type"]: condition for condition in current.get("conditions", [])}
    conditions = [
        condition
        for condition in desired["conditions"]
        if any((before.get(condition["type"], {}).get(key) or None) != value for key, value in condition.items())
    ]
    others = {key: value for key, value in desired.items() if key != "conditions"}
    changed = {key: value for key, value in others.items() if (current.get(key) or None) != (value or None)}
    if "podIPs" in changed:
        changed["podIPs"] = [{"$patch": "replace"}, *desired["podIPs"]]  # else it would be merged, by address
    if conditions:
        changed["conditions"] = conditions
    return {"metadata": {"uid": pod["metadata"]["uid"]}, "status": changed} if changed else None
