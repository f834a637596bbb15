"""The chart on API servers of the oldest and the newest version that it is for, with whatever can be chosen."""

import subprocess
from pathlib import Path

import pytest
import yaml

import devcluster
from devcluster import Spec
from devcluster.model.api import AdminApi
from scheduler_runtime.catalog import NEWEST_MINOR, OLDEST_MINOR
from tests.support.eventually import eventually

ROOT = Path(__file__).resolve().parents[2]
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
EVERYTHING = ROOT / "tests/helm/golden/everything.values.yaml"
WITHOUT_PROMETHEUS = ("monitoring.serviceMonitors.enabled=false", "monitoring.podMonitors.enabled=false")


def test_everything_is_installed(version: str) -> None:
    with (
        devcluster.running(Spec(kubernetes=version, node="none", scheduler=False)) as cluster,
        AdminApi(cluster.server, cluster.ca, cluster.token) as api,
    ):
        helm = str(devcluster.binaries("helm")["helm"])
        command = [helm, "install", "berth", str(ROOT / "helm/berth"), "--namespace", "berth-system"]
        values = ["--create-namespace", "--values", str(EVERYTHING)]
        values += [argument for value in WITHOUT_PROMETHEUS for argument in ("--set", value)]
        run = subprocess.run(
            [*command, *values], env=cluster.env(), capture_output=True, text=True, timeout=60, check=False
        )
        assert run.returncode == 0, run.stderr
        assert "WARNING" not in run.stderr.upper()

        def warnings() -> dict[str, object] | None:
            """What the type checker says, by policy, once it has looked at all of them."""
            checks = {item["metadata"]["name"]: item.get("status", {}) for item in api.get(POLICIES)["items"]}
            if not all("typeChecking" in status for status in checks.values()):
                return None
            return {name: found for name, s in checks.items() if (found := s["typeChecking"].get("expressionWarnings"))}

        assert eventually(lambda: [warnings()] if warnings() is not None else None, 60) == [{}]
        profile = {"apiVersion": "berth.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": "some"}}
        text = yaml.safe_dump({**profile, "spec": {"engine": "KubeScheduler"}})
        eventually(lambda: cluster.kubectl("apply", "-f", "-", input=text, check=False).returncode == 0, 30)


@pytest.fixture(
    params=[
        pytest.param(minor, marks=pytest.mark.cluster(kubernetes=minor, binaries=("helm",)))
        for minor in (OLDEST_MINOR, NEWEST_MINOR)
    ]
)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)
