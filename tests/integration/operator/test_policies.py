"""The chart's admission policies, tried with the tokens of the accounts that they restrict."""

from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.model.api import AdminApi, RefusedError
from tests.integration.operator.running import NAMESPACE, Installed, Object, RunningOperator, plugin_config, profile
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


@pytest.mark.parametrize("scope", ["", f"namespaces/{NAMESPACE}/", "namespaces/kube-system/"])
@pytest.mark.parametrize(
    "role",
    [
        *("cluster-admin", "admin", "edit", "view", "system:node", "berth-catalog-permissions", "berth-operator"),
        *("system:kube-scheduler", "system:volume-scheduler"),
    ],
)
def test_the_operator_binds_no_role_but_the_one_that_it_made(as_operator: AdminApi, scope: str, role: str) -> None:
    kind = "rolebindings" if scope else "clusterrolebindings"
    body = binding(account("berth-some"), "berth-some:more", role)
    said = refusal(as_operator, "POST", f"{RBAC}/{scope}{kind}{DRY}", body)
    # The API server may be first: the operator itself has not what that role allows.
    assert "binds only the role that has the name of the binding" in said or "is attempting to grant RBAC" in said


def test_the_operator_makes_no_role_of_others_rules(as_operator: AdminApi) -> None:
    rule = {"clusterRoleSelectors": [{"matchLabels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}]}
    body = {"metadata": {"name": "berth-some:more", **OURS}, "aggregationRule": rule}
    said = refusal(as_operator, "POST", f"{RBAC}/clusterroles{DRY}", body)
    assert "must have cluster-admin privileges to use the aggregationRule" in said  # the API server sees to it


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
NO_FIELDS = "gives accounts no labels but its own three, and no annotations, Secrets or other fields"
CLOUDS: dict[str, Object] = {
    "eks": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}},
    "gke": {"annotations": {"iam.gke.io/gcp-service-account": "x@y.iam.gserviceaccount.com"}},
    "aks": {"annotations": {"azure.workload.identity/client-id": "x"}},
    "aks-label": {"labels": {"azure.workload.identity/use": "true"}},
}
"""What makes an account somebody in a cloud."""


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        pytest.param("POST", "", {"metadata": {"name": "other"}}, ONLY_ACCOUNTS, id="another-name"),
        pytest.param(
            "PATCH", "/berth-operator", {"metadata": {"labels": {"a": "b"}}}, ONLY_ACCOUNTS, id="its-own-account"
        ),
        pytest.param("DELETE", "/default", None, ONLY_ACCOUNTS, id="deleting-anothers"),
        *(
            pytest.param("PATCH", "/berth-some", {"metadata": metadata}, NO_FIELDS, id=name)
            for name, metadata in CLOUDS.items()
        ),
        *(
            pytest.param("POST", "", {"metadata": {"name": "berth-new", **metadata}}, NO_FIELDS, id=f"new-{name}")
            for name, metadata in CLOUDS.items()
        ),
        pytest.param("PATCH", "/berth-some", {"imagePullSecrets": [{"name": "x"}]}, NO_FIELDS, id="pull-secret"),
    ],
)
def test_the_operator_writes_only_the_accounts_of_schedulers(
    as_operator: AdminApi, method: str, path: str, body: object, words: str
) -> None:
    content = MERGE if method == "PATCH" else "application/json"
    assert words in refusal(as_operator, method, f"{ACCOUNTS}{path}{DRY}", body, content)


