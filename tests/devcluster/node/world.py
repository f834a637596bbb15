"""Pods and process nodes as the tests see them."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster import Cluster
from devcluster.model.api import AdminApi, RefusedError
from tests.support.eventually import eventually

Object = dict[str, Any]

PROGRAM = Path(__file__).with_name("program.py")


@dataclass(frozen=True, slots=True)
class Node:
    """A process node and the agent that is it."""

    name: str
    directory: Path
    agent: "subprocess.Popen[bytes]"
    log: Path

    def processes(self) -> list[int]:
        """The processes of this machine that belong to pods of this node: they have it in their environment."""
        mark = f"HOME={self.directory}/".encode()
        result = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes():
                    result.append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # it has ended, or is not ours
        return result


@dataclass(frozen=True, slots=True)
class World:
    """A cluster as the tests see it: objects in, objects out."""

    cluster: Cluster

    def request(self, verb: str, path: str, body: object = None, content: str = "application/json") -> Any:
        """The API server's answer to its administrator; None when there is no such object."""
        try:
            with AdminApi(self.cluster.server, self.cluster.ca, self.cluster.token) as api:
                return api.request(verb, path, body, content)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise AssertionError(f"{verb} {path}: {error}") from error

    def create(self, kind: str, name: str, **body: Any) -> None:
        version, path = ("apps/v1", "/apis/apps/v1") if kind == "Deployment" else ("v1", "/api/v1")
        document = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body}
        self.request("POST", f"{path}/namespaces/default/{kind.lower()}s", document)

    def create_pod(self, name: str, *containers: Object, node: Node, **spec: Any) -> None:
        """A pod bound to ``node``; what a container leaves out is a shell without a script."""
        full = [{"name": f"c{number}", "image": "shell", **container} for number, container in enumerate(containers)]
        quick = {"terminationGracePeriodSeconds": 5, "nodeName": node.name}
        self.create("Pod", name, spec={"containers": full, **quick, **spec})

    def patch(self, path: str, body: Object) -> None:
        assert self.request("PATCH", path, body, "application/strategic-merge-patch+json") is not None, path

    def delete(self, name: str, **options: Any) -> None:
        self.request("DELETE", pod_path(name), options)

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def until_up(self, node: Node) -> None:
        """Wait until pods can be bound to ``node``."""

        def is_up() -> bool:
            assert node.agent.poll() is None, "the agent has ended"
            result = self.get(f"/api/v1/nodes/{node.name}")
            return result is not None and "taints" not in result["spec"] and is_ready(result)

        eventually(is_up, timeout=20, explain=node.log.read_text)

    def find(self, name: str) -> Object | None:
        """The pod called ``name``, if there is one."""
        result: Object | None = self.get(pod_path(name))
        return result

    def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the events about a pod."""
        items = self.get(f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}")["items"]
        return [(item["type"], item["reason"], item["message"]) for item in items]

    def until(self, name: str, check: Callable[[Object], object], timeout: float = 30) -> Object:
        """Wait until ``check`` holds for the pod and return it as it then is."""

        def holds() -> Object | None:
            pod = self.find(name)
            return pod if pod is not None and check(pod) else None

        def explain() -> str:
            return json.dumps([self.find(name), self.events(name)], indent=1)

        result = eventually(holds, timeout, explain=explain)
        assert result is not None
        return result

    def wait_until_removed(self, name: str, timeout: float = 30) -> None:
        eventually(lambda: self.find(name) is None, timeout, explain=lambda: json.dumps(self.find(name), indent=1))


def pod_path(name: str) -> str:
    return f"/api/v1/namespaces/default/pods/{name}"


def container(pod: Object, index: int = 0) -> Object:
    result: Object = pod["status"]["containerStatuses"][index]
    return result


def condition(pod: Object, kind: str) -> Object:
    return next(
        (condition for condition in pod["status"].get("conditions", []) if condition["type"] == kind),
        {"status": "absent"},
    )


def is_ready(pod: Object) -> bool:
    return bool(condition(pod, "Ready")["status"] == "True")


def is_waiting(pod: Object, reason: str) -> bool:
    statuses = pod["status"].get("containerStatuses", [])
    return any(status["state"].get("waiting", {}).get("reason") == reason for status in statuses)


def ask(pod: Object, path: str) -> Any:
    """The answer of the tests' program in ``pod``."""
    url = f"http://{pod['status']['podIP']}:8080{path}"
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


@contextmanager
def running_node(cluster: Cluster, name: str, directory: Path, **settings: Any) -> Iterator[Node]:
    """A process node whose agent lives as long as the context."""
    config = {
        "server": cluster.server,
        "ca_file": str(cluster.directory / "credentials" / "ca.crt"),
        "node_name": name,
        "directory": str(directory / "node"),
        "images": {"shell": ["/bin/sh", "-c"], "program": [sys.executable, "-S", str(PROGRAM)]},
        "restart_backoff_seconds": 0.3,
        "heartbeat_seconds": 2,
        **settings,
    }
    file, output = directory / "node.json", directory / "node.log"
    file.write_text(json.dumps(config))
    with output.open("ab") as log:
        command = [sys.executable, "-P", "-m", "devcluster.node", "--config", str(file)]
        agent = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield Node(name, directory / "node", agent, output)
    finally:
        agent.kill()
        agent.wait()
        World(cluster).request("DELETE", f"/api/v1/nodes/{name}")  # or pods of other tests would be bound to it
