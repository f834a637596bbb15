"""The agent in bad times: killed, stopped, started again, without an API server."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.devcluster.node.world import Node, World, container, is_ready, running_node
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster

FAMILY = {"args": ["sleep 600 & (setsid sleep 600 &) ; trap '' TERM; sleep 600; sleep 600"]}


@contextmanager
def another_node(world: World, name: str, directory: Path) -> Iterator[Node]:
    """A node beside the shared one, with the rights of the administrator."""
    token = world.cluster.directory / "credentials" / "admin.token"
    with running_node(world.cluster, name, directory, token_file=str(token)) as node:
        world.until_up(node)
        yield node


def test_a_killed_agent_leaves_no_process_and_the_next_one_starts_its_pods_anew(world: World, tmp_path: Path) -> None:
    with another_node(world, "killed", tmp_path) as node:
        world.create_pod("again", FAMILY, node=node)
        world.create_pod("once", {"args": ["sleep 600"]}, node=node, restartPolicy="Never")
        world.create_pod("finished", {"args": ["true"]}, node=node, restartPolicy="Never")
        world.create_pod("forgotten", FAMILY, node=node)
        for name in ("again", "once", "forgotten"):
            world.until(name, is_ready)
        world.until("finished", lambda pod: pod["status"]["phase"] == "Succeeded")
        before = world.find("again")
        eventually(lambda: len(node.processes()) >= 12, timeout=20)
        node.agent.kill()
        node.agent.wait()
        eventually(lambda: node.processes() == [], timeout=10)
        world.delete("forgotten", gracePeriodSeconds=0)

    with another_node(world, "killed", tmp_path) as node:
        pod = world.until("again", lambda pod: container(pod)["restartCount"] == 1 and is_ready(pod))
        assert before is not None
        assert pod["status"]["podIP"] == before["status"]["podIP"]
        assert container(pod)["lastState"]["terminated"]["exitCode"] == 137
        world.until("once", lambda pod: pod["status"]["phase"] == "Failed")
        world.until("finished", lambda pod: pod["status"]["phase"] == "Succeeded")
        assert len(list((node.directory / "pods").iterdir())) == 3, "nothing is left of the forgotten pod"
        for name in ("again", "once", "finished"):
            world.delete(name, gracePeriodSeconds=1)
            world.wait_until_removed(name)


def test_an_agent_that_gets_sigterm_ends_its_pods_quickly(world: World, tmp_path: Path) -> None:
    with another_node(world, "stopped", tmp_path) as node:
        world.create_pod("stopped", FAMILY, node=node)
        world.until("stopped", is_ready)
        node.agent.send_signal(signal.SIGTERM)
        assert node.agent.wait(timeout=10) == 0
        assert node.processes() == []
        world.delete("stopped", gracePeriodSeconds=0)


def test_an_agent_waits_for_a_token_that_is_accepted(world: World, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("not the right one yet")
    with running_node(world.cluster, "expected", tmp_path, token_file=str(token)) as node:
        eventually(lambda: "401 Unauthorized" in node.log.read_text(), timeout=10)
        token.write_text(world.cluster.token)
        world.until_up(node)
        assert "Traceback" not in node.log.read_text()


def test_pods_outlive_an_absent_api_server(world: World, tmp_path: Path) -> None:
    with another_node(world, "patient", tmp_path) as node:
        world.create_pod("patient", {"args": ["sleep 600"]}, node=node)
        pod = world.until("patient", is_ready)
        world.cluster.stop("kube-apiserver")
        eventually(lambda: "watch interrupted" in node.log.read_text(), timeout=10)
        os.kill(int(container(pod)["containerID"].removeprefix("process://")), signal.SIGKILL)
        eventually(lambda: len(node.processes()) == 3, timeout=20)
        world.cluster.start("kube-apiserver")
        pod = world.until("patient", lambda pod: container(pod)["restartCount"] == 1 and is_ready(pod), timeout=30)
        assert container(pod)["lastState"]["terminated"]["signal"] == 9
        world.delete("patient")
        world.wait_until_removed("patient")
        assert "Traceback" not in node.log.read_text()


def test_two_agents_do_not_share_a_directory(world: World, tmp_path: Path) -> None:
    with another_node(world, "alone", tmp_path):
        command = [sys.executable, "-P", "-m", "devcluster.node", "--config", str(tmp_path / "node.json")]
        second = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    assert second.returncode == 1
    assert second.stderr.endswith("another agent uses this directory; end it, or give each node its own\n")


def test_a_node_stays_ready_and_its_lease_is_renewed(world: World, node: Node) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node.name}"
    renewed = world.get(lease)["spec"]["renewTime"]
    condition = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    world.patch(f"/api/v1/nodes/{node.name}/status", {"status": {"conditions": [condition]}})
    eventually(lambda: world.get(lease)["spec"]["renewTime"] > renewed, timeout=10)
    world.until_up(node)
    assert world.get(f"/api/v1/nodes/{node.name}")["metadata"]["labels"]["devcluster/node"] == "process"
