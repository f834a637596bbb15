"""Real clusters: what they promise, seen from outside."""

import json
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster import Cluster, DevclusterError, Spec, running
from devcluster.build import binaries
from devcluster.controlplane.control_plane import start
from devcluster.guard import Guard
from devcluster.system.ports import free_ports
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster

RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


@pytest.fixture(scope="module")
def full() -> Iterator[Cluster]:
    """Everything but the process node, and three fake nodes."""
    with running(Spec(node="none", fake_nodes=3)) as new_cluster:
        yield new_cluster


@pytest.fixture(scope="module")
def bare() -> Iterator[Cluster]:
    """etcd and the API server, beside the other one."""
    with running(Spec(node="none", scheduler=False, controller_manager=False)) as new_cluster:
        yield new_cluster


def get(cluster: Cluster, *what: str) -> Any:
    return json.loads(cluster.kubectl("get", *what, "-o", "json").stdout)


def pod(name: str, node: str = "", **spec: Any) -> str:
    body = {"containers": [{"name": "main", "image": "example/none"}], **({"nodeName": node} if node else {}), **spec}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": body})


def leases(cluster: Cluster) -> list[str]:
    return [lease["metadata"]["name"] for lease in get(cluster, "leases", "-n", "kube-node-lease")["items"]]


def phase(cluster: Cluster, name: str) -> str:
    return str(get(cluster, "pod", name)["status"]["phase"])


def test_two_clusters_side_by_side_are_independent(full: Cluster, bare: Cluster) -> None:
    full.kubectl("create", "namespace", "only-here")
    assert full.server != bare.server
    assert bare.kubectl("get", "namespace", "only-here", check=False).returncode == 1
    assert set(bare.pids()) == {"etcd", "kube-apiserver"}
    assert set(full.pids()) == {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
    other = bare.kubectl("get", "nodes", f"--server={full.server}", "--insecure-skip-tls-verify", check=False)
    assert "Unauthorized" in other.stderr or "must be logged in" in other.stderr


def test_the_version_is_the_requested_one_and_kubectl_says_so(full: Cluster) -> None:
    versions = json.loads(full.kubectl("version", "-o", "json").stdout)
    assert versions["clientVersion"]["gitVersion"] == versions["serverVersion"]["gitVersion"] == full.version
    assert full.version == "v1.36.4"
    assert versions["serverVersion"]["gitTreeState"] == "clean"


def test_rbac_is_on_and_tokens_of_service_accounts_work(full: Cluster) -> None:
    full.kubectl("create", "serviceaccount", "reader")
    full.kubectl("create", "role", "reader", "--verb=list", "--resource=configmaps")
    full.kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:reader")
    token = full.kubectl("create", "token", "reader").stdout.strip()
    anonymous = full.directory / "nobody.kubeconfig"
    anonymous.write_text(re.sub(r'"token": "\w+"', f'"token": "{token}"', full.kubeconfig.read_text()))
    as_reader = ("--kubeconfig", str(anonymous))
    assert "system:serviceaccount:default:reader" in full.kubectl(*as_reader, "auth", "whoami").stdout
    full.kubectl(*as_reader, "get", "configmaps")
    with pytest.raises(DevclusterError, match=r"Forbidden.*cannot list resource \"pods\""):
        full.kubectl(*as_reader, "get", "pods")


def test_pod_security_refuses_what_a_namespace_does_not_allow(full: Cluster) -> None:
    full.kubectl("create", "namespace", "strict")
    full.kubectl("label", "namespace", "strict", RESTRICTED)
    with pytest.raises(DevclusterError, match='violates PodSecurity "restricted:latest"'):
        full.kubectl("apply", "-n", "strict", "-f", "-", input=pod("loose"))


def test_fake_nodes_are_ready_spread_over_zones_and_free_of_taints(full: Cluster) -> None:
    nodes = get(full, "nodes", "-l", "type=kwok")["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["kwok-0", "kwok-1", "kwok-2"]
    for number, node in enumerate(nodes):
        labels = node["metadata"]["labels"]
        assert labels["topology.kubernetes.io/zone"] == f"zone-{number}"
        assert (labels["kubernetes.io/os"], labels["kubernetes.io/arch"]) == ("linux", "amd64")
        assert (node["status"]["allocatable"]["cpu"], node["status"]["allocatable"]["pods"]) == ("32", "110")
        assert "taints" not in node["spec"]
    full.kubectl("wait", "--for=condition=Ready", "nodes", "-l", "type=kwok", "--timeout=5s")


def test_kwok_keeps_the_leases_of_fake_nodes_and_of_no_other(full: Cluster) -> None:
    full.kubectl(
        "apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "plain"}})
    )
    full.kubectl("apply", "-f", "-", input=pod("on-plain", node="plain"))
    full.kubectl("apply", "-f", "-", input=pod("on-fake", node="kwok-1"))
    eventually(lambda: phase(full, "on-fake") == "Running", 10)
    eventually(lambda: leases(full) == ["kwok-0", "kwok-1", "kwok-2"], 10)
    assert phase(full, "on-plain") == "Pending"
    assert "conditions" not in get(full, "node", "plain")["status"]
    full.kubectl("delete", "pod", "on-plain", "--force")
    full.kubectl("delete", "node", "plain")


def test_kwok_ends_only_pods_that_somebody_has_deleted(full: Cluster) -> None:
    """Its deletions name a pod without a uid: late ones would hit the next pod of that name."""
    full.kubectl("apply", "-f", "-", input=pod("successor", node="kwok-1", terminationGracePeriodSeconds=60))
    eventually(lambda: phase(full, "successor") == "Running", 10)
    as_kwok = ("--kubeconfig", str(full.directory / "credentials" / "kwok.kubeconfig"))
    deletion = ("delete", "pod", "successor", "--dry-run=server", "--grace-period=0", "--force")

    def refusal() -> str:
        return full.kubectl(*as_kwok, *deletion, check=False).stderr

    eventually(lambda: "this pod is not being deleted: it has the name of one that was" in refusal(), 10)
    full.kubectl(*deletion)
    full.kubectl("delete", "pod", "successor", "--timeout=30s")  # which waits for kwok


def test_a_fake_node_of_ones_own_becomes_ready(full: Cluster) -> None:
    metadata = {"name": "mine", "annotations": {"kwok.x-k8s.io/node": "fake"}}
    full.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": metadata}))
    full.kubectl("wait", "--for=condition=Ready", "node/mine", "--timeout=10s")
    full.kubectl("delete", "node", "mine")


def test_the_default_scheduler_and_the_controllers_work(full: Cluster) -> None:
    full.kubectl("create", "deployment", "web", "--image=example/none", "--replicas=6")
    full.kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    nodes = {item["spec"]["nodeName"] for item in get(full, "pods", "-l", "app=web")["items"]}
    assert nodes == {"kwok-0", "kwok-1", "kwok-2"}
    full.kubectl("create", "job", "once", "--image=example/none")
    full.kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=20s")
    full.kubectl("delete", "deployment", "web", "--wait")
    eventually(lambda: get(full, "pods", "-l", "app=web")["items"] == [], 10)


def test_everything_listens_on_loopback_only(full: Cluster) -> None:
    listening = [address for pid in full.pids().values() for address in listening_addresses(pid)]
    assert len(listening) >= 3
    assert set(listening) == {"127.0.0.1"}


def test_secrets_are_for_their_owner_only(full: Cluster) -> None:
    assert stat.S_IMODE(full.directory.stat().st_mode) == 0o700
    secret = [*(full.directory / "credentials").iterdir(), *full.directory.glob("*.log")]
    assert len(secret) > 10
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}
    assert full.token not in repr(full)


def test_the_certificate_is_good_for_localhost_too(full: Cluster) -> None:
    by_name = full.server.replace("127.0.0.1", "localhost")
    assert full.kubectl("get", "--raw", "/readyz", f"--server={by_name}").stdout == "ok"


def test_without_controllers_pods_and_nodes_are_still_usable(bare: Cluster) -> None:
    bare.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}))
    bare.kubectl("apply", "-f", "-", input=pod("p"))
    assert "taints" not in get(bare, "node", "n")["spec"]


