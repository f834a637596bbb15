"""An account that may write only the ConfigMaps of the operator's namespace, and writes in the operator's name."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from devcluster.model.api import AdminApi, RefusedError
from scheduler_operator.cluster.api import APPLY
from scheduler_operator.resources import kinds
from scheduler_operator.resources.kinds import REVISION
from tests.integration.operator.running import NAMESPACE, Installed, Object, RunningOperator, profile
from tests.support.eventually import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("operator")]

CONFIG_MAPS = kinds.CONFIG_MAP.collection(NAMESPACE)
RBAC = "rbac.authorization.k8s.io"
REFUSAL = "the berth operator writes the ConfigMaps and ControllerRevisions called berth-"


@pytest.fixture(scope="module")
def guarded(installed: Installed, operator: RunningOperator) -> Iterator[str]:
    """The ConfigMap of a profile that is ready, for tests that leave it so."""
    installed.apply(profile("guarded"))
    eventually(lambda: installed.is_ready("guarded"), 60, explain=lambda: operator.log)
    yield installed.object_name("configmap", "guarded")
    installed.delete("schedulerprofile", "guarded")


@pytest.fixture(scope="module")
def writer(installed: Installed) -> Iterator[AdminApi]:
    """The account of somebody who has every right on the ConfigMaps of the operator's namespace, and no other."""
    name = {"name": "cmwriter", "namespace": NAMESPACE}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}
    installed.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": name},
        {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": name, "rules": [rule]},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": name,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "cmwriter"},
            "subjects": [{"kind": "ServiceAccount", **name}],
        },
    )
    token = installed.cluster.kubectl("create", "token", "cmwriter", "-n", NAMESPACE).stdout
    with AdminApi(installed.cluster.server, installed.cluster.ca, token) as api:
        yield api
    installed.cluster.kubectl("delete", "serviceaccount,role,rolebinding", "cmwriter", "-n", NAMESPACE)


def config_map(name: str, **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"a": "b"}}


OUR_LABEL = {"app.kubernetes.io/managed-by": "berth"}
TRY = "?dryRun=All"
ATTEMPTS: dict[str, Callable[[AdminApi, str], object]] = {
    "its-document": lambda api, name: api.merge(f"{CONFIG_MAPS}/{name}{TRY}", {"data": {"config.yaml": "x"}}),
    "another-key": lambda api, name: api.merge(f"{CONFIG_MAPS}/{name}{TRY}", {"data": {"e.py": "x"}}),
    "its-owner": lambda api, name: api.merge(
        f"{CONFIG_MAPS}/{name}{TRY}", {"metadata": {"labels": None, "ownerReferences": None}}
    ),
    "all-of-it": lambda api, name: api.request("DELETE", f"{CONFIG_MAPS}/{name}{TRY}"),
    "all-of-every-one": lambda api, _: api.request("DELETE", f"{CONFIG_MAPS}{TRY}&labelSelector=berth.dev/profile"),
    "one-of-a-profile-to-come": lambda api, _: api.post(f"{CONFIG_MAPS}{TRY}", config_map("berth-to-come")),
    "one-that-looks-generated": lambda api, _: api.post(f"{CONFIG_MAPS}{TRY}", config_map("x", labels=OUR_LABEL)),
    "one-in-our-name": lambda api, name: api.request(
        "PATCH", f"{CONFIG_MAPS}/{name}{TRY}&fieldManager=berth&force=true", config_map(name), APPLY
    ),
}


@pytest.mark.parametrize("attempt", sorted(ATTEMPTS))
def test_what_the_operator_made_is_not_theirs_to_write(guarded: str, writer: AdminApi, attempt: str) -> None:
    def refusal() -> str:
        with pytest.raises(RefusedError) as refused:
            ATTEMPTS[attempt](writer, guarded)
        return str(refused.value)

    # The account's role, and a new policy, take a moment.
    eventually(lambda: REFUSAL in refusal(), 30, explain=refusal)


def test_a_revision_is_applied_so_nobody_else_writes_it(installed: Installed, guarded: str, writer: AdminApi) -> None:
    rule = {"apiGroups": ["apps"], "resources": ["controllerrevisions"], "verbs": ["*"]}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "cmwriter", "namespace": NAMESPACE}}
    installed.apply({**role, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}, rule]})
    eventually(lambda: installed.revisions("guarded"), 30)
    (kept,) = installed.revisions("guarded")
    path = REVISION.collection(NAMESPACE)
    about = {key: kept["metadata"][key] for key in ("namespace", "labels", "annotations", "ownerReferences")}
    forged = {**kept, "metadata": {**about, "name": "berth-guarded.9"}, "revision": 9}

    def refusal() -> str:
        with pytest.raises(RefusedError) as refused:
            writer.post(path, forged)
        return str(refused.value)

    eventually(lambda: REFUSAL in refusal(), 30, explain=refusal)
    with pytest.raises(RefusedError, match=REFUSAL):
        writer.request("DELETE", f"{path}/{kept['metadata']['name']}")
    assert guarded