@pytest.mark.parametrize(
    ("kind", "spec"), [("schedulerprofiles", {"paused": True}), ("pluginconfigs", {"plugin": "Another"})]
)
def test_what_people_wrote_stays_whatever_the_operator_sends_with_its_status(
    installed: Installed, as_operator: AdminApi, kind: str, spec: Object
) -> None:
    if kind == "pluginconfigs":
        installed.apply(plugin_config("some", "NodeResourcesFit"))
    path = f"/apis/berth.dev/v1alpha1/{kind}/some"
    before = installed.api.get(path)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "00000000-0000-0000-0000-000000000000"}
    lists = {"finalizers": ["example.com/held"], "ownerReferences": [owner], "managedFields": [{}]}
    metadata = {"labels": {"a": "b"}, "annotations": {"a": "b"}, **lists}
    # The API server itself sees to it.
    left = as_operator.request("PATCH", f"{path}/status{DRY}", {"metadata": metadata, "spec": spec}, MERGE)
    for version in (left, before):  # to the managers that were there the API server adds the sender, for the status
        version["metadata"]["managedFields"] = [
            entry for entry in version["metadata"]["managedFields"] if "subresource" not in entry
        ]
    assert (left["metadata"], left["spec"]) == (before["metadata"], before["spec"])
    if kind == "pluginconfigs":
        installed.delete("pluginconfig", "some")


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
    "a-probe-with-headers": {"startupProbe": {"httpGet": {"httpHeaders": [{"name": "Host", "value": "x"}]}}},
    "a-probe-without-http": {"livenessProbe": {"tcpSocket": {"host": ADDRESS, "port": 80}, "httpGet": None}},
    "the-address-of-its-node": {"env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}]},
    "a-file-over-its-own": {"terminationMessagePath": "/usr/bin/python"},
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
        pytest.param(scheduler(securityContext={"runAsUser": 0}), RESTRICTED, id="user-0"),
        pytest.param(scheduler(securityContext={"readOnlyRootFilesystem": False}), RESTRICTED, id="writable"),
        pytest.param(scheduler(securityContext={"runAsNonRoot": False}), RESTRICTED, id="root-in-the-container"),
        pytest.param(scheduler(securityContext={"seLinuxOptions": {"type": "spc_t"}}), RESTRICTED, id="selinux"),
        pytest.param({"securityContext": {"runAsNonRoot": False}}, RESTRICTED, id="root"),
        pytest.param({"securityContext": {"runAsUser": 0}}, RESTRICTED, id="user-0-of-the-pod"),
        pytest.param(
            {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}, RESTRICTED, id="sysctl"
        ),
        pytest.param({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, RESTRICTED, id="seccomp"),
        pytest.param({"hostNetwork": True}, NOTHING_OF_ITS_NODE, id="host-network"),
        pytest.param({"hostPID": True}, NOTHING_OF_ITS_NODE, id="host-processes"),
        pytest.param({"hostIPC": True}, NOTHING_OF_ITS_NODE, id="host-ipc"),
        pytest.param({"shareProcessNamespace": True}, NOTHING_OF_ITS_NODE, id="shared-processes"),
        pytest.param({"nodeName": "kwok-0"}, NOTHING_OF_ITS_NODE, id="node"),
        pytest.param(
            scheduler(lifecycle={"preStop": {"httpGet": {"host": ADDRESS, "port": 80}}}), NOTHING_OF_ITS_NODE, id="hook"
        ),
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


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {"container.apparmor.security.beta.kubernetes.io/scheduler": "unconfined"}},
        {"labels": {"azure.workload.identity/use": "true"}},
        {"finalizers": ["example.com/held"]},
    ],
)
def test_the_operator_writes_nothing_on_pods_by_which_others_treat_them_as_their_own(
    as_operator: AdminApi, metadata: Object
) -> None:
    change = {"spec": {"template": {"metadata": metadata}}}
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
UNSCHEDULABLE: Object = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
TO_COME = "conditions of at most 262144 bytes, and no observedGeneration that is still to come"


