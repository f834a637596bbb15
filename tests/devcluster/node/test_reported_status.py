"""The status of a pod, from what its containers are doing."""

from typing import Any

import pytest

from devcluster.node.pod.reported_status import (
    ContainerReport,
    PodReport,
    Running,
    State,
    Terminated,
    Waiting,
    container_status,
    desired_status,
    phase,
    status_patch,
    terminated,
)

Object = dict[str, Any]

NOW, EARLIER = "2026-11-18T10:00:00Z", "2026-11-18T09:00:00Z"
CREATING = Waiting("ContainerCreating")
RUNNING = Running(EARLIER)
DONE = Terminated(0, "Completed", EARLIER, NOW)
BROKEN = Terminated(1, "Error", EARLIER, NOW)


def container(state: State, **more: Any) -> ContainerReport:
    return ContainerReport(name=more.pop("name", "main"), image="berth:dev", state=state, **more)


def pod(*states: State, init: tuple[ContainerReport, ...] = (), **more: Any) -> PodReport:
    containers = [container(state, name=f"c{index}", ready=state is RUNNING) for index, state in enumerate(states)]
    return PodReport(address="127.1.2.3", containers=containers, init_containers=init, mounted=True, **more)


BACK_OFF = container(Waiting("CrashLoopBackOff"), last=BROKEN)


@pytest.mark.parametrize(
    ("report", "policy", "expected"),
    [
        pytest.param(pod(CREATING), "Always", "Pending", id="starting"),
        pytest.param(pod(RUNNING, CREATING), "Always", "Pending", id="one-not-started"),
        pytest.param(pod(RUNNING, RUNNING), "Always", "Running", id="running"),
        pytest.param(pod(RUNNING, BROKEN), "Never", "Running", id="one-still-runs"),
        pytest.param(pod(BROKEN), "Always", "Running", id="about-to-restart"),
        pytest.param(pod(BROKEN), "OnFailure", "Running", id="about-to-restart-on-failure"),
        pytest.param(PodReport(address="", containers=[BACK_OFF]), "Always", "Running", id="backing-off"),
        pytest.param(pod(DONE, DONE), "Never", "Succeeded", id="done"),
        pytest.param(pod(DONE, BROKEN), "Never", "Failed", id="one-failed"),
        pytest.param(pod(DONE), "OnFailure", "Succeeded", id="done-on-failure"),
        pytest.param(pod(DONE, ended=True), "Always", "Succeeded", id="stopped-in-good-order"),
        pytest.param(pod(BROKEN, ended=True), "Always", "Failed", id="killed"),
        pytest.param(pod(CREATING, ended=True), "Always", "Failed", id="never-started"),
        pytest.param(pod(CREATING, init=(container(RUNNING),)), "Always", "Pending", id="initialising"),
        pytest.param(pod(CREATING, init=(container(BROKEN),)), "Never", "Failed", id="init-failed"),
        pytest.param(pod(CREATING, init=(container(BROKEN),)), "Always", "Pending", id="init-tried-again"),
        pytest.param(pod(DONE, ended=True, failure=("DeadlineExceeded", "late")), "Never", "Failed", id="late"),
    ],
)
def test_phase(report: PodReport, policy: str, expected: str) -> None:
    assert phase(report, policy) == expected


def a_pod(conditions: list[Object] | None = None, **spec: Any) -> Object:
    return {
        "metadata": {"uid": "u", "generation": 2},
        "spec": {"containers": [], **spec},
        "status": {"conditions": conditions or []},
    }


def conditions(desired: Object) -> dict[str, Object]:
    return {condition["type"]: condition for condition in desired["conditions"]}


def test_a_running_ready_pod_says_so() -> None:
    desired = desired_status(a_pod(), pod(RUNNING), NOW)
    assert {kind: condition["status"] for kind, condition in conditions(desired).items()} == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready", "PodScheduled"), "True"
    )
    assert desired["phase"] == "Running"
    assert desired["observedGeneration"] == 2
    assert desired["podIPs"] == [{"ip": "127.1.2.3"}]


def test_an_unready_container_is_named() -> None:
    ready = conditions(desired_status(a_pod(), pod(RUNNING, BROKEN), NOW))["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
    assert ready["message"] == "containers with unready status: [c1]"


def test_a_finished_pod_is_not_ready_because_it_is_complete() -> None:
    desired = desired_status(a_pod(restartPolicy="Never"), pod(DONE), NOW)
    assert conditions(desired)["Ready"]["reason"] == "PodCompleted"


@pytest.mark.parametrize("gate_holds", [True, False])
def test_a_readiness_gate_keeps_the_pod_unready_until_it_holds(gate_holds: bool) -> None:
    gate = {"type": "example.com/Open", "status": str(gate_holds)}
    object_ = a_pod([gate], readinessGates=[{"conditionType": "example.com/Open"}])
    current = conditions(desired_status(object_, pod(RUNNING), NOW))
    assert current["ContainersReady"]["status"] == "True"
    assert current["Ready"]["status"] == str(gate_holds)
    assert gate_holds or "example.com/Open" in current["Ready"]["message"]


def test_a_condition_that_stays_keeps_its_moment() -> None:
    before = [{"type": "Ready", "status": "True", "lastTransitionTime": EARLIER}]
    current = conditions(desired_status(a_pod(before), pod(RUNNING), NOW))
    assert current["Ready"]["lastTransitionTime"] == EARLIER
    assert current["ContainersReady"]["lastTransitionTime"] == NOW


def as_stored(object_: Object, desired: Object) -> Object:
    """``asked`` as the API server keeps it after the patch: without nulls and empty values."""
    clean = [
        {key: value for key, value in condition.items() if value is not None} for condition in desired["conditions"]
    ]
    status = {key: value for key, value in desired.items() if value} | {"conditions": clean, "qosClass": "Burstable"}
    return {**object_, "status": status}


def test_an_equal_status_needs_no_patch() -> None:
    desired = desired_status(a_pod(), pod(RUNNING), NOW)
    stored = as_stored(a_pod(), desired)
    assert status_patch(stored, desired_status(stored, pod(RUNNING), "2026-11-18T11:00:00Z")) is None


def test_a_patch_has_only_what_differs_and_the_uid() -> None:
    stored = as_stored(a_pod(), desired_status(a_pod(), pod(RUNNING, RUNNING), NOW))
    patch = status_patch(stored, desired_status(stored, pod(RUNNING, BROKEN), NOW))
    assert patch is not None
    assert patch["metadata"] == {"uid": "u"}
    assert patch["status"].keys() == {"containerStatuses", "conditions"}
    assert {condition["type"] for condition in patch["status"]["conditions"]} == {"ContainersReady", "Ready"}


def test_foreign_conditions_are_never_in_a_patch() -> None:
    foreign = {"type": "berth.dev/ConfigLoaded", "status": "True"}
    patch = status_patch(a_pod([foreign]), desired_status(a_pod([foreign]), pod(RUNNING), NOW))
    assert patch is not None
    assert "berth.dev/ConfigLoaded" not in {condition["type"] for condition in patch["status"]["conditions"]}


def test_how_a_container_ended_can_be_read_back() -> None:
    end = Terminated(137, "Error", EARLIER, NOW, "out of luck", 9, "process://7")
    report = container(RUNNING, last=end, restarts=3, container_id="process://8")
    status = container_status(report)
    assert terminated(status["lastState"]["terminated"]) == end
    assert (status["restartCount"], status["containerID"]) == (3, "process://8")
    assert status["state"] == {"running": {"startedAt": EARLIER}}
