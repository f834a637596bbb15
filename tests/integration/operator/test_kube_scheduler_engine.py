"""Upstream's kube-scheduler as the engine of a profile: the real one, with the cluster's own roles for it, by choice.

What it gets otherwise is compared with its requests in ``tests/integration/test_rights.py``.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import devcluster
from devcluster import Cluster, Spec
from devcluster.model.spec import DEFAULT_KUBERNETES
from examples.demo.installation import NAMESPACE
from tests.integration.operator.running import apply_crds_before_controllers
from tests.support.audit import BINDINGS, AuditLog
from tests.support.kube_scheduler import image_program
from tests.support.world import Object, World, on_process_nodes

pytestmark = pytest.mark.cluster

IMAGE = "kube-scheduler:test"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:berth-packed"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image of kube-scheduler runs."""
    return image_program(tmp_path_factory.mktemp("image"), DEFAULT_KUBERNETES)


@pytest.fixture(scope="module")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    return AuditLog.of(tmp_path_factory.mktemp("audit"), BINDINGS, {"level": "Metadata", "users": [ACCOUNT]})


@pytest.fixture(scope="module")
def cluster(audit_log: AuditLog, program: Path) -> Iterator[Cluster]:
    python = Path(sys.executable).parent / "python"
    spec = Spec(
        fake_nodes=2,
        images={"berth:test": [str(python)], IMAGE: [str(program)]},
        apiserver_args=audit_log.apiserver_args,
    )
    with devcluster.running(spec) as running:
        yield running


@pytest.fixture(scope="module")
def world(cluster: Cluster) -> Iterator[World]:
    apply_crds_before_controllers(cluster)
    images = f"profiles.allowed.images={{berth:test,{IMAGE},nobody/has}}"
    engines, rights = "profiles.allowed.engines={Python,KubeScheduler}", "kubeScheduler.systemRoles=true"
    with on_process_nodes(cluster, "berth:test", engines, images, rights) as installation:
        installation.apply(packing(installation))
        installation.eventually(lambda: installation.is_ready("packed"), 90)
        installation.eventually(lambda: installation.holder("berth-packed"), 30)
        yield installation


def packing(world: World) -> Object:
    """A profile that fills one node before the next, whatever its warnings."""
    strategy = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    spec: Object = {
        "engine": "KubeScheduler",
        "scheduler": {"image": IMAGE, "featureGates": {"SchedulerAsyncAPICalls": True}},
        "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 5}]}},
        "pluginConfig": [{"name": "NodeResourcesFit", "args": strategy}],
    }
    profile = world.profile("packed", **spec)
    profile["metadata"]["annotations"] = {"berth.dev/allow-findings": "StrategyOutvoted"}
    return profile


def test_what_runs_is_the_real_kube_scheduler(world: World) -> None:
    pods = world.kubectl.items("pods", f"--namespace={NAMESPACE}", "--selector=berth.dev/profile=packed")
    assert len(pods) == 2
    for pod in pods:
        pid = int(pod["status"]["containerStatuses"][0]["containerID"].removeprefix("process://"))
        programs = {Path(f"/proc/{process}/exe").resolve() for process in (pid, *children(pid))}
        assert devcluster.binaries("kube-scheduler")["kube-scheduler"].resolve() in programs


def children(pid: int) -> list[int]:
    return [int(part) for part in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_it_packs_pods_as_the_profile_says_and_binds_them_as_itself(world: World, audit_log: AuditLog) -> None:
    world.apply(world.deployment("tight", "packed", 6, {"cpu": "100m"}))
    world.eventually(lambda: len(world.bound("tight")) == 6, 30)
    assert len({pod["spec"]["nodeName"] for pod in world.bound("tight")}) == 1

    own = [record for record in audit_log.binding_requests() if record["objectRef"]["namespace"] == "default"]
    assert {record["user"]["username"] for record in own} == {ACCOUNT}
    assert all(record["userAgent"].startswith("kube-scheduler/") for record in own)


def test_nothing_that_it_asks_for_is_forbidden(world: World, audit_log: AuditLog) -> None:
    requests = [record for record in audit_log.records() if record["user"]["username"] == ACCOUNT]
    assert requests
    assert [record["requestURI"] for record in requests if record["responseStatus"]["code"] == 403] == []


def test_the_status_says_what_runs(world: World) -> None:
    status = world.eventually(lambda: (world.get("schedulerprofile", "packed") or {}).get("status"), 30)
    assert status["effectivePlugins"]["score"] == [{"name": "NodeResourcesFit", "weight": 5}]
    world.eventually(lambda: world.get("schedulerprofile", "packed")["status"].get("leader"), 20)  # type: ignore[index]


def test_another_engine_takes_its_place_and_its_rights(world: World) -> None:
    world.apply(world.profile("turning", engine="KubeScheduler", scheduler={"image": IMAGE, "replicas": 1}))
    world.eventually(lambda: world.is_ready("turning"), 90)
    assert bindings(world) == {"", "kube-scheduler", "volume-scheduler", "extension-apiserver-authentication-reader"}

    flags = {"events": "Failures", "featureGates": {"SchedulerAsyncAPICalls": True}}
    world.apply(world.profile("turning", engine="Python", scheduler={"replicas": 1, "image": "berth:test", **flags}))

    world.eventually(lambda: bindings(world) == {""}, 20)
    world.eventually(lambda: world.is_ready("turning"), 90)
    world.kubectl("delete", "schedulerprofile", "turning")


def bindings(world: World) -> set[str]:
    """What is bound to the account of the profile that changes its engine, by the part after its name."""
    mine = "--selector=berth.dev/profile=turning"
    role_bindings = [
        *world.kubectl.items("clusterrolebindings", mine),
        *world.kubectl.items("rolebindings", "-A", mine),
    ]
    return {binding["metadata"]["name"].partition(":")[2] for binding in role_bindings}


def test_deleting_the_profile_leaves_nothing_anywhere(world: World) -> None:
    world.kubectl("delete", "schedulerprofile", "packed")

    def remains() -> list[str]:
        mine = "--selector=berth.dev/profile=packed"
        kinds = ("clusterrolebindings", "rolebindings", "roles", "leases", "deployments", "pods")
        return [item["metadata"]["name"] for kind in kinds for item in world.kubectl.items(kind, "-A", mine)]

    world.eventually(lambda: not remains(), 60)


def test_an_image_that_is_not_there_is_reported_with_the_pod_and_the_kubelets_words(world: World) -> None:
    world.apply(world.profile("unseen", scheduler={"image": "nobody/has:it"}))

    stalled = world.eventually(lambda: world.condition("unseen", "Stalled"), 30)

    assert stalled["reason"] == "NoMemberAvailable"
    assert stalled["message"].startswith(f"pod {NAMESPACE}/berth-unseen-")
    assert " waits: ErrImageNeverPull: " in stalled["message"]
    assert world.condition("unseen", "Ready")["message"] == "0 of 2 scheduler processes are ready"
    world.apply(world.profile("unseen", scheduler={"image": "berth:test"}))
    world.eventually(lambda: world.is_ready("unseen"), 60)
    described = world.kubectl("describe", "schedulerprofile", "unseen")
    events = described.partition("Events:")[2]
    assert events.count("ErrImageNeverPull") == 1
    assert "no longer stalled: " in events
    world.kubectl("delete", "schedulerprofile", "unseen")
