"""The scene: a cluster with the chart, one profile, kube-scheduler beside it, and an account for each attacker."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import devcluster
from bench.cluster.client import Server
from bench.cluster.process_stats import process_state
from bench.hostile_tenants.attacks import TENANT
from devcluster import Cluster, Spec
from devcluster.build.progress import Progress
from examples.demo.installation import NAMESPACE, install_operator
from examples.demo.kubectl import Kubectl

PROFILE = "honest"
KUBE_SCHEDULER = "default-scheduler"
HONEST = "honest"
"""The namespace of the honest load."""
NODES = 50
READY_SECONDS = 90
IMAGE = "berth:dev"
RBAC = "rbac.authorization.k8s.io"
_SCHEDULER_PORT = 10259
_OPERATOR_PORT = 8443
_PROFILE = {
    "apiVersion": "berth.dev/v1alpha1",
    "kind": "SchedulerProfile",
    "metadata": {"name": PROFILE},
    "spec": {"scheduler": {"replicas": 2}},
}
_ACCOUNTS: Mapping[str, tuple[str, str, list[dict[str, Any]]]] = {
    "tenant": (TENANT, "edit", []),
    "author": (
        "",
        "hostile-author",
        [{"apiGroups": ["berth.dev"], "resources": ["schedulerprofiles", "pluginconfigs"], "verbs": ["*"]}],
    ),
    "config-map-writer": (
        NAMESPACE,
        "hostile-config-map-writer",
        [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
    ),
}
"""For each account: the namespace of its rights (empty: all), its ClusterRole, and that role's rules if it is new."""


@dataclass(slots=True)
class Scene:
    """The running cluster, and the processes that are watched."""

    cluster: Cluster
    kubectl: Kubectl
    peaks: dict[str, float] = field(default_factory=dict)
    """Megabytes, by program, since ``forget_peaks``; the largest of its processes counts."""

    @property
    def admin(self) -> Server:
        return Server.of(self.cluster.kubeconfig)

    def account(self, name: str) -> Server:
        """The API server, with the token of an attacker."""
        admin = self.admin
        token = self.kubectl("create", "token", name, f"--namespace={TENANT}", "--duration=4h").strip()
        return Server(admin.host, admin.port, admin.trust, token)

    def berth_pods(self) -> list[dict[str, Any]]:
        return self.kubectl.items("pods", f"--namespace={NAMESPACE}")

    def endpoints(self) -> list[tuple[str, int]]:
        """The addresses at which one of the schedulers and one of the operators serve health and metrics."""
        pods = {PROFILE in pod["metadata"]["name"]: pod["status"]["podIP"] for pod in self.berth_pods()}
        return [(pods[True], _SCHEDULER_PORT), (pods[False], _OPERATOR_PORT)]

    def restarts(self) -> dict[str, int]:
        """How often the containers of each pod of Berth's were restarted; a replaced pod has another name."""
        return {
            pod["metadata"]["name"]: sum(
                status["restartCount"] for status in pod["status"].get("containerStatuses", [])
            )
            for pod in self.berth_pods()
        }

    def processes(self) -> dict[int, str]:
        """The program that each process is."""
        programs = {self.cluster.pids()["kube-scheduler"]: "kube-scheduler"}
        for directory in Path("/proc").iterdir():
            if directory.name.isdigit():
                try:
                    command = (directory / "cmdline").read_bytes()
                    environment = (directory / "environ").read_bytes().split(b"\0")
                except OSError:
                    continue  # it has ended meanwhile
                for program in ("scheduler", "operator"):
                    # A container's home is in the cluster's directory, and its init is only its guardian.
                    is_of_cluster = any(
                        line.startswith(b"HOME=%b/" % bytes(self.cluster.directory))
                        and line.endswith(b"/containers/%b" % program.encode())
                        for line in environment
                    )
                    if is_of_cluster and b"/init.py\0" not in command:
                        programs[int(directory.name)] = program
        return programs

    def sample_memory(self) -> None:
        """Take note of how much memory each process has resident now."""
        for pid, program in self.processes().items():
            try:
                megabytes = process_state(pid).resident_bytes / 2**20
            except OSError:
                continue
            self.peaks[program] = max(self.peaks.get(program, 0.0), megabytes)

    def forget_peaks(self) -> dict[str, float]:
        """Return the peaks, and begin anew."""
        peaks, self.peaks = self.peaks, {}
        return peaks


@contextmanager
def hostile_cluster(kubernetes: str, progress: Progress) -> Iterator[Scene]:
    """Make the cluster, install the chart, and wait until the profile schedules."""
    python = str(Path(sys.executable))
    spec = Spec(kubernetes=kubernetes, fake_nodes=NODES, images={IMAGE: [python]})
    with devcluster.running(spec, progress=progress) as cluster:
        kubectl = Kubectl(cluster.env())
        kubectl("taint", "nodes", "--selector=type=kwok", "kwok.x-k8s.io/node=fake:NoSchedule")
        install_operator(kubectl, IMAGE)
        for namespace in (TENANT, HONEST):
            kubectl("create", "namespace", namespace)
        objects = [_PROFILE, *(thing for name in _ACCOUNTS for thing in _account(name))]
        kubectl("apply", "--filename=-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        kubectl("wait", "--for=condition=Ready", f"--timeout={READY_SECONDS}s", f"schedulerprofile/{PROFILE}")
        yield Scene(cluster, kubectl)


def _account(name: str) -> list[dict[str, Any]]:
    """A ServiceAccount, its role if it is a new one, and the binding."""
    namespace, role, rules = _ACCOUNTS[name]
    subject = {"kind": "ServiceAccount", "name": name, "namespace": TENANT}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": f"hostile-{name}", **({"namespace": namespace} if namespace else {})},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": TENANT}}
    cluster_role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": role}, "rules": rules}
    return [account, *([cluster_role] if rules else []), binding]
