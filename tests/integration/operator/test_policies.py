"""The chart's admission policies, tried with the tokens of the accounts that they restrict."""

from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.model.api import AdminApi, RefusedError
from tests.integration.operator.running import NAMESPACE, Installed, Object, RunningOperator, profile
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster

RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
PODS = "/api/v1/namespaces/default/pods"
MERGE, STRATEGIC_MERGE = "application/merge-patch+json", "application/strategic-merge-patch+json"
PRIORITY = 2_000_000_000
DRY = "?dryRun=All"


def refusal(api: AdminApi, method: str, path: str, body: object = None, content: str = "application/json") -> str:
    """What the API server says against a request, which has to be a policy; empty when it is done."""
    try:
        api.request(method, path, body, content)
    except RefusedError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def as_operator(installed: Installed, operator: RunningOperator) -> Iterator[AdminApi]:
    """The API server, as the operator, with a profile ``some`` whose scheduler's pods say that they are ready."""
    installed.apply(profile("some", scheduler={"replicas": 1}))
    eventually(lambda: installed.is_ready("some"), 30)
    with installed.as_account("berth-operator") as api:
        # A policy takes a moment; the last one of the chart is the last one to begin.
        eventually(lambda: refusal(api, "PATCH", f"{SERVICES}/berth-some{DRY}", NODE_PORT, MERGE), 30)
        yield api
    installed.delete("schedulerprofile", "some")


NODE_PORT = {"spec": {"externalIPs": ["10.9.8.7"]}}


@pytest.fixture(scope="module")
def as_scheduler(installed: Installed, as_operator: AdminApi) -> Iterator[AdminApi]:
    """The API server, as a scheduler that the operator gave its rights."""
    with installed.as_account("berth-some") as api:
        yield api


@pytest.fixture(scope="module")
def pod(installed: Installed) -> Iterator[str]:
    """The path of a pod of somebody."""
    yield from a_pod(installed, "some")


@pytest.fixture(scope="module")
def critical_pod(installed: Installed) -> Iterator[str]:
    yield from a_pod(installed, "critical", priorityClassName="system-cluster-critical")


def a_pod(installed: Installed, name: str, **spec: Any) -> Iterator[str]:
    path = f"{PODS}/{name}"
    containers = {"containers": [{"name": "c", "image": "x"}], "initContainers": [{"name": "i", "image": "x"}]}
    claims = {"resourceClaims": [{"name": "r", "resourceClaimName": "somebodys"}]}
    spec = {"schedulerName": "nobody", **containers, **claims, **spec}
    installed.api.post(PODS, {"metadata": {"name": name, "labels": {"app": "some"}}, "spec": spec})
    installed.api.merge(f"{path}/status", {"status": {"message": "as it is"}})
    yield path
    installed.api.request("DELETE", path, {"gracePeriodSeconds": 0})


@pytest.mark.parametrize(
    "name",
    [
        *("berth-profile-limits", "berth-operator-roles", "berth-operator-deployments", "berth-operator-services"),
        *("berth-operator-accounts", "berth-crd-schedulerprofiles", "berth-crd-pluginconfigs"),
        *("berth-scheduler-pod-status", "berth-scheduler-bindings", "berth-scheduler-deletions"),
    ],
)
def test_the_api_servers_type_checker_has_nothing_to_say(installed: Installed, name: str) -> None:
    checked = eventually(lambda: installed.api.get(f"{POLICIES}/{name}").get("status"), 30)
    assert checked.get("typeChecking", {}).get("expressionWarnings", []) == []


# Everybody: the CRDs.

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONFIGS = "/apis/berth.dev/v1alpha1/pluginconfigs"


def test_nobody_deletes_the_crd_of_profiles_while_there_is_one(installed: Installed, as_operator: AdminApi) -> None:
    words = " exists, and would be deleted with the CRD, as would its scheduler: kubectl delete schedulerprofiles --all"
    crd = f"{CRDS}/schedulerprofiles.berth.dev{DRY}"
    eventually(lambda: words in refusal(installed.api, "DELETE", crd), 40)


