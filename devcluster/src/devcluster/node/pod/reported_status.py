"""The status of a pod as a kubelet reports it. Pure: from what the containers are doing to one patch, or to none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devcluster.node.api import Object

OWN_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready", "PodScheduled")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A container that does not run yet, or not at the moment."""

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
    """All that a status says about one container."""

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
    """All that the node knows about one pod."""

    address: str
    containers: Sequence[ContainerReport]
    init_containers: Sequence[ContainerReport] = ()
    mounted: bool = False
    ended: bool = False  # nothing of it will be started again
    failure: tuple[str, str] | None = None  # reason and message, when the pod was ended for a reason of its own


def phase(report: PodReport, restart_policy: str) -> str:
    """The phase, by the rules of a kubelet."""
    if report.failure is not None and report.ended:
        return "Failed"
    if any(_stays_failed(each, restart_policy, report.ended) for each in report.init_containers):
        return "Failed"
    if not _initialized(report):
        return "Failed" if report.ended else "Pending"
    if any(isinstance(each.state, Waiting) and each.last is None for each in report.containers):
        return "Failed" if report.ended else "Pending"
    running = any(isinstance(each.state, Running) for each in report.containers)
    if running or (restart_policy == "Always" and not report.ended):
        return "Running"
    ends = [_end(each) for each in report.containers]
    if all(end is not None and end.exit_code == 0 for end in ends):
        return "Succeeded"
    return "Failed" if report.ended or restart_policy == "Never" else "Running"


def _end(container: ContainerReport) -> Terminated | None:
    """How the container ended, the last time it did; None while it runs, and before."""
    match container.state:
        case Terminated():
            return container.state
        case Waiting():
            return container.last
        case Running():
            return None


def _stays_failed(container: ContainerReport, restart_policy: str, ended: bool) -> bool:
    end = _end(container)
    return end is not None and end.exit_code != 0 and (ended or restart_policy == "Never")


def _initialized(report: PodReport) -> bool:
    ends = [_end(each) for each in report.init_containers]
    return all(end is not None and end.exit_code == 0 for end in ends)


def desired_status(pod: Object, report: PodReport, now: str) -> Object:
    """The parts of the status that are the node's to say."""
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
        "containerStatuses": [container_status(each) for each in report.containers],
        "conditions": _conditions(pod, report, reached, now),
    }
    if report.init_containers:
        status["initContainerStatuses"] = [container_status(each) for each in report.init_containers]
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
    """Read back what ``container_status`` wrote."""
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
    """The node's own conditions, each with the moment at which it came to say what it says."""
    current = {each["type"]: each for each in pod.get("status", {}).get("conditions", [])}
    wanted = {
        "PodReadyToStartContainers": _condition(report.mounted and not report.ended),
        "Initialized": _initialized_condition(report, reached),
        "ContainersReady": _ready_condition(report, reached),
        "Ready": _gated(_ready_condition(report, reached), pod, current),
        "PodScheduled": _condition(True),
    }
    generation = _without_empty(observedGeneration=pod["metadata"].get("generation"))
    conditions = []
    for kind, condition in wanted.items():
        before = current.get(kind, {})
        same = before.get("status") == condition["status"]
        since = before["lastTransitionTime"] if same and before.get("lastTransitionTime") else now
        conditions.append({"type": kind, **condition, "lastTransitionTime": since, **generation})
    return conditions


def _condition(holds: bool, reason: str | None = None, message: str | None = None) -> Object:
    return {"status": "True" if holds else "False", "reason": reason, "message": message}


def _initialized_condition(report: PodReport, reached: str) -> Object:
    if _initialized(report):
        return _condition(True, "PodCompleted" if reached == "Succeeded" else None)
    left = [each.name for each in report.init_containers if (end := _end(each)) is None or end.exit_code != 0]
    return _condition(False, "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(left)}]")


def _ready_condition(report: PodReport, reached: str) -> Object:
    if reached in ("Succeeded", "Failed"):
        return _condition(False, "PodCompleted" if reached == "Succeeded" else "PodFailed")
    unready = [each.name for each in report.containers if not each.ready]
    if unready:
        return _condition(False, "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    return _condition(True)


def _gated(ready: Object, pod: Object, current: Mapping[str, Object]) -> Object:
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates", [])]
    missing = [gate for gate in gates if current.get(gate, {}).get("status") != "True"]
    if ready["status"] != "True" or not missing:
        return ready
    said = ", ".join(f'the condition "{gate}" is not "True"' for gate in missing)
    return _condition(False, "ReadinessGatesNotReady", f"readiness gates of this pod: {said}")


def status_patch(pod: Object, desired: Object) -> Object | None:
    """A strategic merge patch that makes the status of ``pod`` say ``desired``, or None when it does already.

    Conditions are merged by type, so those of others stay. The uid makes the API server refuse the patch for another
    pod of the same name.
    """
    current = pod.get("status", {})
    own = {each["type"]: each for each in current.get("conditions", [])}
    conditions = [each for each in desired["conditions"] if not _says(own.get(each["type"], {}), each)]
    others = {key: value for key, value in desired.items() if key != "conditions"}
    changed = {key: value for key, value in others.items() if (current.get(key) or None) != (value or None)}
    if "podIPs" in changed:
        changed["podIPs"] = [{"$patch": "replace"}, *desired["podIPs"]]  # else it would be merged, by address
    if conditions:
        changed["conditions"] = conditions
    return {"metadata": {"uid": pod["metadata"]["uid"]}, "status": changed} if changed else None


def _says(current: Object, wanted: Object) -> bool:
    return all((current.get(key) or None) == value for key, value in wanted.items())