def test_their_own_config_maps_are(writer: AdminApi) -> None:
    eventually(lambda: writer.exists(CONFIG_MAPS), 30)  # the account's role takes a moment
    writer.post(CONFIG_MAPS, config_map("prices"))
    writer.merge(f"{CONFIG_MAPS}/prices", {"data": {"a": "c"}, "metadata": {"labels": {"mine": "yes"}}})
    with pytest.raises(RefusedError, match=REFUSAL):
        writer.merge(f"{CONFIG_MAPS}/prices", {"metadata": {"labels": OUR_LABEL}})
    writer.request("DELETE", f"{CONFIG_MAPS}/prices")


@pytest.mark.parametrize(
    ("account", "action"),
    [
        ("kube-system:generic-garbage-collector", "delete"),
        ("kube-system:generic-garbage-collector", "annotate"),
        ("kube-system:namespace-controller", "delete"),
        (f"{NAMESPACE}:berth-operator", "delete"),
    ],
)
def test_the_clusters_own_controllers_keep_house(installed: Installed, guarded: str, account: str, action: str) -> None:
    what = ("tidied=yes",) if action == "annotate" else ()
    who = f"--as=system:serviceaccount:{account}"
    answer = installed.cluster.kubectl(
        action, "configmap", guarded, *what, "-n", NAMESPACE, "--dry-run=server", who, check=False
    )
    assert answer.returncode == 0, answer.stderr


def test_who_may_change_profiles_may_change_their_config_maps(
    installed: Installed, guarded: str, writer: AdminApi
) -> None:
    name = {"name": "cmwriter-of-profiles"}
    rule = {"apiGroups": ["berth.dev"], "resources": ["schedulerprofiles"], "verbs": ["patch"]}
    subject = {"kind": "ServiceAccount", "name": "cmwriter", "namespace": NAMESPACE}
    installed.apply(
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": name, "rules": [rule]},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": name,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", **name},
            "subjects": [subject],
        },
    )

    def may(attempt: str) -> bool:
        try:
            ATTEMPTS[attempt](writer, guarded)
        except RefusedError:
            return False
        return True

    eventually(lambda: may("its-document"), 30)
    assert not may("all-of-it")  # which takes the right to delete profiles
    installed.cluster.kubectl("delete", "clusterrole,clusterrolebinding", name["name"])
    eventually(lambda: not may("its-document"), 30)


def data_of(installed: Installed, name: str) -> Object:
    item = installed.get("configmap", name)
    return item["data"] if item and item["metadata"].get("labels") and item["metadata"].get("ownerReferences") else {}


def writers_of(installed: Installed, name: str) -> list[tuple[str, str]]:
    """Each manager and operation that owns fields: adopting them leaves no entry of its own."""
    metadata = (installed.get("configmap", name) or {}).get("metadata", {})
    return [(entry["manager"], entry["operation"]) for entry in metadata.get("managedFields", [])]


IN_OUR_NAME: dict[str, Callable[[AdminApi, str], object]] = {
    "a-key-added-by-an-update": lambda api, path: api.merge(f"{path}?fieldManager=berth", {"data": {"e.py": "x"}}),
    "everything-taken-by-an-apply": lambda api, path: api.request(
        "PATCH", f"{path}?fieldManager=berth&force=true", {**config_map(path.rpartition("/")[2]), "data": {}}, APPLY
    ),
    "everything-taken-with-the-traces": lambda api, path: api.merge(
        path, {"metadata": {"labels": None, "ownerReferences": None, "managedFields": [{}]}, "data": {"x": "y"}}
    ),
    "frozen": lambda api, path: api.merge(path, {"immutable": True, "data": {"config.yaml": "x"}}),
}
"""What an administrator, whom the policy lets, may do by mistake or by intent."""


@pytest.mark.parametrize("change", sorted(IN_OUR_NAME))
def test_what_is_changed_in_the_operators_name_is_changed_back(installed: Installed, guarded: str, change: str) -> None:
    before = data_of(installed, guarded)
    assert before
    IN_OUR_NAME[change](installed.api, f"{CONFIG_MAPS}/{guarded}")
    eventually(
        lambda: data_of(installed, guarded) == before and writers_of(installed, guarded) == [("berth", "Apply")],
        30,
        explain=lambda: str(installed.get("configmap", guarded)),
    )