def test_a_component_that_is_stopped_comes_back_where_it_was(bare: Cluster) -> None:
    bare.kubectl("create", "configmap", "kept")
    bare.stop("kube-apiserver")
    assert "kube-apiserver" not in bare.pids()
    refused = bare.kubectl("get", "configmap", "kept", check=False)
    assert "refused" in refused.stderr
    bare.start("kube-apiserver")
    bare.kubectl("get", "configmap", "kept")


def test_after_a_port_in_use_comes_another(tmp_path: Path, bare: Cluster) -> None:
    used_port = int(bare.server.rpartition(":")[2])
    counts: list[int] = []

    def ports(count: int) -> list[int]:
        counts.append(count)
        fresh = free_ports(count)
        return {1: [used_port, *fresh[1:]], 2: [*fresh[:-1], used_port]}.get(len(counts), fresh)

    spec = Spec(name="stubborn", node="none", scheduler=False, controller_manager=False)
    guard = Guard.begin(tmp_path)
    try:
        cluster = start(spec, guard, binaries(*spec.binaries), ports=ports)
        assert len(counts) == 3
        assert cluster.kubectl("get", "--raw", "/readyz").stdout == "ok"
    finally:
        guard.end()


def test_a_component_that_does_not_start_is_reported_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where temporary clusters live
    with (
        pytest.raises(DevclusterError, match=r"(?s)kube-apiserver ended while .* last words.*unknown flag: --nonsense"),
        running(Spec(node="none", apiserver_args=("--nonsense",))),
    ):
        pytest.fail("it started")
    assert list(tmp_path.glob("devcluster-*")) == []


def test_the_shared_cluster_is_a_control_plane_without_nodes(cluster: Cluster) -> None:
    assert get(cluster, "nodes")["items"] == []
    assert cluster.logs("etcd").exists()
    assert cluster.env()["KUBECONFIG"] == str(cluster.kubeconfig)


def listening_addresses(pid: int) -> Iterator[str]:
    """The addresses on which a process listens, from the kernel's own tables."""
    links = [entry.readlink() for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink()]
    sockets = {str(link)[8:-1] for link in links if str(link).startswith("socket:[")}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                address = fields[1].partition(":")[0]
                yield ".".join(str(byte) for byte in reversed(bytes.fromhex(address))) if table == "tcp" else address
