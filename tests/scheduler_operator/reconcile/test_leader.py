"""The leader, as the Lease and the pods tell of it: nobody, when its process is gone."""

from typing import Any

import pytest

from scheduler_operator.reconcile.scheduler_state import find_leader, read_state

NAME = "berth-bin-packing-5d8f7c9b6d-x2x4z"
RENEWED = "2026-01-01T00:00:10.500000Z"


def lease(holder: str = f"{NAME}_4f1c") -> dict[str, Any]:
    return {"metadata": {"name": "berth-bin-packing"}, "spec": {"holderIdentity": holder, "renewTime": RENEWED}}


def pod(
    name: str = NAME, phase: str = "Running", state: Any = None, container: str = "scheduler", restarts: int = 1
) -> dict[str, Any]:
    statuses = [{"name": container, "state": state, "restartCount": restarts}] if state is not None else []
    return {"metadata": {"name": name}, "status": {"phase": phase, "containerStatuses": statuses}}


def running(since: str) -> dict[str, Any]:
    return {"running": {"startedAt": since}}


LONG = "berth-" + "a" * 52 + "-5d8f7c9b6d-x2x4z"


@pytest.mark.parametrize(
    ("held", "pods", "expected"),
    [
        pytest.param(lease(), [pod("another"), pod()], NAME, id="alive"),
        pytest.param(lease(), [pod(state=running("2026-01-01T00:00:10Z"))], NAME, id="started-before-it-renewed"),
        pytest.param(
            lease(), [pod(state=running("2026-01-01T01:00:00Z"), restarts=0)], NAME, id="its-clock-was-set-back"
        ),
        pytest.param(lease(), [pod(state=running("2026-01-01T00:00:11Z"))], "", id="another-process-in-its-container"),
        pytest.param(lease(), [pod(state={"waiting": {"reason": "CrashLoopBackOff"}})], "", id="it-crashed"),
        pytest.param(lease(), [pod(state={"waiting": {}}, container="sidecar")], NAME, id="a-sidecar-crashed"),
        pytest.param(lease(), [], "", id="its-pod-was-deleted-by-force"),
        pytest.param(lease(), [pod(phase="Failed")], "", id="its-pod-was-evicted"),
        pytest.param(lease(""), [pod(), pod("")], "", id="released"),
        pytest.param({}, [pod()], "", id="no-lease"),
        pytest.param(lease(f"{LONG[:63]}_4f1c"), [pod(LONG)], LONG, id="a-host-name-that-a-kubelet-has-cut"),
    ],
)
def test_the_leader_is_the_pod_whose_process_holds_the_lease(held: Any, pods: list[Any], expected: str) -> None:
    assert find_leader(held, pods) == expected


DEPLOYMENT: dict[str, Any] = {
    "metadata": {"name": "berth-bin-packing", "generation": 1},
    "spec": {"replicas": 1},
    "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1},
}


def test_a_leader_that_is_silent_leads_no_more() -> None:
    alive = read_state(DEPLOYMENT, lease(), [pod()])
    assert (alive.leader, alive.leading_member is not None) == (NAME, True)
    silent = read_state(DEPLOYMENT, lease(), [pod()], is_silent=True)
    assert (silent.leader, silent.leading_member, silent.other_holder) == ("", None, "")


def test_whoever_holds_the_lease_instead_of_our_pods_is_named() -> None:
    assert read_state(DEPLOYMENT, lease("thief"), [pod()]).other_holder == "thief"
    # One of ours, whose pod is gone.
    assert read_state(DEPLOYMENT, lease(), []).other_holder == ""
