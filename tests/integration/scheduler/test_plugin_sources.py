"""Plugin code in a ConfigMap that somebody can write, run by a scheduler with an account of its own."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster import Cluster
from tests.integration.scheduler.support import Object, SchedulerProcess, api, document, scheduler

pytestmark = pytest.mark.cluster

RBAC = "rbac.authorization.k8s.io"
NAME = "sourced"
WITHOUT_ELECTION = document(leaderElection={"leaderElect": False})
PLUGIN = """
from scheduler_runtime.api import NodePlugin


class E(NodePlugin):
    def score_node(self, pod, node):
        return 1.0
"""


def code_that_creates(file: Path) -> str:
    return f"open({str(file)!r}, 'a').close()\n{PLUGIN}"


def digest_of(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def with_code(code: str) -> dict[str, str]:
    """What somebody writes who can write the ConfigMap and nothing else: the code, and the hash that allows it."""
    source = {"name": NAME, "key": "e.py", "sha256": digest_of(code)}
    extras = {"plugins": {"E": {"configMap": source}}}
    return {"config.yaml": json.dumps(WITHOUT_ELECTION), "berth.yaml": json.dumps(extras), "e.py": code}


def refusal(process: SchedulerProcess) -> str:
    with contextlib.suppress(OSError):
        return str(json.loads(process.get("/configz")).get("refused", ""))
    return ""


class Followed:
    """The ConfigMap that the scheduler follows, and the role of its account."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def apply(self, *objects: Object) -> None:
        self._cluster.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(objects))

    def write(self, data: dict[str, str]) -> None:
        metadata = {"name": NAME, "namespace": "default"}
        self.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def grant(self, *hashes: str) -> None:
        read = {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": [NAME],
            "verbs": ["get", "list", "watch"],
        }
        run = {"apiGroups": ["berth.dev"], "resources": ["pluginsources"], "resourceNames": [*hashes], "verbs": ["run"]}
        metadata = {"name": NAME, "namespace": "default"}
        rules = [read, run] if hashes else [read]
        self.apply({"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules})


@pytest.fixture
def followed(cluster: Cluster) -> Any:
    """The ConfigMap with a document that names no code."""
    followed = Followed(cluster)
    followed.write({"config.yaml": json.dumps(WITHOUT_ELECTION)})
    yield followed
    cluster.kubectl("delete", "configmap", NAME)


@pytest.fixture
def account(cluster: Cluster, followed: Followed, tmp_path: Path) -> Any:
    """The kubeconfig of an account with upstream's rights of a scheduler, and to read the ConfigMap."""
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": "default"}

    def binding(kind: str, role: str, **metadata: str) -> Object:
        reference = {"apiGroup": RBAC, "kind": kind.removesuffix("Binding"), "name": role}
        return {
            "apiVersion": f"{RBAC}/v1",
            "kind": kind,
            "metadata": {"name": NAME, **metadata},
            "roleRef": reference,
            "subjects": [subject],
        }

    metadata = {"name": NAME, "namespace": "default"}
    followed.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        binding("ClusterRoleBinding", "system:kube-scheduler"),
        binding("RoleBinding", NAME, namespace="default"),
    )
    followed.grant()
    kubeconfig = yaml.safe_load(cluster.kubeconfig.read_text())
    kubeconfig["users"][0]["user"] = {"token": cluster.kubectl("create", "token", NAME).stdout}
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(kubeconfig))
    yield file
    cluster.kubectl("delete", "serviceaccount,role,rolebinding,clusterrolebinding", NAME)


async def test_code_is_not_run_by_a_scheduler_that_was_not_started_for_it(
    cluster: Cluster, followed: Followed, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    flags = ("--config-map", f"default/{NAME}")
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, WITHOUT_ELECTION, *flags) as process:
            await there.until(lambda: process.is_scheduling, 30)
            followed.write(with_code(code_that_creates(ran)))
            # An administrator's account has every right, so only the flag keeps it.
            await there.until(lambda: "without --allow-plugin-sources" in refusal(process), 30)
            await there.create_pods(2)
            await there.all_bound(2)
            assert not ran.exists()


async def test_code_is_run_if_its_hash_was_granted_and_a_granted_hash_is_enough_without_a_restart(
    cluster: Cluster, followed: Followed, account: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    flags = ("--config-map", f"default/{NAME}", "--allow-plugin-sources")
    async with api(cluster) as there:
        with scheduler(tmp_path, account, WITHOUT_ELECTION, *flags) as process:
            await there.until(lambda: process.is_scheduling, 30)
            code = code_that_creates(first)
            followed.write(with_code(code))
            await there.until(lambda: "nobody granted it" in refusal(process), 30)
            assert digest_of(code) in refusal(process)
            assert not first.exists()

            followed.grant(digest_of(code))
            await there.until(first.exists, 60)
            await there.until(lambda: not refusal(process), 30)

            # As the operator changes code: the role first, and at once the document.
            followed.grant(digest_of(code_that_creates(second)))
            followed.write(with_code(code_that_creates(second)))
            await there.until(second.exists, 60)
            assert not refusal(process)

            followed.write(with_code(code))  # the older code, the right to which is gone
            await there.until(lambda: "nobody granted it" in refusal(process), 30)
            assert process.process.poll() is None
