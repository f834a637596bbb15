"""The stories on a real API server: operator and schedulers run as pods of a process node, as themselves."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import devcluster
from devcluster import Cluster, Spec
from examples.demo.installation import NAMESPACE
from tests.support.audit import BINDINGS, AuditLog, of_accounts
from tests.support.rights import missing
from tests.support.stories import *  # noqa: F403  the stories are told once
from tests.support.world import World, on_process_nodes, overcommitted

pytestmark = pytest.mark.cluster

FAKE_NODES = 100


@pytest.fixture(scope="module")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    return AuditLog.of(tmp_path_factory.mktemp("audit"), BINDINGS, of_accounts(NAMESPACE))


@pytest.fixture(scope="module")
def cluster(audit_log: AuditLog) -> Iterator[Cluster]:
    spec = Spec(
        fake_nodes=FAKE_NODES,
        images={"berth:test": [str(Path(sys.executable).parent / "python")]},
        apiserver_args=audit_log.apiserver_args,
    )
    with devcluster.running(spec) as running:
        yield running


@pytest.fixture(scope="module")
def world(cluster: Cluster, audit_log: AuditLog) -> Iterator[World]:
    with on_process_nodes(cluster) as installation:
        yield installation
        assert missing(installation.api, audit_log.records(), NAMESPACE) == set()


def binders(audit_log: AuditLog, deployment: str) -> set[str]:
    """The users who bound pods of ``deployment``, as the API server recorded them."""
    requests = audit_log.binding_requests()
    bound = (record for record in requests if record["objectRef"]["name"].startswith(f"{deployment}-"))
    return {record["user"]["username"] for record in bound}


def test_only_the_profiles_service_account_bound_its_pods(world: World, audit_log: AuditLog) -> None:
    running_profile(world, "story")  # noqa: F405
    world.apply(world.deployment("audited", "story", 5, {"cpu": "10m"}))
    world.eventually(lambda: len(world.bound("audited")) == 5, 30)

    assert binders(audit_log, "audited") == {"system:serviceaccount:berth-system:berth-story"}


def test_a_thousand_pods_on_a_hundred_nodes_stay_within_capacity(world: World) -> None:
    running_profile(world, "story")  # noqa: F405
    # Ten pods of 3 cpus fill a node of 32: a thousand leave none of the fake nodes with room for another.
    world.apply(world.deployment("thousand", "story", 1000, {"cpu": "3", "memory": "20Gi"}))

    world.eventually(lambda: all_bound(world, "thousand", 1000), 90)

    nodes = world.kubectl.items("nodes")
    pods = world.kubectl.items("pods", "--all-namespaces")
    assert len([pod for pod in pods if pod["metadata"].get("labels", {}).get("app") == "thousand"]) == 1000
    assert not overcommitted(nodes, pods)
    world.kubectl("delete", "deployment", "thousand", "--namespace=default", "--wait=false")


def all_bound(world: World, app: str, count: int) -> bool:
    """Whether each of the many pods of a deployment has a node; only those without one are looked at."""
    deployment = world.get("deployment", app, "default") or {}
    waiting = ("--namespace=default", f"--selector=app={app}", "--field-selector=spec.nodeName=")
    return deployment.get("status", {}).get("replicas") == count and not world.kubectl.items("pods", *waiting)


def test_pods_that_do_not_fit_wait_and_say_why(world: World) -> None:
    running_profile(world, "story")  # noqa: F405
    world.apply(world.deployment("huge", "story", 1, {"cpu": "1000"}))

    def message() -> str:
        conditions = [c for pod in world.pods("huge") for c in pod["status"].get("conditions", [])]
        return "".join(c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False")

    assert f"0/{FAKE_NODES + 1} nodes are available: " in world.eventually(message, 60)
    assert "Insufficient cpu" in message()
    world.kubectl("delete", "deployment", "huge", "--namespace=default")
