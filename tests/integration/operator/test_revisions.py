"""All or nothing, the last good revision, and the way back, on a real API server (ADR 31)."""

import re
from typing import Any

import pytest

from tests.integration.operator.running import NAMESPACE, Installed, RunningOperator, profile
from tests.support.eventually import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("operator")]

NOWHERE = {"nodeSelector": {"nowhere": "x"}}
"""Pods with this never become ready."""
REFUSED = {"nodeSelector": {"!!": "x"}}
"""The API server refuses a Deployment with this."""
WITHOUT_SPREAD = {"multiPoint": {"disabled": [{"name": "PodTopologySpread"}]}}


def versions(installed: Installed, name: str) -> dict[str, str]:
    return {kind: item["metadata"]["resourceVersion"] for kind, item in installed.generated(name).items()}


def start(installed: Installed, name: str, **spec: Any) -> None:
    """Apply a profile and wait until its revision is the last good one."""
    installed.apply(profile(name, **spec))
    eventually(lambda: installed.is_ready(name) and installed.revisions(name), 30)


def granted(installed: Installed, name: str) -> set[str]:
    """The resources that the cluster-wide role of a profile names."""
    rules = installed.generated(name)["ClusterRole"].get("rules") or ()
    return {resource for rule in rules for resource in rule["resources"]}


def status(installed: Installed, name: str) -> dict[str, Any]:
    return dict((installed.get("schedulerprofile", name) or {})["status"])


def test_a_refused_change_changes_nothing(installed: Installed) -> None:
    start(installed, "whole")
    before, hash_before = versions(installed, "whole"), status(installed, "whole")["configHash"]

    installed.apply(profile("whole", plugins=WITHOUT_SPREAD, scheduler=REFUSED))
    stalled = eventually(lambda: installed.is_stalled_for("whole", "Invalid"), 30)

    assert "nodeSelector" in stalled["message"]
    assert "last good configuration stays active" in installed.condition("whole", "Ready")["message"]
    now = versions(installed, "whole")
    assert {**now, "Lease": ""} == {**before, "Lease": ""}
    assert status(installed, "whole")["configHash"] == hash_before
    assert {"name": "PodTopologySpread"} in [
        {"name": item["name"]} for item in status(installed, "whole")["effectivePlugins"]["filter"]
    ]
    installed.delete("schedulerprofile", "whole")


@pytest.mark.parametrize("spec", [{"scheduler": REFUSED}, {"plugins": {"bind": {"disabled": [{"name": "*"}]}}}])
def test_the_last_good_revision_is_looked_after_while_the_newest_is_refused(
    installed: Installed, operator: RunningOperator, spec: dict[str, Any]
) -> None:
    start(installed, "kept-up")
    installed.apply(profile("kept-up", **spec))
    eventually(lambda: installed.is_stalled_for("kept-up", "Invalid"), 30)
    config_map = installed.object_name("configmap", "kept-up")
    content = (installed.get("configmap", config_map) or {})["data"]

    installed.delete("configmap", config_map)
    installed.patch("clusterrole", "berth-kept-up", {"rules": []})
    installed.patch("deployment", "berth-kept-up", {"spec": {"replicas": 5}})

    eventually(lambda: (installed.get("configmap", config_map) or {}).get("data") == content, 30)
    eventually(lambda: "pods" in granted(installed, "kept-up"), 30, explain=lambda: operator.log)
    eventually(lambda: installed.generated("kept-up")["Deployment"]["spec"]["replicas"] == 2, 30)
    eventually(lambda: status(installed, "kept-up").get("readyReplicas") == 2, 30)
    assert installed.is_stalled_for("kept-up", "Invalid")
    installed.delete("schedulerprofile", "kept-up")


def test_another_operator_looks_after_the_last_good_revision_of_the_one_before(
    installed: Installed, operator: RunningOperator
) -> None:
    start(installed, "handed-on")
    installed.apply(profile("handed-on", scheduler=REFUSED))
    eventually(lambda: installed.is_stalled_for("handed-on", "Invalid"), 30)
    config_map = installed.object_name("configmap", "handed-on")
    operator.restart()
    installed.delete("configmap", config_map)
    eventually(lambda: installed.get("configmap", config_map), 40)
    installed.delete("schedulerprofile", "handed-on")