def test_a_crd_without_objects_can_be_deleted(installed: Installed) -> None:
    crd = f"{CRDS}/pluginconfigs.berth.dev{DRY}"
    eventually(lambda: refusal(installed.api, "DELETE", crd) == "", 40)
    body = {"metadata": {"name": "one"}, "spec": {"plugin": "NodeName"}}
    installed.api.post(CONFIGS, {"apiVersion": "berth.dev/v1alpha1", "kind": "PluginConfig", **body})
    eventually(lambda: "PluginConfig one exists, and would" in refusal(installed.api, "DELETE", crd), 40)
    installed.delete("pluginconfig", "one")
    eventually(lambda: refusal(installed.api, "DELETE", crd) == "", 40)


# The operator: roles and bindings.

OURS = {"labels": {"app.kubernetes.io/managed-by": "berth"}}
ONLY_ITS_OWN = "the berth operator writes only roles and bindings that it made"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("DELETE", "clusterrolebindings/cluster-admin", None, id="deleting-anothers-binding"),
        pytest.param("PATCH", "clusterroles/cluster-admin", {"rules": []}, id="emptying-anothers-role"),
        pytest.param("PATCH", "clusterroles/cluster-admin", {"metadata": OURS, "rules": []}, id="taking-by-labelling"),
        pytest.param("POST", "clusterroles", {"metadata": {"name": "loose"}, "rules": []}, id="an-unlabelled-role"),
        pytest.param("POST", "clusterroles", {"metadata": {"name": "loose", **OURS}, "rules": []}, id="another-name"),
        pytest.param(
            "POST", "clusterroles", {"metadata": {"name": "berth-operator:a", **OURS}, "rules": []}, id="one-of-its-own"
        ),
    ],
)
def test_the_operator_writes_only_its_own_roles(as_operator: AdminApi, method: str, path: str, body: object) -> None:
    content = MERGE if method == "PATCH" else "application/json"
    assert ONLY_ITS_OWN in refusal(as_operator, method, f"{RBAC}/{path}{DRY}", body, content)


def binding(subject: Object, name: str = "berth-some:more", role: str = "berth-some") -> Object:
    return {
        "metadata": {"name": name, **OURS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }


def account(name: str, namespace: str = NAMESPACE) -> Object:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(binding({"kind": "User", "name": "mallory"}), id="a-user"),
        pytest.param(binding({"kind": "Group", "name": "system:authenticated"}), id="a-group"),
        pytest.param(binding(account("berth-some", "default")), id="an-account-elsewhere"),
        pytest.param(binding(account("default")), id="an-account-that-is-not-a-schedulers"),
        pytest.param(binding(account("berth-operator")), id="itself"),
        pytest.param(binding(account("berth-other")), id="another-scheduler"),
    ],
)
def test_the_operator_gives_rights_only_to_the_scheduler_that_a_binding_is_named_after(
    as_operator: AdminApi, written: Object
) -> None:
    said = refusal(as_operator, "POST", f"{RBAC}/clusterrolebindings{DRY}", written)
    assert "binds roles only to the account of the scheduler" in said


def test_the_operator_gives_rights_to_a_scheduler(as_operator: AdminApi) -> None:
    as_operator.post(f"{RBAC}/clusterroles", {"metadata": {"name": "berth-made", **OURS}, "rules": []})
    body = binding(account("berth-made"), "berth-made", "berth-made")
    assert refusal(as_operator, "POST", f"{RBAC}/clusterrolebindings{DRY}", body) == ""
    as_operator.request("DELETE", f"{RBAC}/clusterroles/berth-made")


@pytest.mark.parametrize(("scope", "kind"), [("", "ClusterRole"), (f"namespaces/{NAMESPACE}/", "Role")])
def test_the_operator_makes_no_second_operator_by_its_own_role(as_operator: AdminApi, scope: str, kind: str) -> None:
    body = binding(account("berth-second"), "berth-second", "berth-operator")
    body["roleRef"]["kind"] = kind
    said = refusal(as_operator, "POST", f"{RBAC}/{scope}{kind.lower()}bindings{DRY}", body)
    assert "binds only the role that has the name of the binding" in said