def test_a_scheduler_says_why_a_pod_is_not_scheduled(as_scheduler: AdminApi, pod: str) -> None:
    condition = {**UNSCHEDULABLE, "message": "é" * 16_000, "observedGeneration": 1}
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
        pytest.param(
            {"conditions": [{**PREEMPTED, "status": "False"}]}, "sets DisruptionTarget only", id="not-disrupted"
        ),
        pytest.param({"observedGeneration": 1}, REFUSAL, id="generation"),
        pytest.param({"conditions": [{**PREEMPTED, "observedGeneration": 99}]}, TO_COME, id="generation-to-come"),
        pytest.param({"conditions": [{**UNSCHEDULABLE, "message": "é" * 131_073}]}, TO_COME, id="message"),
        pytest.param({"conditions": [{**UNSCHEDULABLE, "reason": "x" * 1025}]}, TO_COME, id="long-reason"),
        pytest.param({"conditions": [{**UNSCHEDULABLE, "status": "x" * 1025}]}, TO_COME, id="long-status"),
        *(
            pytest.param({"nominatedNodeName": name}, "status.nominatedNodeName: Invalid value", id=f"node-{name[:4]}")
            for name in ("../x", "a b", "A", "a" * 254)
        ),
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


@pytest.mark.parametrize("kind", ["PodScheduled", "DisruptionTarget", "berth.dev/ConfigLoaded", "berth.dev/Working"])
def test_a_scheduler_sets_a_condition_once(as_scheduler: AdminApi, pod: str, kind: str) -> None:
    condition = {"type": kind, "status": "False"}
    status = {"conditions": [condition, {**condition, "status": "True"}]}
    assert "sets each condition once" in refusal(as_scheduler, "PATCH", f"{pod}/status", {"status": status}, MERGE)


ITS_KUBELETS = [{"type": "Ready", "status": "True"}, {"type": "example.com/gate", "status": "False"}]


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        pytest.param([*ITS_KUBELETS[:1], {"type": "PodScheduled", "status": "True"}], "writes only", id="one-less"),
        pytest.param([*ITS_KUBELETS], "takes none away", id="without-its-own"),
        pytest.param(
            [*ITS_KUBELETS, {"type": "PodScheduled", "status": "True"}, ITS_KUBELETS[0]], "writes only", id="twice"
        ),
        pytest.param(
            [ITS_KUBELETS[0] | {"message": "x"}, ITS_KUBELETS[1], {"type": "PodScheduled", "status": "True"}],
            "writes only",
            id="another-message",
        ),
        pytest.param(
            [ITS_KUBELETS[0] | {"observedGeneration": 1}, ITS_KUBELETS[1], {"type": "PodScheduled", "status": "True"}],
            "writes only",
            id="another-generation",
        ),
    ],
)
def test_a_scheduler_neither_drops_nor_changes_a_condition_of_others(
    installed: Installed, as_scheduler: AdminApi, conditions: list[Object], words: str
) -> None:
    for path in a_pod(installed, "watched"):
        installed.api.merge(
            f"{path}/status", {"status": {"conditions": [*ITS_KUBELETS, {"type": "PodScheduled", "status": "True"}]}}
        )
        body = {"status": {"conditions": conditions}}
        assert words in refusal(as_scheduler, "PATCH", f"{path}/status", body, MERGE)


def test_a_node_that_is_not_there_may_be_nominated_and_one_for_a_pod_that_has_its_node_may_not(
    installed: Installed, as_scheduler: AdminApi
) -> None:
    for path in a_pod(installed, "nominated"):
        elsewhere = {"status": {"nominatedNodeName": "not-there"}}  # no scheduler finds it among its nodes
        assert refusal(as_scheduler, "PATCH", f"{path}/status", elsewhere, MERGE) == ""
        body = {"metadata": {"name": "nominated"}, "target": {"kind": "Node", "name": "kwok-0"}}
        assert refusal(as_scheduler, "POST", f"{path}/binding", body) == ""
        assert "may not be set on pods that are already bound" in refusal(
            as_scheduler, "PATCH", f"{path}/status", elsewhere, MERGE
        )


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"labels": {"k8s-app": "kube-dns"}}, id="a-label"),
        pytest.param({"labels": {"app": None}}, id="a-label-less"),
        pytest.param({"annotations": {"example.com/note": "x"}}, id="an-annotation"),
        pytest.param({"finalizers": ["example.com/held"]}, id="a-finalizer"),
        pytest.param({"generateName": "x"}, id="a-name-to-generate"),
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


