"""A profile's life on a real API server, with the rights that the chart gives the operator."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.operator.running import NAMESPACE, Installed, RunningOperator, profile
from tests.support.eventually import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("operator")]

EVERYTHING = {
    *("ConfigMap", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    *("Lease", "Service", "Deployment", "PodDisruptionBudget"),
}


@pytest.fixture(scope="module")
def lasting(installed: Installed, operator: RunningOperator) -> Iterator[str]:
    """A profile that is ready, for tests that leave it so."""
    installed.apply(profile("lasting"))
    eventually(lambda: installed.is_ready("lasting"), 30, explain=lambda: operator.log)
    yield "lasting"
    installed.delete("schedulerprofile", "lasting")


def versions(installed: Installed, name: str) -> dict[str, str]:
    """The resourceVersion of the profile and of everything made for it."""
    generated = {kind: item["metadata"]["resourceVersion"] for kind, item in installed.generated(name).items()}
    profile = installed.get("schedulerprofile", name)
    assert profile is not None
    return {**generated, "SchedulerProfile": profile["metadata"]["resourceVersion"]}


def test_a_profile_becomes_a_running_scheduler(installed: Installed, lasting: str) -> None:
    assert set(installed.generated(lasting)) == EVERYTHING
    profile = installed.get("schedulerprofile", lasting)
    assert profile is not None
    status = profile["status"]
    assert (status["replicas"], status["readyReplicas"]) == (2, 2)
    assert {condition["type"] for condition in status["conditions"]} == {"Ready", "Redundant"}
    assert status["conditions"][0]["reason"] == "Scheduling"
    assert installed.document(lasting)["profiles"] == [{"schedulerName": lasting}]


def test_a_second_look_changes_nothing(installed: Installed, lasting: str, operator: RunningOperator) -> None:
    before = versions(installed, lasting)
    looks = operator.metric("workqueue_adds_total")
    installed.patch("schedulerprofile", lasting, {"metadata": {"annotations": {"looked": "at"}}})
    eventually(lambda: operator.metric("workqueue_adds_total") > looks and operator.is_idle, 30)
    after = versions(installed, lasting)
    del before["SchedulerProfile"], after["SchedulerProfile"]  # the annotation is a change of its own
    assert after == before


def test_scaling_reaches_the_deployment(installed: Installed, lasting: str) -> None:
    installed.cluster.kubectl("scale", "schedulerprofile", lasting, "--replicas=3")
    eventually(lambda: installed.generated(lasting)["Deployment"]["spec"]["replicas"] == 3, 20)
    installed.cluster.kubectl("scale", "schedulerprofile", lasting, "--replicas=2")
    eventually(lambda: installed.is_ready(lasting), 20)


@pytest.mark.parametrize("kind", sorted(EVERYTHING))
def test_what_is_deleted_is_back(installed: Installed, lasting: str, kind: str) -> None:
    before = installed.generated(lasting)[kind]["metadata"]["uid"]
    name = installed.object_name(kind.lower(), lasting)
    installed.delete(kind.lower(), name)

    def another() -> bool:
        item = installed.get(kind.lower(), name)
        return item is not None and item["metadata"]["uid"] != before

    eventually(another, 20)


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "image": ("deployment", {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}, "hostNetwork": True}}}}),
    "replicas": ("deployment", {"spec": {"replicas": 7}}),
    "document": ("configmap", {"data": {"config.yaml": "nonsense", "more": "x"}}),
    "label": ("clusterrole", {"metadata": {"labels": {"more": "x"}}}),
    "rules": ("clusterrole", {"rules": []}),
    **{
        f"lost-label-of-{kind}": (kind, {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}})
        for kind in ("service", "clusterrole", "clusterrolebinding", "role", "rolebinding")
    },
    "lost-owner": ("serviceaccount", {"metadata": {"ownerReferences": []}}),
}


def shape(installed: Installed, kind: str, name: str) -> Any:
    """An object without what the API server writes into it."""
    item = installed.get(kind, name)
    assert item is not None
    metadata = {key: item["metadata"].get(key) for key in ("labels", "ownerReferences")}
    return {**{key: value for key, value in item.items() if key != "status"}, "metadata": metadata}


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_what_is_changed_is_changed_back(installed: Installed, lasting: str, change: str) -> None:
    kind, patch = CHANGES[change]
    name = installed.object_name(kind, lasting)
    before = shape(installed, kind, name)
    installed.patch(kind, name, patch)
    eventually(
        lambda: shape(installed, kind, name) == before,
        20,
        explain=lambda: str(installed.get("schedulerprofile", lasting)),
    )


def test_an_event_says_who_changed_what(installed: Installed, lasting: str) -> None:
    installed.cluster.kubectl("set", "env", "-n", NAMESPACE, f"deployment/berth-{lasting}", "MEDDLED=1")
    notes = eventually(lambda: [e for e in installed.events(lasting) if "MEDDLED" in e], 20)
    assert notes[0].startswith(f"kubectl-set changed Deployment berth-{lasting}: ")


def test_a_restart_that_somebody_asks_for_is_not_undone(installed: Installed, lasting: str) -> None:
    installed.cluster.kubectl("rollout", "restart", "-n", NAMESPACE, f"deployment/berth-{lasting}")
    installed.patch("schedulerprofile", lasting, {"metadata": {"annotations": {"looked": "again"}}})
    eventually(lambda: installed.is_ready(lasting), 20)
    template = installed.generated(lasting)["Deployment"]["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]


def test_a_binding_to_another_role_is_replaced(installed: Installed, lasting: str) -> None:
    binding = installed.generated(lasting)["ClusterRoleBinding"]
    installed.delete("clusterrolebinding", f"berth-{lasting}")
    binding["roleRef"]["name"] = "view"
    binding["metadata"] = {key: binding["metadata"][key] for key in ("name", "labels", "ownerReferences")}
    installed.cluster.kubectl("create", "-f", "-", input=json.dumps(binding), check=False)  # or it was made already

    def bound() -> bool:
        binding = installed.get("clusterrolebinding", f"berth-{lasting}")
        return binding is not None and binding["roleRef"]["name"] == f"berth-{lasting}"

    eventually(bound, 30)


def test_a_mistake_leaves_what_runs_as_it_is(installed: Installed, lasting: str) -> None:
    before = installed.document(lasting)
    installed.patch("schedulerprofile", lasting, {"spec": {"plugins": {"bind": {"disabled": [{"name": "*"}]}}}})
    stalled = eventually(lambda: installed.is_stalled_for(lasting, "Invalid"), 30)
    assert "spec.plugins.bind" in stalled["message"]
    assert installed.document(lasting) == before
    installed.patch("schedulerprofile", lasting, {"spec": {"plugins": None}})
    eventually(lambda: installed.is_ready(lasting), 30)


def test_a_changed_profile_changes_its_document_and_no_process(installed: Installed, lasting: str) -> None:
    before = installed.generated(lasting)["Deployment"]["metadata"]["generation"]
    installed.patch("schedulerprofile", lasting, {"spec": {"percentageOfNodesToScore": 30}})
    eventually(lambda: installed.is_ready(lasting), 30)
    assert installed.document(lasting)["profiles"][0]["percentageOfNodesToScore"] == 30
    assert installed.generated(lasting)["Deployment"]["metadata"]["generation"] == before
    installed.patch("schedulerprofile", lasting, {"spec": {"percentageOfNodesToScore": None}})
    eventually(lambda: installed.is_ready(lasting), 30)


def test_what_a_running_process_cannot_follow_rolls_the_processes(installed: Installed, lasting: str) -> None:
    def annotations() -> dict[str, str]:
        annotations: dict[str, str] = installed.generated(lasting)["Deployment"]["spec"]["template"]["metadata"][
            "annotations"
        ]
        return annotations

    before = annotations()
    installed.patch("schedulerprofile", lasting, {"spec": {"scheduler": {"clientConnection": {"qps": 7}}}})
    eventually(lambda: annotations()["berth.dev/process-hash"] != before["berth.dev/process-hash"], 30)
    installed.patch("schedulerprofile", lasting, {"spec": {"scheduler": None}})
    eventually(lambda: annotations() == before and installed.is_ready(lasting), 30)


def test_what_is_no_longer_needed_goes(installed: Installed) -> None:
    installed.apply(profile("shrinking"))
    eventually(lambda: set(installed.generated("shrinking")) == EVERYTHING, 20)
    installed.apply(profile("shrinking", scheduler={"replicas": 1}))
    eventually(lambda: set(installed.generated("shrinking")) == EVERYTHING - {"PodDisruptionBudget"}, 30)
    installed.apply(profile("shrinking", engine="ConfigMap"))
    eventually(lambda: set(installed.generated("shrinking")) == {"ConfigMap"}, 30)
    eventually(lambda: installed.condition("shrinking", "Ready").get("reason") == "Rendered", 30)
    installed.delete("schedulerprofile", "shrinking")


def test_a_paused_profile_is_not_touched(installed: Installed) -> None:
    installed.apply(profile("resting"))
    eventually(lambda: installed.is_ready("resting"), 30)
    installed.apply(profile("resting", paused=True))
    eventually(lambda: installed.condition("resting", "Ready").get("reason") == "Paused", 30)
    installed.delete("service", "berth-resting")
    installed.apply(profile("resting", paused=True, percentageOfNodesToScore=9))
    ready = eventually(lambda: installed.condition("resting", "Ready"), 30)
    assert ready["reason"] == "Paused"
    assert "Service" not in installed.generated("resting")
    installed.apply(profile("resting"))
    eventually(lambda: "Service" in installed.generated("resting"), 30)
    installed.delete("schedulerprofile", "resting")


def test_deleting_a_profile_leaves_nothing(installed: Installed) -> None:
    installed.apply(profile("passing"))
    eventually(lambda: installed.is_ready("passing"), 30)
    installed.delete("schedulerprofile", "passing")

    def remains() -> str:
        pods = installed.cluster.kubectl(
            "get", "pods", "-n", NAMESPACE, "-l", "berth.dev/profile=passing", "-o", "name"
        )
        return pods.stdout + " ".join(installed.generated("passing"))

    # The garbage collector learns of a new kind of owner only after up to 40 s.
    eventually(lambda: not remains(), 60)