def test_permissions_are_taken_away_only_when_nobody_needs_them_any_more(installed: Installed) -> None:
    start(installed, "narrowing")
    before = granted(installed, "narrowing")
    assert "namespaces" in before
    old_config_map = installed.object_name("configmap", "narrowing")
    # Without these plugins no namespaces are read; with this selector no process without them comes up.
    without = [{"name": name} for name in ("PodTopologySpread", "InterPodAffinity")]
    spec = {"plugins": {"multiPoint": {"disabled": without}}}

    installed.apply(profile("narrowing", **spec, scheduler=NOWHERE))
    eventually(lambda: "nowhere" in str(installed.generated("narrowing")["Deployment"]), 30)

    assert granted(installed, "narrowing") == before
    assert installed.get("configmap", old_config_map), "pods that still run by it may start again"
    installed.apply(profile("narrowing", **spec))
    eventually(lambda: installed.is_ready("narrowing"), 30)
    eventually(lambda: granted(installed, "narrowing") < before, 30)
    eventually(lambda: len(installed.revisions("narrowing")) == 1, 30)
    installed.delete("schedulerprofile", "narrowing")


def test_what_does_not_become_ready_is_rolled_back_and_not_tried_again(
    installed: Installed, operator: RunningOperator
) -> None:
    deadline = {"progressDeadlineSeconds": 3}
    start(installed, "returning", scheduler=deadline)
    before = installed.generated("returning")["Deployment"]["spec"]["template"]
    hash_before = status(installed, "returning")["configHash"]

    installed.apply(profile("returning", plugins=WITHOUT_SPREAD, scheduler={**deadline, **NOWHERE}))
    stalled = eventually(lambda: installed.is_stalled_for("returning", "RolledBack"), 60, explain=lambda: operator.log)

    assert "progress" in stalled["message"]
    eventually(lambda: installed.generated("returning")["Deployment"]["spec"]["template"] == before, 20)
    eventually(lambda: status(installed, "returning").get("readyReplicas") == 2, 30)
    assert status(installed, "returning")["configHash"] == hash_before
    generation = installed.generated("returning")["Deployment"]["metadata"]["generation"]
    operator.restart()
    installed.patch("schedulerprofile", "returning", {"metadata": {"annotations": {"looked": "again"}}})
    eventually(lambda: installed.is_stalled_for("returning", "RolledBack"), 20)
    assert installed.generated("returning")["Deployment"]["metadata"]["generation"] == generation

    installed.apply(profile("returning", plugins=WITHOUT_SPREAD, scheduler=deadline))
    eventually(lambda: installed.is_ready("returning"), 30)
    assert status(installed, "returning")["configHash"] != hash_before
    installed.delete("schedulerprofile", "returning")


def test_labels_make_nothing_ours(installed: Installed) -> None:
    start(installed, "labelled")
    labels = {"app.kubernetes.io/managed-by": "berth", "berth.dev/profile": "labelled"}
    metadata = {"name": "strange", "labels": labels}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "namespace": NAMESPACE}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata}
    installed.apply(config_map, role)
    # Every look would have removed them.
    installed.apply(profile("labelled", percentageOfNodesToScore=9))
    eventually(lambda: installed.document("labelled")["profiles"][0].get("percentageOfNodesToScore") == 9, 30)
    eventually(lambda: installed.is_ready("labelled"), 30)
    assert installed.get("configmap", "strange")
    assert installed.get("clusterrole", "strange")
    installed.delete("configmap", "strange")
    installed.delete("clusterrole", "strange")
    installed.delete("schedulerprofile", "labelled")


def test_an_object_that_names_the_profile_among_its_owners_is_not_ours_for_that(installed: Installed) -> None:
    installed.apply(profile("forged", plugins={"bind": {"disabled": [{"name": "*"}]}}))
    eventually(lambda: installed.is_stalled_for("forged", "Invalid"), 30)
    uid = (installed.get("schedulerprofile", "forged") or {})["metadata"]["uid"]
    owner = {"apiVersion": "berth.dev/v1alpha1", "kind": "SchedulerProfile", "name": "forged", "uid": uid}
    metadata = {"name": "berth-forged", "namespace": NAMESPACE, "ownerReferences": [owner]}
    installed.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    installed.patch("schedulerprofile", "forged", {"spec": {"plugins": None}})
    taken = eventually(lambda: installed.is_stalled_for("forged", "NameTaken"), 30)
    assert "ServiceAccount berth-forged" in taken["message"]
    installed.delete("serviceaccount", "berth-forged")
    installed.delete("schedulerprofile", "forged")


