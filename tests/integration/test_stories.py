"""The stories on a real API server: operator and schedulers run as pods of a process node, as themselves."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import devcluster
from devcluster import Cluster, Spec
from examples.demo.installation import install_operator
from examples.demo.kubectl import Kubectl
from tests.support.stories import *  # noqa: F403  the stories are told once
from tests.support.world import World, kill_process, overcommitted

pytestmark = pytest.mark.cluster

FAKE_NODES = 100
AUDIT = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata, resources: [{group: "", resources: [pods/binding]}]}, {level: None}]
"""


@pytest.fixture(scope="module")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("audit")
    (directory / "policy.yaml").write_text(AUDIT)
    return directory / "audit.log"


@pytest.fixture(scope="module")
def cluster(audit_log: Path) -> Iterator[Cluster]:
    spec = Spec(
        fake_nodes=FAKE_NODES,
        images={"berth:test": [str(Path(sys.executable).parent / "python")]},
        apiserver_args=(f"--audit-log-path={audit_log}", f"--audit-policy-file={audit_log.parent / 'policy.yaml'}"),
    )
    with devcluster.running(spec) as made:
        yield made


@pytest.fixture(scope="module")
def world(cluster: Cluster) -> World:
    kubectl = Kubectl(cluster.env())
    kubectl("taint", "nodes", "--selector=type=kwok", "kwok.x-k8s.io/node=fake:NoSchedule")
    install_operator(kubectl, "berth:test")
    everywhere = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]
    return World(kubectl, "devcluster/pause", kill_process, everywhere)


def binders(audit_log: Path) -> set[str]:
    """The users who bound pods of namespace default, as the API server recorded them."""
    records = [json.loads(line) for line in audit_log.read_text().splitlines()]
    return {record["user"]["username"] for record in records if record["objectRef"]["namespace"] == "default"}


def test_only_the_profiles_service_account_bound_its_pods(world: World, audit_log: Path) -> None:
    running_profile(world, "story")  # noqa: F405
    world.apply(world.deployment("audited", "story", 5, {"cpu": "10m"}))
    world.eventually(lambda: len(world.bound("audited")) == 5, 30)

    assert binders(audit_log) == {"system:serviceaccount:berth-system:berth-story"}


def test_a_thousand_pods_on_a_hundred_nodes_stay_within_capacity(world: World) -> None:
    running_profile(world, "story")  # noqa: F405
    # Ten pods of 3 cpus fill a node of 32: a thousand leave none of the fake nodes with room for another.
    world.apply(world.deployment("thousand", "story", 1000, {"cpu": "3", "memory": "20Gi"}))

    world.eventually(lambda: len(world.bound("thousand")) == 1000, 90)

    nodes = world.kubectl.items("nodes")
    assert not overcommitted(nodes, world.kubectl.items("pods", "--all-namespaces"))
    world.kubectl("delete", "deployment", "thousand", "--namespace=default", "--cascade=foreground", "--timeout=60s")


def test_pods_that_do_not_fit_wait_and_say_why(world: World) -> None:
    running_profile(world, "story")  # noqa: F405
    world.apply(world.deployment("huge", "story", 1, {"cpu": "1000"}))

    def message() -> str:
        conditions = [c for pod in world.pods("huge") for c in pod["status"].get("conditions", [])]
        return "".join(c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False")

    assert f"0/{FAKE_NODES + 1} nodes are available: " in world.eventually(message, 20)
    assert "Insufficient cpu" in message()
    world.kubectl("delete", "deployment", "huge", "--namespace=default")
