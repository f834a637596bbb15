"""The chart's admission policies, tried with the accounts that they restrict."""

import json
from collections.abc import Iterator

import pytest

from tests.integration.operator.running import NAMESPACE, Installed
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster

OPERATOR = f"--as=system:serviceaccount:{NAMESPACE}:berth-operator"
SCHEDULER = f"--as=system:serviceaccount:{NAMESPACE}:berth-some"
REFUSAL = "a berth scheduler writes only PodScheduled"


@pytest.fixture(scope="module")
def pod(installed: Installed) -> Iterator[str]:
    """A pod of somebody, and an account with a scheduler's right to patch its status."""
    spec = {
        "schedulerName": "nobody",
        "initContainers": [{"name": "i", "image": "x"}],
        "containers": [{"name": "c", "image": "x"}],
        "resourceClaims": [{"name": "r", "resourceClaimName": "somebodys"}],
    }
    rbac = "rbac.authorization.k8s.io"
    named = {"name": "some-scheduler"}
    installed.apply(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "some", "namespace": "default"}, "spec": spec},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": named,
            "rules": [{"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "patch"]}],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": named,
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", **named},
            "subjects": [{"kind": "ServiceAccount", "name": "berth-some", "namespace": NAMESPACE}],
        },
    )
    assert patch_status(installed, {"message": "as it is"}, by="--as=") == ""
    eventually(lambda: REFUSAL in patch_status(installed, {"phase": "Failed"}), 30)  # policies take a moment
    yield "some"
    installed.cluster.kubectl("delete", "pod", "some", "-n", "default", "--grace-period=0", "--force")


def patch_status(installed: Installed, status: object, by: str = SCHEDULER) -> str:
    """What the server says to a scheduler that patches the pod's status; empty when it takes the patch."""
    patch = json.dumps({"status": status})
    answer = installed.cluster.kubectl(
        "patch", "pod", "some", "-n", "default", "--subresource=status", "-p", patch, by, check=False
    )
    return answer.stderr


EMPTY = json.dumps({"rules": []})
LABELLED_AS_OURS = json.dumps({"metadata": {"labels": {"app.kubernetes.io/managed-by": "berth"}}, "rules": []})


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(("delete", "clusterrolebinding", "cluster-admin"), id="deleting-anothers-binding"),
        pytest.param(
            ("patch", "clusterrole", "cluster-admin", "--type=merge", "-p", EMPTY), id="emptying-anothers-role"
        ),
        pytest.param(
            ("patch", "clusterrole", "cluster-admin", "--type=merge", "-p", LABELLED_AS_OURS), id="taking-by-labelling"
        ),
        pytest.param(("create", "clusterrole", "loose", "--verb=get", "--resource=pods"), id="an-unlabelled-role"),
    ],
)
def test_the_operator_writes_only_its_own_roles(installed: Installed, attempt: tuple[str, ...]) -> None:
    def refusal() -> str:
        return installed.cluster.kubectl(*attempt, "--dry-run=server", OPERATOR, check=False).stderr

    words = "the berth operator writes only roles and bindings that it made"
    eventually(lambda: words in refusal(), 30, explain=refusal)  # a new policy takes a moment


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
    review = installed.cluster.kubectl("auth", "can-i", "bind", role, *where, OPERATOR, check=False)
    assert review.stdout.strip().splitlines()[-1] == answer


@pytest.mark.parametrize("name", ["berth-operator-roles", "berth-scheduler-pod-status"])
def test_the_api_servers_type_checker_has_nothing_to_say(installed: Installed, name: str) -> None:
    path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{name}"
    checked = eventually(lambda: installed.api.get(path).get("status"), 30)
    assert checked.get("typeChecking", {}).get("expressionWarnings", []) == []


def test_a_scheduler_says_why_a_pod_is_not_scheduled(installed: Installed, pod: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    assert patch_status(installed, {"conditions": [condition], "nominatedNodeName": "kwok-0"}) == ""


STATE = {"name": "c", "image": "x", "imageID": "", "ready": True, "restartCount": 0}
ADDRESS = "10.9.8.7"


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
            {"conditions": [{"type": "berth.dev/ConfigLoaded", "status": "True"}]},
            "berth.dev/ConfigLoaded may only be set by a pod on itself",
            id="loaded-by-another",
        ),
    ],
)
def test_a_scheduler_says_nothing_else_of_a_pod(installed: Installed, pod: str, status: object, words: str) -> None:
    assert words in patch_status(installed, status)
