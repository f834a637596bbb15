"""A profile's life on a real API server, with the rights that the chart gives the operator."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.integration.operator.running import NAMESPACE, Installed, OperatorProcess, plugin_config, profile
from tests.support.eventually import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("operator")]

EVERYTHING = {
    *("ConfigMap", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    *("Lease", "Service", "Deployment", "PodDisruptionBudget"),
}


@pytest.fixture(scope="module")
def lasting(installed: Installed, operator: OperatorProcess) -> Iterator[str]:
    """A profile that is ready, for tests that leave it so."""
    installed.apply(profile("lasting"))
    eventually(lambda: installed.is_ready("lasting"), 30, explain=lambda: operator.log)
    yield "lasting"
    installed.delete("schedulerprofile", "lasting")


def document(installed: Installed, name: str) -> Any:
    found = installed.get("configmap", f"berth-{name}")
    return yaml.safe_load(found["data"]["config.yaml"]) if found else {}


def versions(installed: Installed, name: str) -> dict[str, str]:
    """The resourceVersion of the profile and of everything made for it."""
    generated = {kind: each["metadata"]["resourceVersion"] for kind, each in installed.generated(name).items()}
    written = installed.get("schedulerprofile", name)
    assert written is not None
    return {**generated, "SchedulerProfile": written["metadata"]["resourceVersion"]}


def test_a_profile_becomes_a_running_scheduler(installed: Installed, lasting: str) -> None:
    assert set(installed.generated(lasting)) == EVERYTHING
    found = installed.get("schedulerprofile", lasting)
    assert found is not None
    status = found["status"]
    assert (status["replicas"], status["readyReplicas"]) == (2, 2)
    assert {condition["type"] for condition in status["conditions"]} == {"Ready"}
    assert status["conditions"][0]["reason"] == "Scheduling"
    assert document(installed, lasting)["profiles"] == [{"schedulerName": lasting}]


def test_a_second_look_changes_nothing(installed: Installed, lasting: str, operator: OperatorProcess) -> None:
    before = versions(installed, lasting)
    looks = operator.metric("workqueue_adds_total")
    installed.patch("schedulerprofile", lasting, {"metadata": {"annotations": {"looked": "at"}}})
    eventually(lambda: operator.metric("workqueue_adds_total") > looks and operator.is_idle, 10)
    after = versions(installed, lasting)
    del before["SchedulerProfile"], after["SchedulerProfile"]  # the annotation is a change of its own
    assert after == before


def test_scaling_reaches_the_deployment(installed: Installed, lasting: str) -> None:
    installed.cluster.kubectl("scale", "schedulerprofile", lasting, "--replicas=3")
    eventually(lambda: installed.generated(lasting)["Deployment"]["spec"]["replicas"] == 3, 10)
    installed.cluster.kubectl("scale", "schedulerprofile", lasting, "--replicas=2")
    eventually(lambda: installed.is_ready(lasting), 20)


@pytest.mark.parametrize("kind", sorted(EVERYTHING))
def test_what_is_deleted_is_back_within_five_seconds(installed: Installed, lasting: str, kind: str) -> None:
    before = installed.generated(lasting)[kind]["metadata"]["uid"]
    installed.delete(kind.lower(), f"berth-{lasting}")

    def another() -> bool:
        found = installed.get(kind.lower(), f"berth-{lasting}")
        return found is not None and found["metadata"]["uid"] != before

    eventually(another, 5)


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
    found = installed.get(kind, name)
    assert found is not None
    metadata = {key: found["metadata"].get(key) for key in ("labels", "ownerReferences")}
    return {**{key: value for key, value in found.items() if key != "status"}, "metadata": metadata}


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_what_is_changed_is_changed_back(installed: Installed, lasting: str, change: str) -> None:
    kind, patch = CHANGES[change]
    before = shape(installed, kind, f"berth-{lasting}")
    installed.patch(kind, f"berth-{lasting}", patch)
    eventually(lambda: shape(installed, kind, f"berth-{lasting}") == before, 5)


def test_who_changed_what_is_told_in_an_event(installed: Installed, lasting: str) -> None:
    installed.cluster.kubectl("set", "env", "-n", NAMESPACE, f"deployment/berth-{lasting}", "MEDDLED=1")
    told = eventually(lambda: [e for e in installed.events(lasting) if "MEDDLED" in e], 5)
    assert told[0].startswith(f"kubectl-set changed Deployment berth-{lasting}: ")


def test_a_restart_that_somebody_asks_for_is_not_undone(installed: Installed, lasting: str) -> None:
    installed.cluster.kubectl("rollout", "restart", "-n", NAMESPACE, f"deployment/berth-{lasting}")
    installed.patch("schedulerprofile", lasting, {"metadata": {"annotations": {"looked": "again"}}})
    eventually(lambda: installed.is_ready(lasting), 20)
    template = installed.generated(lasting)["Deployment"]["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]


def test_a_binding_to_another_role_is_made_anew(installed: Installed, lasting: str) -> None:
    binding = installed.generated(lasting)["ClusterRoleBinding"]
    installed.delete("clusterrolebinding", f"berth-{lasting}")
    binding["roleRef"]["name"] = "view"
    binding["metadata"] = {key: binding["metadata"][key] for key in ("name", "labels", "ownerReferences")}
    installed.cluster.kubectl("create", "-f", "-", input=json.dumps(binding), check=False)  # or it was made already

    def bound() -> bool:
        found = installed.get("clusterrolebinding", f"berth-{lasting}")
        return found is not None and found["roleRef"]["name"] == f"berth-{lasting}"

    eventually(bound, 10)


def test_an_unknown_plugin_stalls_the_profile(installed: Installed) -> None:
    installed.apply(profile("mistaken", plugins={"score": {"enabled": [{"name": "NodeResourceFit"}]}}))
    stalled = eventually(lambda: installed.is_stalled_for("mistaken", "PluginUnknown"), 10)
    assert "NodeResourceFit" in stalled["message"]
    assert "NodeResourcesFit" in stalled["message"]
    assert installed.generated("mistaken") == {}
    installed.apply(profile("mistaken"))
    eventually(lambda: installed.is_ready("mistaken"), 30)
    installed.delete("schedulerprofile", "mistaken")


def test_a_mistake_leaves_what_runs_as_it_is(installed: Installed, lasting: str) -> None:
    before = document(installed, lasting)
    installed.patch("schedulerprofile", lasting, {"spec": {"plugins": {"bind": {"disabled": [{"name": "*"}]}}}})
    stalled = eventually(lambda: installed.is_stalled_for(lasting, "Invalid"), 10)
    assert "spec.plugins.bind" in stalled["message"]
    assert document(installed, lasting) == before
    installed.patch("schedulerprofile", lasting, {"spec": {"plugins": None}})
    eventually(lambda: installed.is_ready(lasting), 10)


def test_what_has_to_be_changed_can_be_read_in_a_terminal(installed: Installed) -> None:
    unknown = {"enabled": [{"name": "Nonsense"}]}
    installed.apply(profile("readable", plugins={"filter": unknown, "score": unknown}))
    eventually(lambda: installed.is_stalled_for("readable", "PluginUnknown"), 10)
    eventually(lambda: installed.events("readable"), 10)

    described = installed.cluster.kubectl("describe", "schedulerprofile", "readable").stdout.splitlines()

    listed = [line for line in described if line.startswith("      - spec.plugins.")]
    assert [line.partition(": ")[0] for line in listed] == [
        "      - spec.plugins.filter.enabled[0].name",
        "      - spec.plugins.score.enabled[0].name",
    ]
    shown = installed.cluster.kubectl("get", "schedulerprofile", "readable").stdout.splitlines()[1]
    assert shown.split()[:5] == ["readable", "Python", "False", "PluginUnknown", "0"]
    installed.apply(profile("readable"))
    eventually(lambda: installed.is_ready("readable"), 30)
    eventually(lambda: len(installed.events("readable")) > 1, 10)
    told = {note.partition(": ")[0] for note in installed.events("readable")}
    assert told == {"2 problems", "no longer stalled"}
    assert len(installed.events("readable")) == len(told)
    installed.delete("schedulerprofile", "readable")


def test_a_changed_profile_rolls_its_processes(installed: Installed, lasting: str) -> None:
    before = installed.generated(lasting)["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    installed.patch("schedulerprofile", lasting, {"spec": {"percentageOfNodesToScore": 30}})
    eventually(lambda: installed.is_ready(lasting), 30)
    after = installed.generated(lasting)["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    assert after["berth.dev/config-hash"] != before["berth.dev/config-hash"]
    assert document(installed, lasting)["profiles"][0]["percentageOfNodesToScore"] == 30
    installed.patch("schedulerprofile", lasting, {"spec": {"percentageOfNodesToScore": None}})
    eventually(lambda: installed.is_ready(lasting), 30)


def test_what_is_no_longer_wanted_goes(installed: Installed) -> None:
    installed.apply(profile("shrinking"))
    eventually(lambda: set(installed.generated("shrinking")) == EVERYTHING, 20)
    installed.apply(profile("shrinking", scheduler={"replicas": 1}))
    eventually(lambda: set(installed.generated("shrinking")) == EVERYTHING - {"PodDisruptionBudget"}, 10)
    installed.apply(profile("shrinking", engine="ConfigMap"))
    eventually(lambda: set(installed.generated("shrinking")) == {"ConfigMap"}, 10)
    assert installed.condition("shrinking", "Ready")["reason"] == "Rendered"
    installed.delete("schedulerprofile", "shrinking")


def users(installed: Installed, plugin_config: str) -> Any:
    found = installed.get("pluginconfig", plugin_config) or {}
    return found.get("status", {}).get("usedBy")


def test_a_plugin_config_reaches_its_users_and_knows_them(installed: Installed) -> None:
    installed.apply(profile("referring", pluginConfig=[{"name": "NodeResourcesFit", "ref": "shared"}]))
    eventually(lambda: installed.is_stalled_for("referring", "PluginConfigMissing"), 10)

    installed.apply(plugin_config("shared", "NodeResourcesFit", scoringStrategy={"type": "MostAllocated"}))

    eventually(lambda: installed.is_ready("referring"), 30)
    args = document(installed, "referring")["profiles"][0]["pluginConfig"][0]["args"]
    assert args == {"scoringStrategy": {"type": "MostAllocated"}}
    eventually(lambda: users(installed, "shared") == ["referring"], 10)

    installed.apply(plugin_config("shared", "NodeResourcesFit", scoringStrategy={"type": "Most"}))
    stalled = eventually(lambda: installed.is_stalled_for("referring", "Invalid"), 10)
    assert "PluginConfig shared: spec.args.scoringStrategy.type" in stalled["message"]
    assert installed.condition("shared", "Stalled", "pluginconfig")["reason"] == "Invalid"

    installed.delete("schedulerprofile", "referring")
    eventually(lambda: users(installed, "shared") == [], 10)
    installed.delete("pluginconfig", "shared")


def test_a_paused_profile_is_left_alone(installed: Installed) -> None:
    installed.apply(profile("resting"))
    eventually(lambda: installed.is_ready("resting"), 30)
    installed.apply(profile("resting", paused=True))
    eventually(lambda: installed.condition("resting", "Ready").get("reason") == "Paused", 10)
    installed.delete("service", "berth-resting")
    installed.apply(profile("resting", paused=True, percentageOfNodesToScore=9))
    found = eventually(lambda: installed.condition("resting", "Ready"), 10)
    assert found["reason"] == "Paused"
    assert "Service" not in installed.generated("resting")
    installed.apply(profile("resting"))
    eventually(lambda: "Service" in installed.generated("resting"), 10)
    installed.delete("schedulerprofile", "resting")


def test_an_object_of_somebody_else_is_not_taken_over(installed: Installed) -> None:
    metadata = {"name": "berth-wanting", "namespace": NAMESPACE}
    installed.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    installed.apply(profile("wanting"))

    stalled = eventually(lambda: installed.is_stalled_for("wanting", "NameTaken"), 10)

    assert "ServiceAccount berth-wanting" in stalled["message"]
    assert installed.generated("wanting") == {}
    installed.delete("serviceaccount", "berth-wanting")
    eventually(lambda: installed.is_ready("wanting"), 30)
    installed.delete("schedulerprofile", "wanting")


def test_what_the_api_server_refuses_is_told_in_its_words(installed: Installed) -> None:
    resources = {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}
    installed.apply(profile("greedy", scheduler={"resources": resources}))
    stalled = eventually(lambda: installed.is_stalled_for("greedy", "Invalid"), 10)
    assert "must be less than or equal to memory limit" in stalled["message"]
    installed.delete("schedulerprofile", "greedy")


@pytest.fixture
def webhook(installed: Installed) -> Iterator[str]:
    """A webhook that nobody answers, in the way of the Deployments of a profile whose name this is."""
    hook = {
        "name": "hinder.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments"]}],
        "objectSelector": {"matchLabels": {"berth.dev/profile": "hindered"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = "ValidatingWebhookConfiguration"
    api_version = "admissionregistration.k8s.io/v1"
    metadata = {"name": "hinder"}
    installed.apply({"apiVersion": api_version, "kind": kind, "metadata": metadata, "webhooks": [hook]})
    yield "hindered"
    installed.cluster.kubectl("delete", kind, "hinder", "--ignore-not-found")


def test_what_passes_by_itself_is_being_reconciled(installed: Installed, webhook: str) -> None:
    installed.apply(profile(webhook))
    reconciling = eventually(lambda: installed.condition(webhook, "Reconciling"), 10)
    assert "failed calling webhook" in reconciling["message"]
    assert installed.condition(webhook, "Stalled") == {}

    installed.cluster.kubectl("delete", "validatingwebhookconfiguration", "hinder")

    eventually(lambda: installed.is_ready(webhook), 60)
    installed.delete("schedulerprofile", webhook)


@pytest.fixture
def policy(installed: Installed) -> Iterator[str]:
    """An admission policy that wants no ServiceAccount for a profile whose name this is."""
    api_version = "admissionregistration.k8s.io/v1"
    metadata = {"name": "bar"}
    accounts = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["serviceaccounts"]}
    constraints = {"resourceRules": [accounts], "objectSelector": {"matchLabels": {"berth.dev/profile": "barred"}}}
    validations = [{"expression": "false", "message": "not in this house"}]
    spec = {"matchConstraints": constraints, "validations": validations}
    binding = {"policyName": "bar", "validationActions": ["Deny"]}
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    for kind, wanted in zip(kinds, (spec, binding), strict=True):
        installed.apply({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": wanted})
    labelled = {"name": "x", "namespace": NAMESPACE, "labels": {"berth.dev/profile": "barred"}}
    account = json.dumps({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": labelled})
    attempt = ("create", "--dry-run=server", "-f", "-")
    kubectl = installed.cluster.kubectl
    eventually(lambda: "house" in kubectl(*attempt, input=account, check=False).stderr, 10)  # it takes a moment
    yield "barred"
    for kind in kinds:
        installed.cluster.kubectl("delete", kind, "bar", "--ignore-not-found")


def test_what_a_policy_refuses_is_not_blamed_on_the_profile(installed: Installed, policy: str) -> None:
    installed.apply(profile(policy))
    stalled = eventually(lambda: installed.is_stalled_for(policy, "PermissionMissing"), 10)
    assert stalled["message"].startswith("the cluster's admission control refuses serviceaccounts/berth-barred: ")
    assert "ValidatingAdmissionPolicy 'bar'" in stalled["message"]
    assert "spec.scheduler" not in stalled["message"]
    installed.delete("schedulerprofile", policy)


def test_a_right_that_the_operator_cannot_pass_on_is_named(installed: Installed) -> None:
    catalog = installed.get("clusterrole", "berth-catalog-permissions")
    assert catalog is not None
    without = [rule for rule in catalog["rules"] if rule["resources"] != ["pods/binding"]]
    installed.patch("clusterrole", "berth-catalog-permissions", {"rules": without})
    installed.apply(profile("powerless"))

    stalled = eventually(lambda: installed.is_stalled_for("powerless", "PermissionMissing"), 10)

    assert 'Resources:["pods/binding"], Verbs:["create"]' in stalled["message"]
    installed.patch("clusterrole", "berth-catalog-permissions", {"rules": catalog["rules"]})
    eventually(lambda: installed.is_ready("powerless"), 60)
    installed.delete("schedulerprofile", "powerless")


DECLARING: dict[str, Any] = {
    "apiVersion": "berth.dev/v1alpha1",
    "kind": "PluginConfig",
    "metadata": {"name": "declaring"},
    "spec": {
        "plugin": "PriceCap",
        "declares": {
            "hooks": ["filter"],
            "rules": [{"apiGroups": ["example.com"], "resources": ["prices"], "verbs": ["get", "list", "watch"]}],
        },
    },
}
ENABLED = {"filter": {"enabled": [{"name": "PriceCap"}]}}


def test_a_right_that_a_plugin_config_declares_is_granted_when_an_administrator_allows_it(installed: Installed) -> None:
    image = "registry.example.com/kube-scheduler:v1"
    installed.apply(DECLARING, profile("declared", engine="KubeScheduler", scheduler={"image": image}, plugins=ENABLED))

    stalled = eventually(lambda: installed.is_stalled_for("declared", "PermissionMissing"), 10)

    assert 'APIGroups:["example.com"], Resources:["prices"], Verbs:["get", "list", "watch"]' in stalled["message"]
    assert users(installed, "declaring") == ["declared"]
    allowance = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "prices", "labels": {"berth.dev/aggregate-to-operator": "true"}},
        "rules": DECLARING["spec"]["declares"]["rules"],
    }
    installed.apply(allowance)
    eventually(lambda: installed.is_ready("declared"), 60)
    assert installed.generated("declared")["ClusterRole"]["rules"] == allowance["rules"]
    installed.delete("schedulerprofile", "declared")
    installed.cluster.kubectl("delete", "clusterrole", "prices")


def test_a_declared_plugin_that_the_engine_cannot_load_stalls_the_profile(installed: Installed) -> None:
    without = {**DECLARING["spec"], "declares": {"hooks": ["filter"]}}
    installed.apply({**DECLARING, "spec": without}, profile("loading", plugins=ENABLED))
    stalled = eventually(lambda: installed.is_stalled_for("loading", "NotLoaded"), 10)
    assert "the Python engine cannot load PriceCap yet" in stalled["message"]
    installed.delete("schedulerprofile", "loading")
    installed.delete("pluginconfig", "declaring")


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
