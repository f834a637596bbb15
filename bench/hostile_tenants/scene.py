"""The scene: a cluster with the chart, honest profiles, kube-scheduler, and an account for each attacker."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import devcluster
from bench.cluster.client import Server
from bench.hostile_tenants.attacker import TENANT, Target
from bench.hostile_tenants.author_attacks import CREDENTIAL, DECLARED_PLUGIN, plugin_config, profile
from devcluster import Cluster, Spec
from devcluster.build.progress import Progress
from devcluster.system.ports import free_port
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
QPS = 5000
"""Requests a second that a scheduler may send: kube-scheduler of devcluster may, and 50 pods/s are more than 50."""
DECLARED = "declared"
"""An honest profile that uses a plugin of its author's. It starts no scheduler; its document is what counts."""
_HONEST_OBJECTS = (
    profile(PROFILE, scheduler={"replicas": 2, "clientConnection": {"qps": QPS, "burst": QPS}}),
    plugin_config(DECLARED, plugin=DECLARED_PLUGIN, declares={"hooks": ["filter"]}),
    profile(DECLARED, engine="ConfigMap", plugins={"filter": {"enabled": [{"name": DECLARED_PLUGIN}]}}),
)
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


@dataclass(frozen=True, slots=True)
class Scene:
    """The running cluster."""

    cluster: Cluster
    kubectl: Kubectl
    kube_scheduler_port: int

    @property
    def admin(self) -> Server:
        return Server.of(self.cluster.kubeconfig)

    def target(self, scheduler: str) -> Target:
        """What the attackers need to attack everything in the scene."""
        stolen = {"scheduler": f"berth-{PROFILE}", "operator": "berth-operator"}
        kwok = self.kubectl.items("nodes", "--selector=type=kwok")
        return Target(
            kubeconfig=self.cluster.kubeconfig,
            tokens={
                **{account: self._token(account, TENANT) for account in _ACCOUNTS},
                **{name: self._token(account, NAMESPACE) for name, account in stolen.items()},
            },
            scheduler=scheduler,
            profile=PROFILE,
            operator_pod=next(pod["metadata"]["name"] for pod in self.berth_pods() if _is_operator(pod)),
            endpoints=[*map(_endpoint, self.berth_pods()), ("127.0.0.1", self.kube_scheduler_port)],
            nodes=[node["metadata"]["name"] for node in kwok[:2]],
        )

    def _token(self, account: str, namespace: str) -> str:
        return self.kubectl("create", "token", account, f"--namespace={namespace}", "--duration=4h").strip()

    def berth_pods(self) -> list[dict[str, Any]]:
        return self.kubectl.items("pods", f"--namespace={NAMESPACE}")

    def restarts(self) -> dict[str, int]:
        """How often the containers of each pod of Berth's were restarted; a replaced pod has another name."""
        return {
            pod["metadata"]["name"]: sum(
                status["restartCount"] for status in pod["status"].get("containerStatuses", [])
            )
            for pod in self.berth_pods()
        }

    def leaks(self) -> list[str]:
        """Where the password of a hostile profile stands, other than in its spec and its document."""
        places = ("events", "pods", "schedulerprofiles", "pluginconfigs")
        found = []
        for kind in places:
            for item in self.kubectl.items(kind, "--all-namespaces"):
                shown = item if kind == "events" else item.get("status", {})
                if CREDENTIAL in json.dumps(shown):
                    found.append(f"the password of an extender stands in {kind}/{item['metadata']['name']}")
        return found


@contextmanager
def hostile_cluster(kubernetes: str, progress: Progress) -> Iterator[Scene]:
    """Make the cluster, install the chart, and wait until the profile schedules."""
    python = str(Path(sys.executable))
    port = free_port()
    serving = (f"--secure-port={port}", "--bind-address=127.0.0.1")
    spec = Spec(kubernetes=kubernetes, fake_nodes=NODES, images={IMAGE: [python]}, scheduler_args=serving)
    with devcluster.running(spec, progress=progress) as cluster:
        kubectl = Kubectl(cluster.env())
        kubectl("taint", "nodes", "--selector=type=kwok", "kwok.x-k8s.io/node=fake:NoSchedule")
        install_operator(kubectl, IMAGE)
        for namespace in (TENANT, HONEST):
            kubectl("create", "namespace", namespace)
        objects = [*_HONEST_OBJECTS, *(thing for name in _ACCOUNTS for thing in _account(name))]
        kubectl("apply", "--filename=-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        kubectl("wait", "--for=condition=Ready", f"--timeout={READY_SECONDS}s", "schedulerprofiles", PROFILE, DECLARED)
        yield Scene(cluster, kubectl, port)


def _is_operator(pod: dict[str, Any]) -> bool:
    return bool(pod["metadata"]["labels"].get("app.kubernetes.io/name") == "berth-operator")


def _endpoint(pod: dict[str, Any]) -> tuple[str, int]:
    """The address at which a scheduler or an operator serves health and metrics."""
    return pod["status"]["podIP"], _OPERATOR_PORT if _is_operator(pod) else _SCHEDULER_PORT


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
