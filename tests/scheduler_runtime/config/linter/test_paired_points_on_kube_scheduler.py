"""The finding about half a plugin, put to the test: the real kube-scheduler with half of each, and a pod."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

import devcluster
from devcluster import Cluster, Spec
from tests.support.eventually import eventually
from tests.support.linting import lint

pytestmark = pytest.mark.cluster(binaries=("kube-scheduler",))

FILTERS = [
    "DynamicResources",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeDeclaredFeatures",
    "NodePorts",
    "NodeResourcesFit",
    "NodeVolumeLimits",
    "PodTopologySpread",
    "VolumeBinding",
    "VolumeRestrictions",
    "VolumeZone",
]
SCORES = [
    "InterPodAffinity",
    "NodeAffinity",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "PodTopologySpread",
    "TaintToleration",
]
HALVES: dict[str, dict[str, Any]] = {
    "whole": {},
    **{f"no-pre-filter-{name.lower()}": {"preFilter": [name]} for name in FILTERS},
    **{f"no-pre-score-{name.lower()}": {"preScore": [name]} for name in SCORES},
    "no-filter-volumebinding": {"preFilter": ["VolumeBinding"], "filter": ["VolumeBinding"]},
    "no-filter-dynamicresources": {"preFilter": ["DynamicResources"], "filter": ["DynamicResources"]},
    "no-reserve-volumebinding": {"reserve": ["VolumeBinding"]},
    "no-filters": {point: ["*"] for point in ("preFilter", "filter", "reserve", "preBind")},
    "no-gates": {"preEnqueue": ["SchedulingGates"]},
}
"""What is disabled where, by the name of the profile."""


def document(name: str) -> dict[str, Any]:
    disabled = {point: {"disabled": [{"name": plugin} for plugin in names]} for point, names in HALVES[name].items()}
    return {"schedulerName": name, "plugins": disabled}


def pod(name: str) -> dict[str, Any]:
    gates = [{"name": "example.com/never"}] if name == "no-gates" else []
    spec = {"schedulerName": name, "schedulingGates": gates, "containers": [{"name": "c", "image": "none"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with devcluster.running(Spec(node="none", fake_nodes=2)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def outcomes(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What became of the pod of each profile: the reason why it is not placed, or that it is."""
    directory = tmp_path_factory.mktemp("scheduler")
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": cluster.variables()["KUBECONFIG"]},
        "profiles": [document(name) for name in HALVES],
    }
    (directory / "config.yaml").write_text(yaml.safe_dump(config))
    cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(pod(name) for name in HALVES))
    with kube_scheduler(directory / "config.yaml", directory / "log"):
        yield eventually(lambda: decided(cluster), 90)


@contextmanager
def kube_scheduler(config: Path, log: Path) -> Iterator[None]:
    """The real one, with this configuration."""
    binary = devcluster.binaries("kube-scheduler")["kube-scheduler"]
    with log.open("w") as output:
        process = subprocess.Popen([binary, f"--config={config}", "--secure-port=0"], stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def decided(cluster: Cluster) -> dict[str, str] | None:
    """The outcome of every pod, once each has one."""
    pods = json.loads(cluster.kubectl("get", "pods", "-o", "json").stdout)["items"]
    outcomes = {pod["metadata"]["name"]: outcome(pod) for pod in pods}
    return outcomes if set(outcomes) >= set(HALVES) and all(outcomes.values()) else None


def outcome(pod: dict[str, Any]) -> str:
    conditions = {condition["type"]: condition for condition in pod.get("status", {}).get("conditions", [])}
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "True":
        return "placed"
    reason = str(scheduled.get("reason", ""))
    return "" if reason == "SchedulingGated" else reason


def is_fatal(name: str) -> bool:
    """Whether the linter says that no pod is placed."""
    text = yaml.safe_dump({"leaderElection": {"leaderElect": False}, "profiles": [document(name)]})
    return "error" in {finding.severity.value for finding in lint(text)}


def test_a_pod_fails_exactly_where_the_linter_says_so(outcomes: dict[str, str]) -> None:
    expected = {name: "SchedulerError" if is_fatal(name) else "placed" for name in HALVES}
    assert {name: outcomes[name] for name in HALVES} == expected