def test_an_account_of_a_scheduler_is_held_to_what_the_operator_is(installed: Installed) -> None:
    name = {"name": "berth-as-operator"}
    subjects = [account("berth-as-operator")]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    installed.api.post(f"{RBAC}/clusterrolebindings", {"metadata": name, "roleRef": role, "subjects": subjects})
    installed.api.post(ACCOUNTS, {"metadata": name})
    with installed.as_account("berth-as-operator") as api:
        body = binding(account("berth-as-operator"), "berth-as-operator:more", "cluster-admin")
        words = "binds only the role that has the name of the binding"
        eventually(lambda: words in refusal(api, "POST", f"{RBAC}/clusterrolebindings{DRY}", body), 30)
        change = {"spec": {"template": {"spec": {"hostNetwork": True}}}}
        said = refusal(api, "PATCH", f"{DEPLOYMENTS}/berth-some{DRY}", change, STRATEGIC_MERGE)
        assert NOTHING_OF_ITS_NODE in said
        assert "without an address" in refusal(api, "PATCH", f"{SERVICES}/berth-some{DRY}", NODE_PORT, MERGE)
        assert ONLY_ACCOUNTS in refusal(api, "POST", f"{ACCOUNTS}{DRY}", {"metadata": {"name": "other"}})
    installed.api.request("DELETE", f"{ACCOUNTS}/berth-as-operator")
    installed.api.request("DELETE", f"{RBAC}/clusterrolebindings/berth-as-operator")


@pytest.mark.parametrize(
    ("group", "resource"),
    [
        *((RBAC.split("/")[2], resource) for resource in ("roles", "rolebindings")),
        *(("apps", "deployments"), ("", "serviceaccounts")),
        *(("berth.dev", f"{kind}/status") for kind in ("schedulerprofiles", "pluginconfigs")),
    ],
)
def test_the_operator_passes_on_nothing_of_what_only_it_does(as_operator: AdminApi, group: str, resource: str) -> None:
    rule = {"apiGroups": [group], "resources": [resource], "verbs": ["patch"]}
    body = {"metadata": {"name": "berth-some:more", **OURS}, "rules": [rule]}
    said = refusal(as_operator, "POST", f"{RBAC}/namespaces/{NAMESPACE}/roles{DRY}", body)
    assert "lets no scheduler write roles, bindings, accounts" in said


ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
ONLY_ACCOUNTS = "writes only the accounts of schedulers"
NO_FIELDS = "gives accounts no annotations, Secrets or other fields"


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        pytest.param("POST", "", {"metadata": {"name": "other"}}, ONLY_ACCOUNTS, id="another-name"),
        pytest.param(
            "PATCH", "/berth-operator", {"metadata": {"labels": {"a": "b"}}}, ONLY_ACCOUNTS, id="its-own-account"
        ),
        pytest.param("DELETE", "/default", None, ONLY_ACCOUNTS, id="deleting-anothers"),
        pytest.param(
            "PATCH", "/berth-some", {"metadata": {"annotations": {"example.com/role": "x"}}}, NO_FIELDS, id="annotation"
        ),
        pytest.param("PATCH", "/berth-some", {"imagePullSecrets": [{"name": "x"}]}, NO_FIELDS, id="pull-secret"),
    ],
)
def test_the_operator_writes_only_the_accounts_of_schedulers(
    as_operator: AdminApi, method: str, path: str, body: object, words: str
) -> None:
    content = MERGE if method == "PATCH" else "application/json"
    assert words in refusal(as_operator, method, f"{ACCOUNTS}{path}{DRY}", body, content)