def test_what_is_removed_is_told_in_an_event(installed: Installed) -> None:
    start(installed, "told")
    before = installed.object_name("configmap", "told")
    installed.apply(profile("told", scheduler={"logLevel": 3}))
    removed = f"removed what the profile does not need any more: ConfigMap {before}"
    eventually(lambda: removed in installed.events("told"), 30)
    installed.delete("schedulerprofile", "told")


def test_a_look_that_finds_nothing_to_do_writes_nothing(installed: Installed, operator: RunningOperator) -> None:
    start(installed, "steady")
    eventually(lambda: operator.is_idle, 20)

    def requests() -> dict[str, float]:
        text = operator.answers("/metrics")[1]
        found = re.findall(r'^rest_client_requests_total{code="(\d+)",method="(\w+)",.*} (\S+)$', text, re.MULTILINE)
        return {f"{method} {code}": float(count) for code, method, count in found}

    def since(before: dict[str, float]) -> dict[str, float]:
        return {what: count - before.get(what, 0) for what, count in requests().items() if count != before.get(what)}

    before, looks = requests(), operator.metric("controller_runtime_reconcile_total")
    installed.patch("deployment", "berth-steady", {"metadata": {"annotations": {"x": "1"}}})
    eventually(lambda: operator.metric("controller_runtime_reconcile_total") > looks and operator.is_idle, 20)
    sent = since(before)
    assert sent["POST 201"] == 1, "an event"
    assert sum(sent.values()) <= 9, f"tried, adopted and changed back, and once more if a controller was faster: {sent}"
    before, looks = requests(), operator.metric("controller_runtime_reconcile_total")
    for turn in range(5):
        installed.patch("schedulerprofile", "steady", {"metadata": {"annotations": {"turn": str(turn)}}})
    eventually(lambda: operator.metric("controller_runtime_reconcile_total") > looks and operator.is_idle, 20)
    # A watch that ends meanwhile begins anew, and the CRDs are looked at: both are GET.
    assert {what for what in since(before) if not what.startswith("GET")} == set()
    installed.delete("schedulerprofile", "steady")


def test_profiles_that_join_each_other_cost_nothing_when_they_have_been_told(
    installed: Installed, operator: RunningOperator
) -> None:
    installed.apply(profile("one", joins="other"), profile("other", joins="one"))
    for name in ("one", "other"):
        eventually(lambda name=name: installed.is_stalled_for(name, "JoinConflict"), 30)  # type: ignore[misc]
    eventually(lambda: operator.is_idle, 20)
    looks = operator.metric("controller_runtime_reconcile_total")
    installed.api.get("/version")
    eventually(lambda: operator.is_idle, 20)
    assert operator.metric("controller_runtime_reconcile_total") - looks <= 2
    for name in ("one", "other"):
        installed.delete("schedulerprofile", name)


def test_a_fight_is_braked_and_told(installed: Installed, operator: RunningOperator) -> None:
    start(installed, "contested")
    told = "changes Deployment berth-contested as often as it is changed back"

    def meddle() -> bool:
        installed.patch("deployment", "berth-contested", {"spec": {"template": {"metadata": {"labels": {"x": "y"}}}}})
        return any(told in note for note in installed.events("contested"))

    eventually(meddle, 60, every=0.5, explain=lambda: operator.log)
    before = installed.generated("contested")["Deployment"]["metadata"]["generation"]
    installed.patch("deployment", "berth-contested", {"spec": {"template": {"metadata": {"labels": {"x": "z"}}}}})
    installed.patch("schedulerprofile", "contested", {"metadata": {"annotations": {"looked": "at"}}})
    eventually(lambda: operator.is_idle, 20)
    assert installed.generated("contested")["Deployment"]["metadata"]["generation"] == before + 1, "not changed back"
    installed.delete("schedulerprofile", "contested")
