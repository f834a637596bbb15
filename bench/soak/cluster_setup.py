"""The cluster of a soak, with the accounts of its schedulers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import devcluster
from bench.soak.auditing import Audit
from bench.soak.plan import Plan
from bench.soak.pod_families import PRIORITIES
from devcluster import Cluster, Spec
from devcluster.build.progress import Progress, silent

SCHEDULERS = ("scheduler-a", "scheduler-b")
ROLES = ("system:kube-scheduler", "system:volume-scheduler")
"""The roles of a second scheduler."""
TOKEN_HOURS = 24


@contextmanager
def soak_cluster(plan: Plan, progress: Progress = silent) -> Iterator[tuple[Cluster, Audit]]:
    """A control plane with fake nodes and an audit log, and an account for each scheduler."""
    with TemporaryDirectory(prefix="soak-") as directory:
        audit = Audit(Path(directory))
        with devcluster.running(spec(plan, audit), progress=progress) as cluster:
            create_accounts(cluster)
            yield cluster, audit


def spec(plan: Plan, audit: Audit | None = None) -> Spec:
    """The control plane. There is no controller manager: the churn does its work on pods and nodes."""
    return Spec(
        kubernetes=plan.kubernetes,
        node="none",
        scheduler=False,
        controller_manager=False,
        fake_nodes=plan.nodes,
        apiserver_args=audit.apiserver_args if audit else (),
    )


def create_accounts(cluster: Cluster) -> None:
    """Make the accounts, their kubeconfigs and the priorities."""
    objects = [*map(priority_class, PRIORITIES), *map(service_account, SCHEDULERS), *map(role_binding, ROLES)]
    cluster.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    admin = json.loads(cluster.kubeconfig.read_text())
    for name in SCHEDULERS:
        answer = cluster.kubectl("create", "token", name, "-n", "kube-system", f"--duration={TOKEN_HOURS}h")
        users = [{**admin["users"][0], "user": {"token": answer.stdout.strip()}}]
        (cluster.directory / f"{name}.kubeconfig").write_text(json.dumps({**admin, "users": users}))


def priority_class(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": PRIORITIES[name],
    }


def service_account(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "kube-system"}}


def role_binding(role: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "kube-system"} for name in SCHEDULERS]
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"soak-{role.removeprefix('system:')}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": subjects,
    }