def test_the_metadata_and_the_spec_of_a_profile_stay_whatever_the_operator_sends_with_its_status(
    as_operator: AdminApi,
) -> None:
    change = {"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/held"]}, "spec": {"paused": True}}
    path = f"/apis/berth.dev/v1alpha1/schedulerprofiles/some/status{DRY}"
    left = as_operator.request("PATCH", path, change, MERGE)  # the API server itself sees to it
    assert not left["metadata"].keys() & {"labels", "finalizers"}
    assert "paused" not in left["spec"]


def test_the_operator_adds_its_rights_to_nobody_elses_role(as_operator: AdminApi) -> None:
    labels = {**OURS["labels"], "rbac.authorization.k8s.io/aggregate-to-view": "true"}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    body = {"metadata": {"name": "berth-some:more", "labels": labels}, "rules": rules}
    said = refusal(as_operator, "POST", f"{RBAC}/clusterroles{DRY}", body)
    assert "adds no labels to roles but its own three" in said


@pytest.mark.parametrize(
    ("role", "namespace", "answer"),
    [
        ("clusterroles/system:kube-scheduler", "", "no"),
        ("clusterroles/system:volume-scheduler", "", "no"),
        ("clusterroles/system:node", "", "no"),
        ("clusterroles/cluster-admin", "", "no"),
        ("roles/extension-apiserver-authentication-reader", "kube-system", "yes"),
        ("roles/system:controller:token-cleaner", "kube-system", "no"),
        ("roles/extension-apiserver-authentication-reader", "default", "no"),
    ],
)
def test_the_operator_binds_one_role_of_the_cluster_and_no_other(
    installed: Installed, role: str, namespace: str, answer: str
) -> None:
    where = ["-n", namespace] if namespace else []
    operator = f"--as=system:serviceaccount:{NAMESPACE}:berth-operator"
    review = installed.cluster.kubectl("auth", "can-i", "bind", role, *where, operator, check=False)
    assert review.stdout.strip().splitlines()[-1] == answer


# The operator: what it runs.

HOST_PATH = [{"name": "host", "hostPath": {"path": "/"}}]
SECRET = [{"name": "secret", "secret": {"secretName": "sh.helm.release.v1.berth.v1"}}]


def projected(*secrets: str) -> list[Object]:
    return [{"name": "extenders", "projected": {"sources": [{"secret": {"name": name}} for name in secrets]}}]


def documents(*items: Object) -> list[Object]:
    return [{"name": "config", "configMap": {"name": "berth-some", "items": items}}]


OWN_NAME = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
ADDRESS = "10.9.8.7"
ANOTHER_PROGRAM: dict[str, Object] = {
    "a-command": {"command": ["python", "-c", "x"]},
    "two-elements": {"command": ["berth-scheduler", "x"]},
    "no-command": {"command": None},
    "the-other-program": {"command": ["kube-scheduler"]},
    "arguments": {"args": ["--kubeconfig", "/etc/berth/config.yaml"]},
    "a-variable": {"env": [{"name": "KUBECONFIG", **OWN_NAME}]},
    "a-value": {"env": [{"name": "POD_IP", "value": "x", "valueFrom": None}]},
    "files-elsewhere": {"volumeMounts": [{"name": "config", "mountPath": "/usr/bin"}]},
    "a-probe": {"livenessProbe": {"exec": {"command": ["sh"]}, "httpGet": None}},
    "a-probe-of-others": {"readinessProbe": {"httpGet": {"host": ADDRESS, "path": "/", "port": 80}}},
}
FROM_SECRET = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "some", "key": "k"}}}]
NOTHING_OF_ITS_NODE = "one container, and nothing of its node or of Secrets"
RESTRICTED = "at Pod Security's level restricted"


def scheduler(**changes: Any) -> Object:
    """A patch of the fields of the container of a scheduler."""
    return {"containers": [{"name": "scheduler", **changes}]}


