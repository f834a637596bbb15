"""The agent in bad times: killed, stopped, started again, without an API server."""

import json
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


def test_a_pod_that_is_deeper_than_can_be_read_runs_as_the_others_do(world: World, tmp_path: Path) -> None:
    levels = 9_993  # as deep as the API server stores managedFields
    manager = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": "DEEP"}
    container = {"name": "c", "image": "shell", "args": ["sleep 600"]}
    spec = {"nodeName": "odd", "terminationGracePeriodSeconds": 1, "containers": [container]}
    metadata = {"name": "deep", "managedFields": [manager]}
    deep = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    file = tmp_path / "deep.json"
    file.write_text(json.dumps(deep).replace('"DEEP"', '{"f:a":' * levels + "{}" + "}" * levels))

    def until_ready(*names: str) -> None:
        for name in names:
            world.cluster.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=20s")

    with another_node(world, "odd", tmp_path) as node:
        world.create_pod("before", {"args": ["sleep 600"]}, node=node)
        world.cluster.kubectl("create", "--raw", "/api/v1/namespaces/default/pods", "-f", str(file))
        world.create_pod("after", {"args": ["sleep 600"]}, node=node)
        until_ready("before", "deep", "after")  # all of them came in its watch
        node.agent.kill()
        node.agent.wait()
    with another_node(world, "odd", tmp_path) as node:  # and now in its first list
        world.create_pod("last", {"args": ["sleep 600"]}, node=node)
        until_ready("before", "deep", "after", "last")
        assert "default/deep is read without what is nested more than 100 levels deep" in node.log.read_text()
        world.cluster.kubectl("delete", "pod", "before", "deep", "after", "last", "--timeout=30s")
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
