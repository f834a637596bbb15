"""Real nodes: what runs on them, and that nothing stays when they go."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster import Cluster, Spec, down, find, running, status, up
from devcluster.kind import base_image, build_image, load_image
from devcluster.system.processes import Process
from tests.support.eventually import eventually

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(300)]

IMAGE = "localhost/devcluster/test:1"
DOCKERFILE = """
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
COPY program.py /program.py
USER 65532:65532
ENTRYPOINT ["python3", "-u", "/program.py"]
"""
# Says who it is to the API server, by name, then what its ConfigMap says, whenever that changes.
PROGRAM = """
import json, os, pathlib, ssl, time, urllib.request
account = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
review = urllib.request.Request(
    "https://kubernetes.default.svc/apis/authentication.k8s.io/v1/selfsubjectreviews",
    data=json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode(),
    headers={"Authorization": f"Bearer {(account / 'token').read_text()}", "Content-Type": "application/json"},
)
trust = ssl.create_default_context(cafile=account / "ca.crt")
with urllib.request.urlopen(review, context=trust) as answer:
    print("user", json.load(answer)["status"]["userInfo"]["username"])
seen = None
while True:
    now = pathlib.Path("/etc/told/word").read_text()
    if now != seen:
        print("word", now)
        seen = now
    time.sleep(0.1)
"""
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running(Spec(kind=True)) as new_cluster:
        yield new_cluster


@pytest.fixture(scope="module")
def image(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    context = tmp_path_factory.mktemp("context")
    (context / "Dockerfile").write_text(DOCKERFILE)
    (context / "program.py").write_text(PROGRAM)
    build_image(cluster, context, IMAGE, build_args={"BASE_IMAGE": base_image(cluster)})
    load_image(cluster, IMAGE)
    return IMAGE


@pytest.fixture(scope="module")
def pod(cluster: Cluster, image: str) -> str:
    """A pod of our own image, in a namespace that lets only the most harmless ones in."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "Never",
        "securityContext": RESTRICTED,
        "volumeMounts": [{"name": "told", "mountPath": "/etc/told"}],
    }
    spec = {
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": [{"name": "told", "configMap": {"name": "told"}}],
    }
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "strict", "labels": labels}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "told", "namespace": "strict"},
         "data": {"word": "first"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ours", "namespace": "strict"}, "spec": spec},
    ]  # fmt: skip
    cluster.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    cluster.kubectl("wait", "-n", "strict", "--for=condition=Ready", "pod/ours", "--timeout=60s")
    return "ours"


def logs(cluster: Cluster, pod: str) -> list[str]:
    return cluster.kubectl("logs", "-n", "strict", pod).stdout.splitlines()


def test_the_node_is_ready_and_of_the_requested_version(cluster: Cluster) -> None:
    [node] = json.loads(cluster.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    ready = [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"]
    assert ready == ["True"]
    assert node["status"]["nodeInfo"]["kubeletVersion"] == cluster.version
    assert cluster.version.startswith("v1.36.")


def test_the_token_alone_makes_an_administrator(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(cluster.ca)
    access = ["--kubeconfig=/dev/null", f"--server={cluster.server}", f"--token={cluster.token}"]
    trust = f"--certificate-authority={tmp_path / 'ca.crt'}"
    answer = cluster.kubectl(*access, trust, "auth", "can-i", "*", "*", "--all-namespaces")
    assert answer.stdout.strip() == "yes"


def test_a_pod_of_an_image_built_here_runs_and_its_logs_can_be_read(cluster: Cluster, pod: str) -> None:
    eventually(lambda: "user system:serviceaccount:strict:default" in logs(cluster, pod), 60)


def test_a_changed_config_map_arrives_within_seconds(cluster: Cluster, pod: str) -> None:
    eventually(lambda: "word first" in logs(cluster, pod), 60)
    cluster.kubectl("patch", "-n", "strict", "configmap/told", "-p", '{"data": {"word": "second"}}')
    eventually(lambda: "word second" in logs(cluster, pod), 20, every=0.1)  # kubelets look every minute otherwise


@pytest.fixture(scope="module")
def before(cluster: Cluster) -> dict[str, Any]:
    """This machine while one cluster runs, before there is another."""
    return machine()


def machine() -> dict[str, Any]:
    """The possible remains of a cluster on this machine, except processes."""
    return {
        "links": sorted(os.listdir("/sys/class/net")),
        "network namespaces": subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout,
        "mounts": sorted(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        "routes": Path("/proc/net/route").read_text(),
        "runtime directories": sorted(path.name for path in Path("/run").iterdir() if path.name.startswith(OURS)),
        "directories": [
            Path(p).exists() for p in ("/lib/modules", "/etc/docker", "/var/lib/docker", "/opt/containerd")
        ],
        "cgroups": sorted(str(path) for path in Path("/sys/fs/cgroup").glob("*/devcluster-*")),
        "settings": {str(path): path.read_text() for path in SETTINGS},
    }


OURS = ("devcluster", "docker", "containerd", "netns", "runc")
SETTINGS = [
    Path("/proc/sys") / setting
    for setting in (
        "vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
        "kernel/keys/root_maxbytes", "kernel/core_pattern", "kernel/printk", "fs/file-max", "fs/nr_open",
        "net/ipv4/ip_forward",
    )
]  # fmt: skip


def below(pid: int) -> list[Process]:
    """A process and its descendants."""
    one = Process.of(pid)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split() if one else []
    return [*([one] if one else []), *(process for child in children for process in below(int(child)))]


RUN = """
from devcluster import Spec, running
with running(Spec(kind=True)) as cluster:
    print(cluster.directory, cluster.pids()["docker"], flush=True)
    input()
"""


@pytest.fixture
def doomed(before: dict[str, Any]) -> Iterator[tuple[subprocess.Popen[str], Path, list[Process]]]:
    """A program that has a second cluster, with that cluster's directory and processes."""
    with subprocess.Popen([sys.executable, "-c", RUN], stdin=-1, stdout=-1, text=True) as parent:
        assert parent.stdout is not None
        directory, pid = parent.stdout.readline().split()
        yield parent, Path(directory), below(int(pid))
        parent.kill()


def test_a_cluster_ends_with_a_parent_that_was_killed_and_leaves_nothing(
    cluster: Cluster, before: dict[str, Any], doomed: tuple[subprocess.Popen[str], Path, list[Process]]
) -> None:
    parent, directory, processes = doomed
    assert len(processes) > 10
    assert machine() != before
    parent.send_signal(signal.SIGKILL)
    eventually(lambda: not any(process.is_alive for process in processes), 10)
    eventually(lambda: not directory.exists(), 30)
    assert machine() == before
    assert cluster.kubectl("get", "--raw", "/readyz").stdout == "ok"


def test_up_makes_a_cluster_of_several_nodes_that_down_removes_without_a_trace(
    before: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVCLUSTER_STATE", str(tmp_path))
    new_cluster = up(Spec(kind=True, nodes=2, name="pair"))
    try:
        processes = below(new_cluster.pids()["docker"])
        assert [one.name for one in status()] == ["pair"]
        ready = find("pair").kubectl("wait", "--for=condition=Ready", "node", "--all").stdout
        assert ready.count("condition met") == 2
    finally:
        down("pair")
    assert not any(process.is_alive for process in processes)
    assert not list(tmp_path.glob("pair*"))
    assert machine() == before