@pytest.mark.parametrize(
    ("pod_spec", "words"),
    [
        pytest.param(
            scheduler(securityContext={"privileged": True, "allowPrivilegeEscalation": True}),
            RESTRICTED,
            id="privileged",
        ),
        pytest.param(scheduler(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}), RESTRICTED, id="capability"),
        pytest.param(scheduler(securityContext={"allowPrivilegeEscalation": True}), RESTRICTED, id="escalation"),
        pytest.param({"securityContext": {"runAsNonRoot": False}}, RESTRICTED, id="root"),
        pytest.param({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, RESTRICTED, id="seccomp"),
        pytest.param({"hostNetwork": True}, NOTHING_OF_ITS_NODE, id="host-network"),
        pytest.param({"hostPID": True}, NOTHING_OF_ITS_NODE, id="host-processes"),
        pytest.param({"runtimeClassName": "other"}, NOTHING_OF_ITS_NODE, id="runtime-class"),
        pytest.param({"imagePullSecrets": [{"name": "other"}]}, NOTHING_OF_ITS_NODE, id="pull-secret"),
        pytest.param(
            {"initContainers": [{"name": "i", "image": "berth:test"}]}, NOTHING_OF_ITS_NODE, id="init-container"
        ),
        pytest.param(
            {"containers": [{"name": "c", "image": "berth:test"}]}, NOTHING_OF_ITS_NODE, id="second-container"
        ),
        pytest.param(scheduler(env=FROM_SECRET), NOTHING_OF_ITS_NODE, id="a-secret-in-the-environment"),
        pytest.param(
            scheduler(ports=[{"containerPort": 10259, "protocol": "TCP", "hostPort": 1}]),
            NOTHING_OF_ITS_NODE,
            id="port",
        ),
        *(
            pytest.param({"volumes": volumes}, "mounts only the document in the ConfigMap of the scheduler", id=name)
            for name, volumes in {
                "host-path": HOST_PATH,
                "a-secret": SECRET,
                "a-projected-secret": projected("berth-extender-a", "other"),
                "every-key": [{"name": "config", "configMap": {"name": "berth-some", "items": None}}],
                "another-key": documents({"key": "e", "path": "config.yaml"}),
                "another-file": documents({"key": "berth.yaml", "path": "e"}),
            }.items()
        ),
        *(
            pytest.param(scheduler(**changes), "runs nothing but schedulers", id=name)
            for name, changes in ANOTHER_PROGRAM.items()
        ),
        pytest.param({"serviceAccountName": "berth-operator"}, "only under the account", id="the-operators-account"),
        pytest.param(scheduler(image="evil:1"), "evil:1 is not among what profiles may have", id="an-image"),
        pytest.param({"priorityClassName": "system-node-critical"}, "gives schedulers only priority", id="priority"),
    ],
)
def test_the_operator_runs_only_schedulers_with_nothing_of_their_node(
    as_operator: AdminApi, pod_spec: Object, words: str
) -> None:
    change = {"spec": {"template": {"spec": pod_spec}}}
    assert words in refusal(as_operator, "PATCH", f"{DEPLOYMENTS}/berth-some{DRY}", change, STRATEGIC_MERGE)


def test_the_operator_mounts_certificates_for_extenders(as_operator: AdminApi) -> None:
    change = {"spec": {"template": {"spec": {"volumes": projected("berth-extender-a", "berth-extender-b")}}}}
    assert refusal(as_operator, "PATCH", f"{DEPLOYMENTS}/berth-some{DRY}", change, STRATEGIC_MERGE) == ""


def test_the_operators_token_makes_no_deployment_of_another_name(as_operator: AdminApi, installed: Installed) -> None:
    made = installed.generated("some")["Deployment"]
    for name in ("other", "berth-operator"):
        pod_spec = {**made["spec"]["template"]["spec"], "serviceAccountName": name, "serviceAccount": name}
        template = {**made["spec"]["template"], "spec": pod_spec}
        body = {"metadata": {"name": name}, "spec": {**made["spec"], "template": template}}
        assert "only under the account" in refusal(as_operator, "POST", f"{DEPLOYMENTS}{DRY}", body)