@pytest.mark.parametrize(
    "metadata",
    [
        {"managedFields": [{}]},
        {"managedFields": []},
        {"managedFields": [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}]},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"generation": 7},
    ],
)
def test_the_api_servers_own_metadata_stays_whatever_a_scheduler_sends(
    installed: Installed, as_scheduler: AdminApi, pod: str, metadata: Object
) -> None:
    installed.api.merge(f"{pod}/status", {"status": {"nominatedNodeName": None}})
    before = installed.api.get(pod)["metadata"]
    refusal(as_scheduler, "PATCH", f"{pod}/status", {"metadata": metadata}, MERGE)
    assert installed.api.get(pod)["metadata"] == before
    # Together with a change: then only the writer of that is new among the managers.
    change = {"metadata": metadata, "status": {"nominatedNodeName": "elsewhere"}}
    assert refusal(as_scheduler, "PATCH", f"{pod}/status?fieldManager=scheduler", change, MERGE) == ""
    after = installed.api.get(pod)["metadata"]
    of_others = [
        [entry["fieldsV1"] for entry in version["managedFields"] if "subresource" not in entry]
        for version in (before, after)
    ]
    assert of_others[0] == of_others[1] != []
    volatile = {"resourceVersion", "managedFields"}
    assert {key: after[key] for key in after.keys() - volatile} == {
        key: before[key] for key in before.keys() - volatile
    }


def test_a_scheduler_fills_no_pod_with_managers_of_its_status(installed: Installed, as_scheduler: AdminApi) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "managed"}, "status": {"nominatedNodeName": "a"}}
    for path in a_pod(installed, "managed"):

        def apply(number: int, path: str = path) -> str:
            query = f"fieldManager=m{number}&force=true"
            return refusal(as_scheduler, "PATCH", f"{path}/status?{query}", body, "application/apply-patch+yaml")

        assert [apply(number) for number in range(50)] == [""] * 50
        assert "applies the status of a pod under few names" in apply(50)
        assert apply(49) == ""
        # Schedulers, which patch, still write what they have to say.
        change = {"status": {"conditions": [UNSCHEDULABLE]}}
        assert refusal(as_scheduler, "PATCH", f"{path}/status", change, STRATEGIC_MERGE) == ""


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


ZONE = {"topology.kubernetes.io/zone": "a"}


@pytest.fixture
def zoned_node(installed: Installed) -> Iterator[str]:
    """The only node, in a zone."""
    (node,) = [item["metadata"]["name"] for item in installed.api.get("/api/v1/nodes")["items"]]
    installed.api.merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": ZONE}})
    yield node
    installed.api.merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": dict.fromkeys(ZONE)}})


@pytest.mark.parametrize(
    "sent", [{}, {"labels": {"topology.kubernetes.io/zone": "b"}}], ids=["no-zone", "another-zone"]
)
def test_a_pod_gets_the_zone_of_its_node_whatever_a_scheduler_sends(
    installed: Installed, as_scheduler: AdminApi, zoned_node: str, sent: Object
) -> None:
    for path in a_pod(installed, "zoned"):
        body = {"metadata": {"name": "zoned", **sent}, "target": {"kind": "Node", "name": zoned_node}}
        assert refusal(as_scheduler, "POST", f"{path}/binding", body) == ""
        # The API server adds it to the binding, in place of another one, and so to the pod.
        assert installed.api.get(path)["metadata"]["labels"] == {"app": "some", **ZONE}


def test_a_binding_to_which_the_api_server_adds_no_zone_has_none(
    installed: Installed, as_scheduler: AdminApi, zoned_node: str
) -> None:
    for path in a_pod(installed, "zoned"):
        body: Object = {"metadata": {"name": "zoned", "labels": ZONE}, "target": {"name": zoned_node}}
        said = refusal(as_scheduler, "POST", f"{path}/binding", body)
        assert "binds pods without labels and annotations" in said
        # The older form of a binding, which only kube-scheduler's plugins have the right to.
        said = refusal(as_scheduler, "POST", "/api/v1/namespaces/default/bindings", body)
        assert "binds pods without labels" in said or "bindings is forbidden: User" in said


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