def test_annotations_that_change_how_a_container_is_confined_are_refused(as_operator: AdminApi) -> None:
    annotations = {"container.apparmor.security.beta.kubernetes.io/scheduler": "unconfined"}
    change = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
    said = refusal(as_operator, "PATCH", f"{DEPLOYMENTS}/berth-some{DRY}", change, STRATEGIC_MERGE)
    assert "only priority classes, labels and annotations that profiles.allowed" in said


def test_the_operator_makes_only_services_without_an_address(as_operator: AdminApi) -> None:
    said = refusal(as_operator, "PATCH", f"{SERVICES}/berth-some{DRY}", NODE_PORT, MERGE)
    assert "makes only Services without an address" in said


# A scheduler: the status of pods.

REFUSAL = "a berth scheduler writes only PodScheduled"
METADATA = "a berth scheduler writes no labels, annotations, finalizers or owners of a pod"
STATE = {"name": "c", "image": "x", "imageID": "", "ready": True, "restartCount": 0}
PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def test_a_scheduler_says_why_a_pod_is_not_scheduled(as_scheduler: AdminApi, pod: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    status = {"conditions": [condition, PREEMPTED], "nominatedNodeName": "kwok-0"}
    assert refusal(as_scheduler, "PATCH", f"{pod}/status", {"status": status}, STRATEGIC_MERGE) == ""


@pytest.mark.parametrize(
    ("status", "words"),
    [
        pytest.param({"phase": "Failed"}, REFUSAL, id="phase"),
        pytest.param({"podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}]}, REFUSAL, id="pod-addresses"),
        pytest.param({"hostIP": ADDRESS, "hostIPs": [{"ip": ADDRESS}]}, REFUSAL, id="host-addresses"),
        pytest.param({"reason": "Evicted"}, REFUSAL, id="reason"),
        pytest.param({"message": "moved"}, REFUSAL, id="message"),
        pytest.param({"message": None}, REFUSAL, id="taking-a-field-away"),
        pytest.param({"startTime": "2026-01-01T00:00:00Z"}, REFUSAL, id="start-time"),
        pytest.param({"resize": "Infeasible"}, REFUSAL, id="resize"),
        pytest.param({"containerStatuses": [STATE]}, REFUSAL, id="containers"),
        pytest.param({"initContainerStatuses": [{**STATE, "name": "i"}]}, REFUSAL, id="init-containers"),
        pytest.param(
            {"resourceClaimStatuses": [{"name": "r", "resourceClaimName": "somebodys"}]}, REFUSAL, id="resource-claims"
        ),
        pytest.param({"conditions": [{"type": "Ready", "status": "True"}]}, REFUSAL, id="ready"),
        pytest.param(
            {"conditions": [{**PREEMPTED, "reason": "DeletionByTaintManager"}]},
            "sets DisruptionTarget only with reason PreemptionByScheduler",
            id="disrupted-by-another",
        ),
        pytest.param({"observedGeneration": 99}, "no observedGeneration that is still to come", id="generation"),
        pytest.param(
            {"conditions": [{"type": "berth.dev/ConfigLoaded", "status": "True"}]},
            "berth.dev/ConfigLoaded and berth.dev/Working may only be set by a pod on itself",
            id="loaded-by-another",
        ),
        pytest.param(
            {"conditions": [{"type": "berth.dev/Working", "status": "False"}]},
            "berth.dev/ConfigLoaded and berth.dev/Working may only be set by a pod on itself",
            id="failing-by-another",
        ),
        pytest.param({"conditions": [{"type": "berth.dev/Other", "status": "True"}]}, REFUSAL, id="another-of-ours"),
    ],
)
def test_a_scheduler_says_nothing_else_of_a_pod(as_scheduler: AdminApi, pod: str, status: object, words: str) -> None:
    assert words in refusal(as_scheduler, "PATCH", f"{pod}/status", {"status": status}, STRATEGIC_MERGE)


def test_a_scheduler_sets_a_condition_once(as_scheduler: AdminApi, pod: str) -> None:
    condition = {"type": "PodScheduled", "status": "False"}
    status = {"conditions": [condition, {**condition, "status": "True"}]}
    assert "sets each condition once" in refusal(as_scheduler, "PATCH", f"{pod}/status", {"status": status}, MERGE)


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"labels": {"k8s-app": "kube-dns"}}, id="a-label"),
        pytest.param({"labels": {"app": None}}, id="a-label-less"),
        pytest.param({"annotations": {"example.com/note": "x"}}, id="an-annotation"),
        pytest.param({"finalizers": ["example.com/held"]}, id="a-finalizer"),
    ],
)
def test_a_scheduler_changes_no_metadata_by_a_pods_status(as_scheduler: AdminApi, pod: str, metadata: object) -> None:
    assert METADATA in refusal(as_scheduler, "PATCH", f"{pod}/status", {"metadata": metadata}, MERGE)


def test_the_owners_of_a_pod_stay_whatever_a_scheduler_sends(
    installed: Installed, as_scheduler: AdminApi, pod: str
) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "00000000-0000-0000-0000-000000000000"}
    as_scheduler.merge(f"{pod}/status", {"metadata": {"ownerReferences": [owner]}})
    assert "ownerReferences" not in installed.api.get(pod)["metadata"]


def test_a_pod_that_is_being_deleted_still_gets_its_status(installed: Installed, as_scheduler: AdminApi) -> None:
    path = f"{PODS}/going"
    metadata = {"name": "going", "finalizers": ["example.com/held"]}
    spec = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "x"}]}
    installed.api.post(PODS, {"metadata": metadata, "spec": spec})
    installed.api.request("DELETE", path)
    body = {"status": {"nominatedNodeName": "kwok-0"}}
    assert refusal(as_scheduler, "PATCH", f"{path}/status", body, MERGE) == ""
    installed.api.merge(path, {"metadata": {"finalizers": None}})


# A scheduler: bindings and deletions.


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"app": "x"}},
        {"labels": {"topology.kubernetes.io/rack": "x"}},
        {"annotations": {"example.com/note": "x"}},
    ],
)
def test_a_scheduler_binds_pods_without_labels_and_annotations(
    as_scheduler: AdminApi, pod: str, metadata: Object
) -> None:
    body = {"metadata": {"name": "some", **metadata}, "target": {"kind": "Node", "name": "kwok-0"}}
    assert "binds pods without labels and annotations" in refusal(as_scheduler, "POST", f"{pod}/binding{DRY}", body)


def test_a_scheduler_binds_a_pod_to_a_node_with_a_zone(installed: Installed, as_scheduler: AdminApi) -> None:
    zone = {"topology.kubernetes.io/zone": "a"}  # the API server adds it to the binding, and so to the pod
    (node,) = [item["metadata"]["name"] for item in installed.api.get("/api/v1/nodes")["items"]]
    installed.api.merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": zone}})
    for path in a_pod(installed, "zoned"):
        body = {"metadata": {"name": "zoned"}, "target": {"kind": "Node", "name": node}}
        assert refusal(as_scheduler, "POST", f"{path}/binding", body) == ""
        assert zone.items() <= installed.api.get(path)["metadata"]["labels"].items()
    installed.api.merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": dict.fromkeys(zone)}})


def test_a_scheduler_preempts_no_system_critical_pod(
    installed: Installed, as_scheduler: AdminApi, critical_pod: str
) -> None:
    assert installed.api.get(critical_pod)["spec"]["priority"] == PRIORITY
    words = "unless the chart has scheduler.mayPreemptCriticalPods: true"
    assert words in refusal(as_scheduler, "DELETE", f"{critical_pod}{DRY}")
    body = {"status": {"conditions": [PREEMPTED]}}
    assert words in refusal(as_scheduler, "PATCH", f"{critical_pod}/status", body, STRATEGIC_MERGE)


def test_a_scheduler_preempts_any_other_pod(as_scheduler: AdminApi, pod: str) -> None:
    assert refusal(as_scheduler, "DELETE", f"{pod}{DRY}") == ""
